"""From samples to the whole: exact where the whole is a straight line, with errors that are never negative."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simfa.sampling import estimate
from simfa.sampling.estimate import Value
from simfa.sampling.measure import Sample, busy

POSITIVE = st.floats(1, 1e9)


def sample(steps: float, cycles: float) -> Sample:
    return Sample(steps, cycles, np.array([cycles]), 0.0, 0.0, 0.0, 1, {})


def cycles(one: Sample) -> float:
    return one.cycles


@given(POSITIVE, POSITIVE, st.integers(16, 10**6))
def test_a_straight_line_is_followed_to_its_end(start: float, slope: float, steps: int) -> None:
    samples = [sample(n, start + slope * n) for n in (4, 8, 16)]
    found = estimate.line(samples, cycles, steps)
    assert found.value == pytest.approx(start + slope * steps, rel=1e-6)
    assert found.error == pytest.approx(estimate.ROUNDING * found.value, rel=1e-3)


@given(st.lists(POSITIVE, min_size=3, max_size=3), st.integers(16, 10**6))
def test_no_error_is_negative(values: list[float], steps: int) -> None:
    samples = [sample(n, value) for n, value in zip((4, 8, 16), values, strict=True)]
    assert estimate.line(samples, cycles, steps).error >= 0


def test_runs_that_disagree_say_so() -> None:
    agreeing = [sample(n, 100.0 * n) for n in (4, 8, 16)]
    bent = [replace(agreeing[0], cycles=500.0), *agreeing[1:]]
    bent[2] = replace(bent[2], cycles=2000.0)
    assert estimate.line(bent, cycles, 100).error > 10 * estimate.line(agreeing, cycles, 100).error


def test_near_a_capacity_the_proportion_is_kept_where_the_line_would_fly_off() -> None:
    samples = [sample(4, 400.0), sample(8, 840.0), sample(16, 1500.0)]
    assert estimate.line(samples, cycles, 1600).value == pytest.approx(1500 * 100)


def test_one_run_of_all_steps_stands_for_itself() -> None:
    assert estimate.line([sample(16, 123.0)], cycles, 16) == Value(123.0, 0.0)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 100)), min_size=1, max_size=20))
def test_times_of_a_slot_add_up_to_its_last_end(ctas: list[tuple[int, int]]) -> None:
    slot = np.array([own for own, _ in ctas])
    ends = np.array([end for _, end in ctas])
    found = busy(slot, ends)
    for own in set(slot.tolist()):
        assert found[slot == own].sum() == ends[slot == own].max()


def test_errors_of_different_causes_add_as_squares() -> None:
    assert Value(1.0, 3.0) + Value(2.0, 4.0) == Value(3.0, 5.0)
    assert Value(10.0, 1.0).times(2) == Value(20.0, 2.0)
    assert Value(0.0, 1.0).error_pct == 0 and Value(50.0, 1.0).error_pct == 2
