"""The remote-copy proxy (section 4.3): far reads leave near copies, copies compete, stores drop them."""

import numpy as np
import pytest

from simfa.memory import l2
from tests.simfa.compiled import request
from tests.simfa.harness import memory, tiny

NEAR, FAR, DRAM = 258, 414, 310
FAR_LINE = 1  # with modulo hashing over two slices: slice 1, the other partition of SM 0
COPYING = {
    "slices": 2,
    "partitions": 2,
    "far_cycles": FAR,
    "dram_latency_cycles": DRAM,
    "remote_copy_probability": 1.0,
    "sms": 2,
    "sm_partitions": (0, 1),
}


def latencies(gpu, requests, gap=10_000):
    """Cycles to the answer of each (sm, line, is_store), far apart in time, on one cold hierarchy."""
    cold = memory(gpu)
    found = [
        request(cold, sm, line, gap * step, is_store) - gap * step
        for step, (sm, line, is_store) in enumerate(requests)
    ]
    return found, cold


def test_a_far_read_leaves_a_copy_that_answers_at_near_latency() -> None:
    found, cold = latencies(tiny(**COPYING), [(0, FAR_LINE, False)] * 3)
    assert found == [FAR + DRAM, NEAR, NEAR]
    assert cold.cache.slices["copy_hits"].tolist() == [2, 0]
    assert int(cold.cache.channels["reads"].sum()) == 1


def test_the_home_partition_needs_no_copy() -> None:
    found, cold = latencies(tiny(**COPYING), [(1, FAR_LINE, False)] * 2)
    assert found == [NEAR + DRAM, NEAR]
    assert int(cold.cache.slices["copy_hits"].sum()) == 0


def test_without_the_proxy_a_far_line_stays_far() -> None:
    gpu = tiny(**COPYING | {"remote_copy_probability": 0.0})
    assert latencies(gpu, [(0, FAR_LINE, False)] * 3)[0] == [FAR + DRAM, FAR, FAR]


def test_no_way_for_copies_is_no_copy() -> None:
    gpu = tiny(**COPYING | {"remote_copy_way_share": 0.0})
    assert latencies(gpu, [(0, FAR_LINE, False)] * 3)[0] == [FAR + DRAM, FAR, FAR]


def test_a_copy_on_its_way_answers_when_its_data_is_there() -> None:
    # The first read's data reaches the near slice at DRAM + (FAR - NEAR); a read 100 cycles later joins it.
    cold = memory(tiny(**COPYING))
    assert request(cold, 0, FAR_LINE, 0, False) == FAR + DRAM
    assert request(cold, 0, FAR_LINE, 100, False) == FAR + DRAM


def test_a_store_drops_the_stale_copy() -> None:
    requests = [(0, FAR_LINE, False), (0, FAR_LINE, False), (0, FAR_LINE, True), (0, FAR_LINE, False)]
    found, cold = latencies(tiny(**COPYING), requests)
    assert found == [FAR + DRAM, NEAR, FAR, FAR]
    assert int(((cold.cache.bits & l2.DIRTY) != 0).sum()) == 1


def test_copies_push_regular_lines_out_of_the_near_partition() -> None:
    # One set of four ways per slice: near lines 0, 2, 4, 6 fill it; four copies of far lines evict them all.
    gpu = tiny(**COPYING, sets=1, ways=4)
    near_lines = [(0, line, False) for line in (0, 2, 4, 6)]
    far_lines = [(0, line, False) for line in (1, 3, 5, 7)]
    found, _ = latencies(gpu, near_lines + near_lines + far_lines + near_lines)
    assert found[4:8] == [NEAR] * 4
    assert found[12:] == [NEAR + DRAM] * 4


def test_a_way_share_of_a_half_leaves_half_of_the_set_to_regular_lines() -> None:
    gpu = tiny(**COPYING | {"remote_copy_way_share": 0.5}, sets=1, ways=4)
    near_lines = [(0, line, False) for line in (0, 2)]
    far_lines = [(0, line, False) for line in (1, 3, 5, 7)]
    found, cold = latencies(gpu, near_lines + far_lines + near_lines)
    assert found[-2:] == [NEAR] * 2
    assert int(((cold.cache.bits & l2.COPY) != 0).sum()) == 2


@pytest.mark.parametrize("probability", [0.25, 0.75])
def test_the_probability_is_that_of_a_copy(probability: float) -> None:
    gpu = tiny(**COPYING | {"remote_copy_probability": probability}, sets=4096)
    _, cold = latencies(gpu, [(0, 2 * line + 1, False) for line in range(4000)])
    copies = int(((cold.cache.bits & l2.COPY) != 0).sum())
    assert copies / 4000 == pytest.approx(probability, abs=4 * np.sqrt(0.25 / 4000))
