"""The Poisson view of hashed sets: against direct sums, a simulated LRU cache, and its own limits."""

import math
from collections import OrderedDict

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from analytical import retention


def direct_tail(mean: float, ways: int) -> float:
    """Summed from the far side, so that small tails are exact."""
    return math.fsum(math.exp(-mean + k * math.log(mean) - math.lgamma(k + 1)) for k in range(ways, ways + 400))


@pytest.mark.parametrize("ways", [1, 2, 16, 64])
@pytest.mark.parametrize("mean", [0.01, 1.0, 11.667, 40.0, 120.0])
def test_the_tail_is_the_sum_of_its_terms(mean: float, ways: int) -> None:
    assert retention.poisson_tail(mean, ways) == pytest.approx(direct_tail(mean, ways), rel=1e-9, abs=1e-14)


def test_the_mean_tail_is_the_integral() -> None:
    low, high, ways = 3.0, 14.0, 16
    middles = low + (np.arange(20_000) + 0.5) * (high - low) / 20_000
    by_sum = retention.poisson_tail(middles, ways).mean()
    assert retention.mean_poisson_tail(low, high, ways) == pytest.approx(by_sum, rel=1e-6)


def lru_misses(passes: list[list[int]], sets: int, ways: int, seed: int) -> float:
    """Share of lines of the last pass that an LRU cache with randomly hashed sets does not hold."""
    home = np.random.default_rng(seed).integers(0, sets, max(map(max, passes)) + 1)
    cache: list[OrderedDict[int, None]] = [OrderedDict() for _ in range(sets)]
    missed = 0
    for number, lines in enumerate(passes):
        for line in lines:
            entry = cache[home[line]]
            missed += number == len(passes) - 1 and line not in entry
            entry.pop(line, None)
            entry[line] = None
            if len(entry) > ways:
                entry.popitem(last=False)
    return missed / len(passes[-1])


@pytest.mark.parametrize("fill", [0.5, 0.73, 0.9, 1.2])
@pytest.mark.parametrize("sawtooth", [False, True])
def test_an_lru_cache_loses_what_the_closed_form_says(fill: float, sawtooth: bool) -> None:
    sets, ways = 2048, 16
    lines = list(range(int(fill * sets * ways)))
    turned = lines[::-1] if sawtooth else lines
    missed = lru_misses([lines, turned, lines, turned], sets, ways, seed=1)
    said = retention.lost_share(0 if sawtooth else len(lines), len(lines), sets * ways, ways)
    assert missed == pytest.approx(said, abs=0.01)


def test_heads_abreast_turn_together() -> None:
    """Two heads in step, swept there and back: the line x before the turn has 2 x behind it, as distances say."""
    sets, ways, per_head = 1024, 16, 9000
    there = [line for pair in zip(range(per_head), range(per_head, 2 * per_head), strict=True) for line in pair]
    missed = lru_misses([there, there[::-1], there], sets, ways, seed=2)
    assert missed == pytest.approx(retention.lost_share(0, 2 * per_head, sets * ways, ways), abs=0.01)


def test_without_ways_the_edge_is_sharp_and_a_sawtooth_keeps_what_fits() -> None:
    assert retention.lost_share(99, 99, 100, None) == 0.0
    assert retention.lost_share(100, 100, 100, None) == 1.0  # equality does not fit, as in Eq. (4)
    assert retention.lost_share(0, 400, 100, None) == 0.75  # the 100 bytes nearest to the turn are still there
    assert retention.lost_share(200, 400, 100, None) == 1.0
    assert retention.lost_share(0, 100, 100, None) == 0.0


def test_passes_over_prefixes_by_hand() -> None:
    # everything lost: the mean of u over [0, 1], and over [1/2, 1]
    assert retention.lost_over_prefixes(lambda u: 1.0 + 0.0 * u, 0.0, 0.0) == pytest.approx(1 / 2)
    assert retention.lost_over_prefixes(lambda u: 1.0 + 0.0 * u, 0.5, 0.0) == pytest.approx(3 / 4)
    # lost from u = 0.8 on: (1 - 0.8^2) / 2
    assert retention.lost_over_prefixes(lambda u: 1.0 + 0.0 * u, 0.0, 0.8) == pytest.approx(0.18)
    assert retention.lost_over_prefixes(lambda u: 1.0 + 0.0 * u, 0.0, 7.0) == 0.0


def test_the_quadrature_is_good_to_four_digits() -> None:
    for full in (8.0, 16.0, 40.0, 400.0):
        middles = (np.arange(100_000) + 0.5) / 100_000
        by_sum = (middles * retention.poisson_tail(full * middles + 1.0, 16)).mean()
        got = retention.lost_over_prefixes(lambda u, m=full: retention.poisson_tail(m * u + 1.0, 16), 0.0, 0.0)
        assert got == pytest.approx(by_sum, rel=0.02, abs=1e-4)


@given(
    near=st.floats(0, 1e9),
    width=st.floats(0, 1e9),
    cache=st.floats(1, 1e9),
    ways=st.sampled_from([None, 1, 4, 16, 64]),
)
@example(near=1.0, width=1e-6, cache=659057380.0, ways=4)  # two areas whose difference has no digits left
@example(near=1.0, width=1.0, cache=122186467.0, ways=4)
def test_a_share_is_a_share_and_grows_with_distance(
    near: float, width: float, cache: float, ways: int | None
) -> None:
    share = retention.lost_share(near, near + width, cache, ways)
    assert 0.0 <= share <= 1.0
    assert retention.lost_share(near + 1e8, near + width + 1e8, cache, ways) >= share - 1e-8
    assert retention.lost_share(near, near + width, cache * 2, ways) <= share + 1e-8
