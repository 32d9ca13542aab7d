"""From samples to the whole: exact where the whole is a straight line, with errors that are never negative."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simfa.sampling import estimate
from simfa.sampling.estimate import Reads, Value
from simfa.sampling.groups import Groups
from simfa.sampling.measure import Sample, busy

POSITIVE = st.floats(1, 1e9)


def sample(steps: float, cycles: float) -> Sample:
    return Sample(steps, cycles, np.array([cycles]), 0.0, np.zeros((1, 3)), 0.0, 0.0, 1, {})


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


UNITS, SIZE, SLOTS = 4, 20, 8


def course(first: float, each_wave: float) -> Sample:
    """A run of all steps: heads of 20 CTAs on 8 slots. A head is read `first` bytes when its first CTAs start, and
    `each_wave` bytes by every wave of 8.
    """
    ended = np.arange(0, UNITS * SIZE + 1, SLOTS, dtype=float)
    heads = np.minimum(np.floor((ended + SLOTS - 1) / SIZE) + 1, UNITS)
    read = heads * first + ended / SLOTS * each_wave
    return Sample(16, 1.0, np.ones(UNITS * SIZE), read[-1], np.stack([ended, ended, read], axis=1), 0.0, 0.0, 1, {})


def of_heads(units_left_out: int) -> Groups:
    unit = np.repeat(np.arange(UNITS), SIZE)
    ctas = (UNITS + units_left_out) * SIZE
    everything = np.ones(len(unit), bool)
    return Groups(
        unit, everything, ~everything, np.arange(UNITS), 0, 0.0, units_left_out, SLOTS, ctas, len(unit), 0,
        ctas * 16, len(unit) * 16, 16.0, 16.0, 1.0,
    )  # fmt: skip


@given(first=st.floats(1e3, 1e6), left_out=st.integers(0, 40))
def test_heads_that_are_read_once_stay_at_one_pass_each(first: float, left_out: int) -> None:
    least = first * (UNITS + left_out)
    found = estimate.kv_read_bytes([course(first, 0.0)], None, of_heads(left_out), Reads(least, first, 0.1))
    assert found.value == pytest.approx(least)
    assert found.error == pytest.approx(0.0, abs=1e-6 * least)


@given(first=st.floats(1e3, 1e6), share=st.floats(0.2, 1.0), left_out=st.integers(1, 40))
def test_what_every_wave_reads_again_a_head_left_out_reads_too(first: float, share: float, left_out: int) -> None:
    one = course(first, share * first)
    found = estimate.kv_read_bytes([one], None, of_heads(left_out), Reads(first * (UNITS + left_out), first, 0.5))
    of_a_head = first + SIZE / SLOTS * share * first
    assert found.value == pytest.approx(one.kv_read_bytes + left_out * of_a_head, rel=0.12)
    assert found.error > 0.01 * found.value


def test_what_the_l2_still_holds_of_o_is_never_more_than_it_can() -> None:
    kept = replace(course(1.0, 0.0), dirty_bytes=900.0)
    fewer = replace(kept, dirty_bytes=500.0)
    groups = replace(of_heads(0), left_out=1000, fewer_ctas=8)
    assert estimate.dirty_bytes([kept], fewer, groups, 1000.0).value == 1000.0


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
