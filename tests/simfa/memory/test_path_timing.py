"""Timing of the memory path, line by line: TMA engine, coalescer, L2 slices, MSHRs, DRAM (section 4.3)."""

import numpy as np
import pytest

from simfa.memory import l2, path
from tests.simfa.compiled import request
from tests.simfa.harness import LINE, SETUP, Box, Outcome, Tiny, leaks, lines, program, run, tiny
from tests.simfa.harness import memory as cold_memory

NEAR, FAR, DRAM = 258, 414, 310
LOAD = program("TMA_TENSOR map=0 row=0 sid=0", "MB_WAIT sid=0")
TWICE = program("TMA_TENSOR map=0 row=0 sid=0", "MB_WAIT sid=0", "TMA_TENSOR map=0 row=0 sid=1", "MB_WAIT sid=1")


def last_load(done: Outcome) -> int:
    """Cycles from issue to completion of the last TMA load."""
    start, end = done.of("TMA_TENSOR")[-1]
    return end - start


@pytest.mark.parametrize("count", [1, 2, 3, 8, 64])
@pytest.mark.parametrize(("partition", "latency"), [(0, NEAR), (1, FAR)])
@pytest.mark.parametrize("hit", [False, True])
def test_latency_of_one_load(count: int, partition: int, latency: int, hit: bool) -> None:
    # Launch 40, setup 130, then two lines a cycle; the last line's own latency ends it.
    gpu = tiny(slices=2, partitions=2, far_cycles=FAR, dram_latency_cycles=DRAM, sm_partitions=(partition,))
    done = run(gpu, [TWICE if hit else LOAD], [Box(2 * LINE, LINE, count)])  # even lines: slice 0 alone
    generation = -(-count // 2) - 1
    assert last_load(done) == 40 + 130 + generation + latency + (0 if hit else DRAM)
    assert (done.counted("misses"), done.counted("hits")) == (count, count * hit)


def test_far_and_near_lines_of_one_load() -> None:
    # Lines 0 and 1 leave in one cycle to slices 0 (near) and 1 (far): the far one ends the load.
    gpu = tiny(slices=2, partitions=2, far_cycles=FAR)
    assert last_load(run(gpu, [LOAD], [lines(2)])) == SETUP + FAR
    assert last_load(run(gpu, [LOAD], [lines(1)])) == SETUP + NEAR


def test_64_lines_in_flight_throttle_a_load_of_200() -> None:
    # 64 lines leave in cycles 0 to 31 after setup; each later pair waits for the answer of the pair 64 before.
    # Pair p of round r = p // 32 leaves at r * 258 + p % 32; the last is pair 99: r = 3, 99 % 32 = 3.
    done = run(tiny(), [LOAD], [lines(200)])
    assert last_load(done) == SETUP + 3 * NEAR + 3 + NEAR
    engine = done.machine.engines.engines[0]
    # Lines in flight are the limit from the cycle in which the 64th leaves until the last can leave.
    assert engine["full_cycles"] == (3 * NEAR + 3) - 31
    assert last_load(run(tiny(inflight_lines=200), [LOAD], [lines(200)])) == SETUP + 99 + NEAR


@pytest.mark.parametrize("rate", [1, 2, 4])
def test_lines_per_cycle(rate: int) -> None:
    assert last_load(run(tiny(lines_per_cycle=rate), [LOAD], [lines(32)])) == SETUP + 32 // rate - 1 + NEAR


def test_setups_overlap_and_lines_come_in_order_of_issue() -> None:
    done = run(tiny(), [program("2 * TMA_TENSOR map=0 row=0 sid=0", "MB_WAIT sid=0")], [lines(8)])
    # The second is issued at 1, ready at 171, and has the engine from 174 on, after the first's four cycles.
    assert done.of("TMA_TENSOR") == [(0, SETUP + 3 + NEAR), (1, SETUP + 4 + 3 + NEAR)]


def test_a_line_that_rows_share_is_requested_once() -> None:
    def requested(box: Box) -> int:
        return int(run(tiny(), [LOAD], [box]).machine.engines.engines[0]["load_lines"])

    assert requested(Box(64, 64, 8)) == 4  # two rows of 64 B in each line
    assert requested(Box(160, 160, 4)) == 5  # 640 contiguous bytes
    assert requested(Box(320, 160, 4)) == 8  # bytes 0-159, 320-479, 640-799, 960-1119: lines 0 1 2 3 5 6 7 8
    assert requested(Box(2048, 256, 3)) == 6


def test_a_box_ends_with_its_tensor() -> None:
    done = run(tiny(), [program("TMA_TENSOR map=0 row=6 sid=0", "MB_WAIT sid=0")], [lines(4)], limits=9)
    engine = done.machine.engines.engines[0]
    assert (engine["load_lines"], engine["requested_bytes"]) == (3, 3 * LINE)


def test_a_pair_loads_each_shared_line_once() -> None:
    gpu = tiny(sms=2, cluster=2, sms_per_coalescer=2, dram_latency_cycles=DRAM)
    done = run(gpu, [LOAD], [lines(40)], ctas=2)
    assert done.counted("accesses") == 40
    assert done.machine.memory.totals[0]["coalesced"] == 40
    assert done.ends == [SETUP + 19 + NEAR + DRAM] * 2
    apart = run(tiny(sms=2, dram_latency_cycles=DRAM), [LOAD], [lines(40)], ctas=2)
    assert (apart.counted("accesses"), apart.counted("merges")) == (80, 40)  # one DRAM read serves both
    assert apart.counted("reads") == 40


def test_sms_of_different_pairs_do_not_coalesce() -> None:
    done = run(tiny(sms=4, sms_per_coalescer=2), [LOAD], [lines(10)], ctas=4)
    assert done.counted("accesses") == 20


def test_an_answered_line_is_requested_anew() -> None:
    done = run(tiny(sms=2, sms_per_coalescer=2), [TWICE], [lines(10)])
    assert done.counted("accesses") == 20


def test_stores_do_not_coalesce() -> None:
    store = program("TMA_STORE map=0 row=0", "TMA_COMMIT", "TMA_WAIT count=0")
    done = run(tiny(sms=2, sms_per_coalescer=2), [store], [lines(10)], ctas=2)
    assert done.counted("accesses") == 20


@pytest.mark.parametrize("cycles", [1, 2, 3.5])
def test_a_slice_serves_one_line_in_its_time(cycles: float) -> None:
    # Lines arrive two a cycle at one slice that needs `cycles` for each: the k-th starts at k * cycles.
    done = run(tiny(slice_cycles=cycles), [LOAD], [lines(50)])
    assert last_load(done) == SETUP + int(np.ceil(49 * cycles)) + NEAR


def test_slices_serve_side_by_side() -> None:
    done = run(tiny(slices=4, slice_cycles=2), [LOAD], [lines(48)])
    # 48 lines at two a cycle are just what four slices at half a line a cycle take; the last leaves at 23.
    assert last_load(done) == SETUP + 23 + NEAR


@pytest.mark.parametrize("cycles", [3, 5.625])
def test_a_dram_channel_is_occupied_by_each_line(cycles: float) -> None:
    done = run(tiny(dram_line_cycles=cycles, dram_latency_cycles=DRAM), [LOAD], [lines(40)])
    assert last_load(done) == SETUP + int(np.ceil(39 * cycles)) + DRAM + NEAR
    # Two slices with a channel each halve the queue.
    wide = tiny(slices=2, dram_channels=2, dram_line_cycles=cycles, dram_latency_cycles=DRAM)
    assert last_load(run(wide, [LOAD], [lines(40)])) == SETUP + int(np.ceil(19 * cycles)) + DRAM + NEAR


def test_mshrs_limit_the_misses_of_a_slice() -> None:
    # Four MSHRs: lines 0 to 3 start at 0 0 1 1, lines 4 to 7 when those fills are there, and so on.
    done = run(tiny(mshrs=4, dram_latency_cycles=DRAM), [LOAD], [lines(12)])
    assert last_load(done) == SETUP + 1 + 3 * DRAM + NEAR
    # A wait at the head holds the slice, so the second of each pair finds its MSHR free at the same time.
    assert done.counted("mshr_waits") == 4
    assert last_load(run(tiny(mshrs=12, dram_latency_cycles=DRAM), [LOAD], [lines(12)])) == SETUP + 5 + DRAM + NEAR


def test_a_hit_needs_no_mshr() -> None:
    gpu = tiny(mshrs=1, dram_latency_cycles=DRAM)
    assert last_load(run(gpu, [TWICE], [lines(8)])) == SETUP + 3 + NEAR


def test_a_store_allocates_without_fetching_and_stays_dirty() -> None:
    done = run(tiny(dram_latency_cycles=DRAM), [program("TMA_STORE map=0 row=0", "TMA_COMMIT", "TMA_WAIT count=0",
               "TMA_TENSOR map=0 row=0 sid=0", "MB_WAIT sid=0")], [lines(10)])  # fmt: skip
    assert (done.counted("reads"), done.counted("writes"), dirty(done.machine.memory)) == (0, 0, 10)
    assert done.of("TMA_STORE")[0] == (0, SETUP + 4 + NEAR)
    assert last_load(done) == SETUP + 4 + NEAR  # the load hits


def dirty(memory: path.Memory) -> int:
    """Dirty lines in the L2."""
    return int(((memory.cache.bits & l2.DIRTY) != 0).sum())


def ask(memory: path.Memory, line: int, now: int, store: bool = False) -> int:
    """One line request of SM 0; the cycle of its answer."""
    return int(request(memory, 0, line, now, store))


@pytest.fixture
def set_of_two() -> path.Memory:
    """One slice of one set of two ways; a miss costs 310 cycles."""
    return fresh(sets=1, ways=2, dram_latency_cycles=DRAM)


def fresh(**changes: object) -> path.Memory:
    """A cold memory of a tiny GPU, asked directly."""
    return cold_memory(Tiny(**changes))  # type: ignore[arg-type]


def test_the_least_recently_used_line_is_evicted(set_of_two: path.Memory) -> None:
    latency = [ask(set_of_two, line, 1000 * i) - 1000 * i - NEAR for i, line in enumerate([1, 2, 1, 3, 1, 2, 3])]
    # 3 evicts 2, the older; then 2 evicts 3.
    assert latency == [DRAM, DRAM, 0, DRAM, 0, DRAM, DRAM]
    assert int(set_of_two.cache.channels["writes"].sum()) == 0


def test_an_evicted_dirty_line_is_written_back_once(set_of_two: path.Memory) -> None:
    for i, (line, store) in enumerate([(1, True), (2, False), (3, False), (2, False), (4, True), (1, False)]):
        ask(set_of_two, line, 1000 * i, store)
    channels = set_of_two.cache.channels
    # Reads of 2, 3 and 1. Dirty 1 is evicted by 3; 4 evicts clean 3, 1 evicts clean 2; dirty 4 is left.
    assert (channels["writes"].sum(), channels["reads"].sum(), dirty(set_of_two)) == (1, 3, 1)


def test_a_write_back_occupies_the_channel_before_the_next_read() -> None:
    memory = fresh(sets=1, ways=1, dram_latency_cycles=DRAM, dram_line_cycles=10)
    ask(memory, 1, 0, store=True)
    assert ask(memory, 2, 1000) == 1000 + DRAM + NEAR  # its read goes first, the write-back of 1 behind it
    assert ask(memory, 3, 1000) == 1020 + DRAM + NEAR


def test_a_load_merges_with_the_miss_in_flight() -> None:
    memory = fresh(dram_latency_cycles=DRAM)
    assert ask(memory, 7, 0) == DRAM + NEAR
    assert ask(memory, 7, 100) == DRAM + NEAR
    assert ask(memory, 7, DRAM) == DRAM + NEAR
    assert ask(memory, 7, DRAM + 1) == DRAM + 1 + NEAR
    unit = memory.cache.slices[0]
    assert (unit["misses"], unit["merges"], unit["hits"]) == (1, 1, 2)
    assert memory.cache.channels["reads"].sum() == 1


def test_a_reused_mshr_does_not_delay_the_line_that_had_it_before() -> None:
    memory = fresh(mshrs=1, dram_latency_cycles=DRAM)
    ask(memory, 7, 0)
    ask(memory, 8, 1000)
    assert ask(memory, 7, 1001) == 1001 + NEAR


def test_a_full_coalescer_set_lets_a_request_pass() -> None:
    memory = fresh(sms=2, sms_per_coalescer=2, dram_latency_cycles=DRAM)
    same_set = [line for line in range(64 * 128) if (line ^ (line >> 7)) % 64 == 0][:9]
    for line in [*same_set, same_set[0], same_set[8]]:
        ask(memory, line, 0)
    assert memory.totals[0]["coalescer_full"] == 2  # the ninth line finds no place, nor does it the second time
    assert memory.totals[0]["coalesced"] == 1


@pytest.mark.parametrize("inflight", [1, 3, 64])
def test_nothing_is_left_behind(inflight: int) -> None:
    gpu = tiny(sms=2, slots_per_sm=2, inflight_lines=inflight, slices=3, sets=2, ways=2, dram_latency_cycles=50,
               dram_line_cycles=5, slice_cycles=2, sms_per_coalescer=2, partitions=2, far_cycles=FAR)  # fmt: skip
    roles = [
        program("TMA_TENSOR map=0 row=0 sid=0", "TMA_TENSOR map=0 row=7 sid=1"),
        program("MB_WAIT sid=0", "MB_WAIT sid=1", "TMA_STORE map=0 row=3", "TMA_COMMIT", "TMA_WAIT count=0"),
    ]
    done = run(gpu, roles, [lines(20)], ctas=9, bases=np.arange(9)[:, None] * 640)
    assert leaks(done.machine) == []
    cache = done.machine.memory.cache
    tags = cache.tags[cache.tags > 0]
    assert len(np.unique(tags)) == len(tags)
    assert done.counted("accesses") == done.counted("hits") + done.counted("merges") + done.counted("misses")


@pytest.mark.parametrize("pause", [1, 3, 10])
@pytest.mark.parametrize("near", [5, 10, 20])
def test_answers_that_come_together_do_not_fill_the_event_queue(pause: int, near: int) -> None:
    # Pairs of loads of one line merge, so two answers free two places in a cycle that can use one; between them
    # the thread issues further loads. The queue holds room for one pending generation per engine, no more.
    loads = [f"TMA_TENSOR map=0 row={k // 2 % 5} sid=0" for k in range(120)]
    code = program(
        *(line for k, load in enumerate(loads) for line in [load, f"BUBBLES cycles={pause}"][: 1 + k % 2])
    )
    gpu = tiny(setup_cycles=400, lines_per_cycle=1, inflight_lines=8, issue_buffer_entries=1, near_cycles=near,
               sets=1, ways=2, mshrs=1, dram_latency_cycles=30)  # fmt: skip
    assert leaks(run(gpu, [code]).machine) == []
