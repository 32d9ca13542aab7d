"""Vector comparisons and storage give what a plain loop and `numpy.zeros` give; a prefetch gives nothing."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simfa.engine import lanes, prefetch, storage
from simfa.engine.jit import entry
from simfa.memory import coalescer, sets

ROW = st.lists(st.integers(0, 5), min_size=lanes.LANES, max_size=3 * lanes.LANES)


@entry
def masks(row: Any, first: int, value: Any) -> Any:
    """Both comparisons of the lanes from `first` on."""
    return lanes.equal(row, first, value), lanes.above(row, first, value)


@entry
def ends(mask: int) -> Any:
    """Both ends of a mask."""
    return lanes.lowest(mask), lanes.highest(mask)


@entry
def find(tags: Any, line: int) -> Any:
    """`sets.find`."""
    return sets.find(tags, line)


@entry
def in_flight(table: Any, unit: int, line: int, now: int) -> Any:
    """`coalescer.find`."""
    return coalescer.find(table, unit, line, now)


@entry
def fetched(table: Any, row: int) -> Any:
    """A row's first entry, after a prefetch of the row."""
    prefetch.fetch(table, row)
    return table[row, 0]


@pytest.mark.parametrize("kind", [np.uint32, np.int64])
@given(row=ROW, value=st.integers(0, 5), data=st.data())
@settings(max_examples=100, derandomize=True, deadline=None)
def test_a_mask_has_one_bit_per_entry(kind: Any, row: list[int], value: int, data: Any) -> None:
    first = data.draw(st.integers(0, len(row) - lanes.LANES))
    seen = row[first : first + lanes.LANES]
    equal = sum(1 << lane for lane, entry_ in enumerate(seen) if entry_ == value)
    above = sum(1 << lane for lane, entry_ in enumerate(seen) if entry_ > value)
    assert masks(np.array(row, kind), first, value) == (equal, above)


def test_entries_compare_with_their_sign_and_without_one() -> None:
    assert masks(np.full(8, -1, np.int64), 0, 0) == (0, 0)
    assert masks(np.full(8, 2**32 - 1, np.uint32), 0, 1) == (0, 255)


@given(st.integers(1, 255))
@settings(max_examples=50, derandomize=True, deadline=None)
def test_the_ends_of_a_mask(mask: int) -> None:
    bits = [bit for bit in range(8) if mask >> bit & 1]
    assert ends(mask) == (bits[0], bits[-1])


@given(st.integers(1, 20), st.integers(0, 30), st.randoms(use_true_random=False))
@settings(max_examples=100, derandomize=True, deadline=None)
def test_a_set_of_any_number_of_ways_is_searched_whole(ways: int, line: int, random: Any) -> None:
    tags = np.array(random.sample(range(31), ways), np.uint32)  # line + 1, or 0
    expected = int(np.flatnonzero(tags == line + 1)[0]) if line + 1 in tags else -1
    assert find(tags, line) == expected


def test_the_coalescer_finds_the_live_line_else_a_free_entry_else_none() -> None:
    table = coalescer.make_table(2)
    row = coalescer.SETS  # unit 1, line 0
    assert in_flight(table, 1, 0, 5) == -2 - (row * coalescer.WAYS + coalescer.WAYS - 1)
    table[row, coalescer.LINE] = np.arange(8) * coalescer.SETS * 128
    table[row, coalescer.READY] = 9
    assert [in_flight(table, 1, 3 * coalescer.SETS * 128, now) >= 0 for now in (8, 9)] == [True, False]
    assert in_flight(table, 1, 3 * coalescer.SETS * 128, 8) == row * coalescer.WAYS + 3
    assert in_flight(table, 1, 8 * coalescer.SETS * 128, 8) == coalescer.NO_ENTRY
    table[row, coalescer.READY, 4] = 8  # has answered
    assert in_flight(table, 1, 8 * coalescer.SETS * 128, 8) == -2 - (row * coalescer.WAYS + 4)


@pytest.mark.parametrize("shape", [3, (5, 7), (2, 3, 4)])
def test_storage_begins_at_a_cache_line_and_is_zero(shape: Any) -> None:
    made = storage.zeros(shape, np.uint16)
    assert made.ctypes.data % storage.LINE_BYTES == 0
    assert made.flags.c_contiguous and made.flags.writeable
    assert (made.shape, made.dtype) == (np.zeros(shape).shape, np.uint16)
    assert not made.any()


def test_a_prefetch_changes_nothing() -> None:
    table = np.arange(12).reshape(4, 3)
    assert [fetched(table, row) for row in range(4)] == [0, 3, 6, 9]
