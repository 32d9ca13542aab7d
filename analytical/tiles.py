"""What a mask leaves of the work: exact counts of K/V rows read and of tiles computed, in closed form.

Query tile i of n = ceil(L / T_M) reads, under a causal mask aligned bottom-right,
min(S, T_N * ceil((S - L + min(L, (i + 1) * T_M)) / T_N)) rows of K and V, never below 0; without a mask it
reads S. Rows past S are never fetched, but a partial last tile costs a full tile of compute.
"""

from typing import Any, NamedTuple

from analytical.numbers import Ints, at_least, at_most, ceil_div, floor_sum, select


class TileCounts(NamedTuple):
    """Counts for one query head; each an int or an integer array."""

    query_tiles: Ints
    kv_rows: Ints  # K rows read by all query tiles together (V the same)
    score_elements: Ints  # valid query rows x K rows read, summed over query tiles
    tiles: Ints  # T_M x T_N tiles computed, partial ones counted whole
    tiles_of_longest: Ints  # tiles of the query tile with the most work


def count(L: Ints, S: Ints, T_M: Ints, T_N: Ints, causal: Any) -> TileCounts:
    """Tile counts of one query head; every argument an int (bool) or an array of them."""
    n = ceil_div(L, T_M)
    per_full_row = ceil_div(S, T_N)
    first = _first_tile_with_keys(L, S, T_M, n)
    uncapped_end = at_least(at_most((T_N * (S // T_N) - S + L) // T_M, n - 1), first)
    rows = T_N * _sum_tiles(first, uncapped_end, L, S, T_M, T_N) + (n - uncapped_end) * S
    tiles = _sum_tiles(first, n - 1, L, S, T_M, T_N) + per_full_row
    last_query_rows = L - (n - 1) * T_M
    kv_rows = select(causal, rows, n * S)
    return TileCounts(
        query_tiles=n,
        kv_rows=kv_rows,
        score_elements=T_M * (kv_rows - S) + last_query_rows * S,
        tiles=select(causal, tiles, n * per_full_row),
        tiles_of_longest=per_full_row,
    )


def _first_tile_with_keys(L: Ints, S: Ints, T_M: Ints, n: Ints) -> Ints:
    """The first query tile that sees any key, at most the last tile, which sees all S."""
    return at_most(at_least(ceil_div(L - S + 1, T_M) - 1, 0), n - 1)


def _sum_tiles(start: Ints, end: Ints, L: Ints, S: Ints, T_M: Ints, T_N: Ints) -> Ints:
    """Sum over query tiles i in [start, end) of ceil((S - L + (i + 1) * T_M) / T_N)."""
    visible_at_start = S - L + (start + 1) * T_M
    offset = at_least(visible_at_start + T_N - 1, 0)
    return floor_sum(end - start, T_N, T_M, offset)
