"""Tile counts in closed form against a plain loop over query tiles."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from analytical.numbers import ceil_div, floor_sum
from analytical.tiles import TileCounts, count


def by_loop(L: int, S: int, T_M: int, T_N: int, causal: bool) -> TileCounts:
    """The same counts, tile by tile, as the mask is defined."""
    kv_rows = score_elements = tiles = longest = 0
    query_tiles = -(-L // T_M)
    for i in range(query_tiles):
        end = min(L, (i + 1) * T_M)
        visible = S - L + end if causal else S
        blocks = max(0, -(-visible // T_N))
        read = min(S, T_N * blocks)
        kv_rows += read
        score_elements += (end - i * T_M) * read
        tiles += blocks
        longest = max(longest, blocks)
    return TileCounts(query_tiles, kv_rows, score_elements, tiles, longest)


lengths = st.integers(1, 700)
rows_of_tile = st.integers(1, 200)


@given(lengths, lengths, rows_of_tile, rows_of_tile, st.booleans())
def test_one_problem(L: int, S: int, T_M: int, T_N: int, causal: bool) -> None:
    assert count(L, S, T_M, T_N, causal) == by_loop(L, S, T_M, T_N, causal)


@given(st.lists(st.tuples(lengths, lengths, rows_of_tile, rows_of_tile, st.booleans()), min_size=1, max_size=8))
def test_a_grid_of_problems(problems: list[tuple[int, int, int, int, bool]]) -> None:
    columns = [np.array(column) for column in zip(*problems, strict=True)]
    answers = np.broadcast_arrays(*count(*columns))
    for i, problem in enumerate(problems):
        assert tuple(int(answer[i]) for answer in answers) == by_loop(*problem)


def test_causal_prompt_by_hand() -> None:
    # L = S = 4096, 64 x 64: tile i of 64 reads 64 (i + 1) rows; 64 x 64 x 65 / 2 = 133,120
    assert count(4096, 4096, 64, 64, True) == TileCounts(64, 133_120, 64 * 133_120, 64 * 65 // 2, 64)


def test_causal_rows_round_up_to_whole_kv_tiles() -> None:
    # L = S = 384, T_M = 128, T_N = 176: ends 128, 256, 384 need 1, 2, 3 tiles; rows 176, 352, min(384, 528)
    assert count(384, 384, 128, 176, True) == TileCounts(3, 176 + 352 + 384, 128 * 912, 6, 3)


def test_more_queries_than_keys_leaves_the_first_tiles_empty() -> None:
    # L = 256, S = 64, T_M = 64: ends 64, 128, 192 see S - L + end <= 0; only the last tile reads
    assert count(256, 64, 64, 32, True) == TileCounts(4, 64, 64 * 64, 2, 2)


def test_decode_reads_everything_masked_or_not() -> None:
    assert count(1, 5000, 128, 176, True) == count(1, 5000, 128, 176, False) == TileCounts(1, 5000, 5000, 29, 29)


whole = st.integers(0, 10**6)


@given(st.integers(0, 60), st.integers(1, 500), whole, whole)
def test_floor_sum(n: int, m: int, a: int, b: int) -> None:
    assert floor_sum(n, m, a, b) == sum((a * i + b) // m for i in range(n))


@given(st.integers(-(10**30), 10**30), st.integers(1, 10**20))
def test_ceil_div(a: int, b: int) -> None:
    assert (ceil_div(a, b) - 1) * b < a <= ceil_div(a, b) * b
