"""Requests without de-duplication, and the descriptor cache: by hand, cycle by cycle."""

import pytest

from simfa.trace.tensor_map import TensorMap
from tests.simfa.harness import LINE, SETUP, Box, leaks, lines, program, run, tiny

NEAR = 258
LOAD = program("TMA_TENSOR map=0 row=0 sid=0", "MB_WAIT sid=0")


def halves(box: tuple[int, int], stride_bytes: int) -> TensorMap:
    """FP16 elements, `box` columns and rows of them."""
    return TensorMap("halves", (1024, 1024), (stride_bytes,), box, 2)


def requests(tensor: TensorMap | Box, **changes: object) -> int:
    done = run(tiny(deduplicate=False, **changes), [LOAD], [tensor])
    assert leaks(done.machine) == []
    return int(done.machine.engines.engines[0]["load_lines"])


def test_without_deduplication_every_element_is_a_request() -> None:
    assert requests(halves((64, 4), 2048)) == 256
    # Overlapping rows are not merged either; what lies outside the tensor still goes out nowhere.
    assert requests(halves((64, 4), 16)) == 256
    assert requests(TensorMap("edge", (1024, 3), (2048,), (64, 4), 2)) == 192


@pytest.mark.parametrize(("shift", "count"), [(4, 32), (5, 16), (6, 8), (7, 4)])
def test_or_every_chunk_of_a_row(shift: int, count: int) -> None:
    assert requests(halves((64, 4), 2048), request_shift=shift) == count
    # Rows of 64 B, two in a line: de-duplicated lines are shared, chunks of a line's size are not.
    assert requests(halves((32, 4), 64), request_shift=7) == 4


def test_each_request_takes_its_turn_and_asks_for_its_line() -> None:
    # 64 elements of one line, two a cycle from 170 on: the last pair leaves at 201.
    done = run(tiny(deduplicate=False), [LOAD], [halves((64, 1), 2048)])
    assert done.cycles == SETUP + 31 + NEAR
    assert (done.counted("misses"), done.counted("accesses")) == (1, 64)
    assert int(done.machine.engines.engines[0]["requested_bytes"]) == LINE


def test_an_sm_pair_coalesces_an_sms_own_repeated_requests() -> None:
    done = run(tiny(deduplicate=False, sms=2, sms_per_coalescer=2), [LOAD], [halves((64, 1), 2048)])
    assert done.counted("accesses") == 1
    assert int(done.machine.memory.totals[0]["coalesced"]) == 63


def test_bulk_copies_and_stores_without_deduplication() -> None:
    bulk = program("TMA_BULK gmem=0 bytes=1024 sid=0", "MB_WAIT sid=0")
    done = run(tiny(deduplicate=False), [bulk], [halves((64, 1), 2048)])
    assert int(done.machine.engines.engines[0]["load_lines"]) == 8  # no tensor map, nothing to repeat
    store = program("TMA_STORE map=0 row=0", "TMA_COMMIT", "TMA_WAIT count=0")
    done = run(tiny(deduplicate=False), [store], [halves((64, 1), 2048)])
    assert int(done.machine.engines.engines[0]["store_lines"]) == 64


TWO_MAPS = [lines(1), lines(1), lines(1)]


def use(*maps: int) -> list:
    """Loads one after the other, each waited for."""
    steps = [f"TMA_TENSOR map={number} row=0 sid=0|MB_WAIT sid=0" for number in maps]
    return [program(*"|".join(steps).split("|"))]


def durations(done) -> list[int]:
    return [end - start for start, end in done.of("TMA_TENSOR")]


def test_without_a_descriptor_cache_every_request_pays_the_setup() -> None:
    assert durations(run(tiny(), use(0, 0, 0), TWO_MAPS)) == [SETUP + NEAR] * 3


@pytest.mark.parametrize("hit", [0, 17])
def test_a_known_descriptor_pays_the_launch_and_the_hit(hit: int) -> None:
    done = run(tiny(descriptors=1, hit_cycles=hit), use(0, 0, 0), TWO_MAPS)
    assert durations(done) == [SETUP + NEAR, 40 + hit + NEAR, 40 + hit + NEAR]
    assert int(done.machine.engines.engines[0]["descriptor_hits"]) == 2


def test_the_least_recently_used_descriptor_goes() -> None:
    # Two places. 0 and 1 miss; 0 hits; 2 misses and takes the place of 1; 0 hits; 1 misses.
    done = run(tiny(descriptors=2), use(0, 1, 0, 2, 0, 1), TWO_MAPS)
    miss, known = SETUP + NEAR, 40 + NEAR
    assert durations(done) == [miss, miss, known, miss, known, miss]


def test_a_hit_under_a_miss_does_not_overtake_it() -> None:
    both = program("TMA_TENSOR map=0 row=0 sid=0", "TMA_TENSOR map=0 row=0 sid=1", "MB_WAIT sid=0", "MB_WAIT sid=1")
    done = run(tiny(descriptors=1, lines_per_cycle=1), [both], TWO_MAPS)
    assert [end for _, end in done.of("TMA_TENSOR")] == [SETUP + NEAR, SETUP + 1 + NEAR]


def test_every_sm_has_a_cache_of_its_own_and_bulk_copies_need_none() -> None:
    done = run(tiny(sms=2, descriptors=2), use(0), TWO_MAPS, ctas=2)
    assert done.machine.engines.engines["descriptor_hits"].tolist() == [0, 0]
    bulk = program("TMA_BULK gmem=0 bytes=128 sid=0", "MB_WAIT sid=0")
    assert run(tiny(descriptors=2), [bulk]).cycles == 40 + NEAR
