"""Phases on shared pipes, costs of instructions, loops and rings, persistent CTAs: by hand and by unrolling."""

import heapq
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simfa.isa import Program
from simfa.simulate import SimulationError
from tests.simfa.harness import LINE, Box, leaks, program, run, tiny


def phase(cycles: int, **pipes: int) -> Program:
    return program(
        f"PHASE cycles={cycles} " + " ".join(f"{k}={pipes.get(k, 0)}" for k in ("fp32", "mufu", "operands"))
    )


def test_a_phase_alone_takes_its_cycles() -> None:
    assert run(tiny(), [phase(100, mufu=100)]).of("PHASE") == [(0, 100)]


def test_two_phases_share_a_pipe_in_proportion() -> None:
    # From 1 on both at half speed: the first has 99 left and ends at 199, the second then has 1 left, alone.
    assert run(tiny(), [phase(100, mufu=100), phase(100, mufu=100)]).of("PHASE") == [(0, 199), (1, 200)]


def test_phases_on_different_pipes_or_with_room_do_not_slow_each_other() -> None:
    assert run(tiny(), [phase(100, mufu=100), phase(100, fp32=100)]).of("PHASE") == [(0, 100), (1, 101)]
    assert run(tiny(), [phase(100, mufu=50), phase(100, mufu=50)]).of("PHASE") == [(0, 100), (1, 101)]


def test_the_scarcest_pipe_sets_the_speed() -> None:
    # FP32 is asked for twice, MUFU once: both at half speed, though the MUFU is free for the first.
    done = run(tiny(), [phase(100, fp32=100, mufu=100), phase(100, fp32=100)])
    assert done.of("PHASE") == [(0, 199), (1, 200)]


def test_a_wgmma_under_way_takes_its_share_of_the_operands() -> None:
    gpu = tiny(operand_share=0.5)
    slow = run(gpu, [program("WGMMA cycles=1000"), phase(100, operands=100)])
    assert slow.of("PHASE") == [(1, 201)]
    # The WGMMA ends at 51: 50 cycles at half speed, then the other 75 alone.
    assert run(gpu, [program("WGMMA cycles=51"), phase(100, operands=100)]).of("PHASE") == [(1, 126)]
    # It begins at 40 while a phase runs: 40 done, 60 left at half speed.
    late = run(gpu, [phase(100, operands=100), program("BUBBLES cycles=39", "WGMMA cycles=1000")])
    assert late.of("PHASE") == [(0, 160)]
    assert run(gpu, [program("WGMMA cycles=1000"), phase(100, mufu=100)]).of("PHASE") == [(1, 101)]


def test_an_instruction_costs_its_thread_cycles_and_no_other() -> None:
    done = run(tiny(costs=(("WGMMA", 17),)), [program("2 * WGMMA cycles=1"), program("3 * WGMMA_COMMIT")])
    assert done.of("WGMMA") == [(0, 1), (17, 18)]
    assert done.cycles == 34


def test_the_tensor_core_idles_before_a_group_and_its_end_is_seen_later() -> None:
    gpu = tiny(gemm_gap=45, wgmma_tail=65)
    done = run(gpu, [program("2 * WGMMA cycles=88", "WGMMA_COMMIT", "WGMMA_WAIT count=0")])
    assert done.of("WGMMA") == [(45, 133), (133, 221)]
    assert done.cycles == 221 + 65


def pipeline(turns: int, stages: int, step: int, bubble: int, looped: bool) -> list[Program]:
    """A producer and a consumer of `turns` boxes through a ring, with loops or written out."""
    if looped:
        ring = f"sid=1 stages={stages} counter=0"
        load = [f"ACQUIRE_STAGE {ring}", f"TMA_TENSOR map=0 at=0,0,0 {ring} advance=1 step={step}"]
        use = [f"MB_WAIT {ring}", f"BUBBLES cycles={bubble}", f"RELEASE_STAGE {ring} advance=1"]
        head, tail = ["BUBBLES cycles=1", f"LOOP bid=0 count={turns}"], ["END_LOOP bid=0", "WGMMA_COMMIT"]
        return [program(*head, *load, *tail), program(*head, *use, *tail)]
    producer, consumer = ["BUBBLES cycles=1"], ["BUBBLES cycles=1"]
    for turn in range(turns):
        sid = 1 + turn % stages
        producer += [f"ACQUIRE_STAGE sid={sid}", f"TMA_TENSOR map=0 at=0,0,{turn * step} sid={sid}"]
        consumer += [f"MB_WAIT sid={sid}", f"BUBBLES cycles={bubble}", f"RELEASE_STAGE sid={sid}"]
    return [program(*producer, "WGMMA_COMMIT"), program(*consumer, "WGMMA_COMMIT")]


@given(st.integers(1, 9), st.integers(1, 4), st.integers(-3, 3), st.integers(1, 900))
@settings(max_examples=60, derandomize=True, deadline=None)
def test_loops_and_rings_equal_what_they_unroll_to(turns: int, stages: int, step: int, bubble: int) -> None:
    boxes: Any = [Box(LINE, LINE, 6)]
    outcomes = [
        run(tiny(), pipeline(turns, stages, step * LINE, bubble, looped), boxes, bases=[[64 * LINE]])
        for looped in (True, False)
    ]
    assert outcomes[0].cycles == outcomes[1].cycles
    assert outcomes[0].stalls == outcomes[1].stalls
    assert outcomes[0].counted("misses") == outcomes[1].counted("misses")
    assert leaks(outcomes[0].machine) == []


TILE = program("BUBBLES cycles=3", "LOOP bid=0 count=0", "BUBBLES cycles=10", "END_LOOP bid=0", "BUBBLES cycles=2")


def durations(turns: list[int]) -> list[int]:
    """Cycles of each tile: a bubble of 3, `turns` of 10, one of 2, each issued at once."""
    return [3 + 10 * count + 2 for count in turns]


@given(st.lists(st.integers(0, 12), min_size=1, max_size=25), st.integers(1, 5))
@settings(max_examples=60, derandomize=True, deadline=None)
def test_a_dynamic_schedule_gives_the_next_tile_to_whoever_is_free(turns: list[int], sms: int) -> None:
    done = run(tiny(sms=sms, schedule="dynamic"), [TILE], ctas=len(turns), turns=turns)
    free = [0] * sms
    expected = []
    for cycles in durations(turns):
        start = heapq.heappop(free)
        expected.append((start, start + cycles))
        heapq.heappush(free, start + cycles)
    assert list(zip(done.starts, done.ends, strict=True)) == expected
    assert leaks(done.machine) == []


@given(st.lists(st.integers(0, 12), min_size=1, max_size=25), st.integers(1, 5))
@settings(max_examples=60, derandomize=True, deadline=None)
def test_a_static_schedule_deals_tiles_out_in_turn(turns: list[int], sms: int) -> None:
    done = run(tiny(sms=sms, schedule="static"), [TILE], ctas=len(turns), turns=turns)
    free = [0] * sms
    for number, cycles in enumerate(durations(turns)):
        slot = number % sms
        assert (done.slots[number], done.starts[number]) == (slot, free[slot])
        free[slot] += cycles
        assert done.ends[number] == free[slot]


@pytest.mark.parametrize("schedule", ["static", "dynamic"])
def test_barriers_and_counters_go_on_from_tile_to_tile(schedule: str) -> None:
    # Five tiles of 1 to 5 turns through one ring on one SM: stages go on where the last tile left them.
    ring = "sid=1 stages=2 counter=0"
    producer = program("BUBBLES cycles=1", "LOOP bid=0 count=0", f"ACQUIRE_STAGE {ring}",
                       f"TMA_TENSOR map=0 at=0,0,0 {ring} advance=1 step={LINE}", "END_LOOP bid=0",
                       "WGMMA_COMMIT")  # fmt: skip
    consumer = program("BUBBLES cycles=1", "LOOP bid=0 count=0", f"MB_WAIT {ring}", "BUBBLES cycles=700",
                       f"RELEASE_STAGE {ring} advance=1", "END_LOOP bid=0", "WGMMA_COMMIT")  # fmt: skip
    turns = [1, 2, 3, 4, 5]
    bases = [[1000 * LINE * tile] for tile in range(5)]
    done = run(
        tiny(schedule=schedule), [producer, consumer], [Box(LINE, LINE, 4)], ctas=5, turns=turns, bases=bases
    )
    assert done.counted("misses") == sum(turns) + 5 * 3  # each step moves a box of 4 lines by one line
    assert leaks(done.machine) == []
    busy = sum(end - start for start, end in done.of("BUBBLES", track=1))
    assert busy == 700 * sum(turns) + 5
    assert done.cycles < busy + 700  # loads of the next tile ran beside the last one's bubbles


def test_a_deadlock_in_loops_names_the_stage_of_the_ring_and_counts_no_turns() -> None:
    ring = "sid=1 stages=2 counter=0"
    producer = program("BUBBLES cycles=1", "LOOP bid=0 count=9", f"ACQUIRE_STAGE {ring}",
                       f"TMA_TENSOR map=0 at=0,0,0 {ring} advance=1 step={LINE}", "END_LOOP bid=0")  # fmt: skip
    consumer = program("BUBBLES cycles=1", "LOOP bid=0 count=3", f"MB_WAIT {ring}",
                       f"RELEASE_STAGE {ring} advance=1", "END_LOOP bid=0", "WGMMA_COMMIT")  # fmt: skip
    with pytest.raises(SimulationError) as error:
        run(tiny(), [producer, consumer], [Box(LINE, LINE, 4)], bases=[[0]])
    # Three releases: stages 1, 2, 1. The sixth load needs stage 2 released twice.
    assert "CTA 0, thread 0 (SM 0) waits" in str(error.value)
    assert "ACQUIRE_STAGE 2: stage 2 has been released 1 times, it takes 2" in str(error.value)
    assert "thread 1 issues RELEASE_STAGE of it in a program with loops and has ended" in str(error.value)


def test_stalls_belong_to_the_tile_of_the_thread_that_stalls() -> None:
    # Thread 0 sleeps 10, arrives, and takes the next tile at once; thread 1 waits for it, then sleeps 4.
    # Tile 0: bubble issues at 0, wait at 1; arrival at 10; thread 0's next bubble at 11, the wait passes at 12.
    # Tile 1: thread 1 sleeps from 13 and waits from 17; arrival at 21, bubble at 22, the wait passes at 23.
    # Tile 2: thread 1 sleeps from 24 and waits from 28; arrival at 32, the wait passes at 33.
    first = program("BUBBLES cycles=10", "BAR_ARRIVE bid=1")
    second = program("BAR_WAIT bid=1 count=1", "BUBBLES cycles=4")
    done = run(tiny(schedule="static"), [first, second], ctas=3)
    assert done.of("BAR_WAIT") == [(1, 12), (17, 23), (28, 33)]
    assert done.machine.observer.stall_cycles.tolist() == [[0, 11], [0, 6], [0, 5]]
    spans = done.machine.observer.spans[: done.machine.observer.header[0]["count"]]
    owners = {(int(span["track"]), int(span["start"])): int(span["cta"]) for span in spans}
    assert [owners[1, start] for start in (1, 13, 17, 24, 28)] == [0, 0, 1, 1, 2]
    assert [owners[0, start] for start in (0, 11, 22)] == [0, 1, 2]


def test_a_load_belongs_to_the_tile_that_issued_it() -> None:
    # Its thread is in tile 2 before the data of tile 0 are there.
    load = program("TMA_TENSOR map=0 at=0,0,0 sid=1", "BUBBLES cycles=1")
    boxes: Any = [Box(LINE, LINE, 2)]
    done = run(tiny(schedule="static"), [load], boxes, ctas=3)
    spans = done.machine.observer.spans[: done.machine.observer.header[0]["count"]]
    owners = [int(span["cta"]) for span in spans if span["track"] == 2]
    assert owners == [0, 1, 2]


def test_a_deadlock_of_persistent_ctas_names_the_tile() -> None:
    # Tile 0 ends, tile 1 waits for a barrier that nobody arrives at a second time.
    wait = program("BAR_WAIT bid=0 count=1", "WGMMA_COMMIT")
    gpu = tiny(schedule="static", primed=((0, 1),))
    with pytest.raises(
        SimulationError, match=r"tile 1, thread 0 \(SM 0\) waits since cycle \d+ at its instruction 1"
    ):
        run(gpu, [wait], ctas=2)


def test_a_phase_begins_with_all_of_its_work_whatever_ran_before_it() -> None:
    alone = run(tiny(), [program("PHASE cycles=100 fp32=0 mufu=100 operands=0", "BUBBLES cycles=50",
                                 "PHASE cycles=100 fp32=0 mufu=100 operands=0")])  # fmt: skip
    assert alone.of("PHASE") == [(0, 100), (150, 250)]


def test_a_launch_ends_with_its_last_phase_not_with_an_estimate_that_came_true_earlier() -> None:
    # The phase begins at 1 beside a WGMMA, at half speed, which would end it at 201. The WGMMA ends at 51, 25 are
    # done, and the other 75 take until 126.
    done = run(tiny(operand_share=0.5), [program("WGMMA cycles=51"), phase(100, operands=100)])
    assert (done.of("PHASE"), done.cycles) == ([(1, 126)], 126)
    assert leaks(done.machine) == []


def test_many_short_phases_beside_a_long_one_leave_no_events_behind() -> None:
    # 2,000 phases of 3 cycles on the MUFU, one of 9,000 on FP32 that none of them slows.
    short = program("2000 * PHASE cycles=3 fp32=0 mufu=3 operands=0")
    done = run(tiny(), [phase(9000, fp32=9000), short])
    assert done.cycles == 9000
    assert done.of("PHASE", track=1)[-1] == (5998, 6001)
    assert leaks(done.machine) == []


def test_the_gap_comes_before_a_groups_first_wgmma_and_no_other() -> None:
    # The second WGMMA issues at 17, when the first, at 5 to 6, is long done; it belongs to the same group.
    gpu = tiny(gemm_gap=5, costs=(("WGMMA", 17),))
    assert run(gpu, [program("2 * WGMMA cycles=1", "WGMMA_COMMIT")]).of("WGMMA") == [(5, 6), (17, 18)]
    # Another group has a gap of its own: issued at 18, after the commit at 17, it runs from 23 on.
    two = program("WGMMA cycles=1", "WGMMA_COMMIT", "WGMMA cycles=1")
    assert run(gpu, [two]).of("WGMMA") == [(5, 6), (23, 24)]


def test_what_ends_in_a_cycle_may_issue_in_it_whoever_was_woken_before() -> None:
    # Two instructions a cycle. At 5 thread 0 arrives, which wakes thread 2, and thread 1 begins a bubble of one
    # cycle. At 6 both go on: thread 1, the older, with its bubble of 9, and thread 2 with its wait.
    codes = [
        program("BUBBLES cycles=5", "BAR_ARRIVE bid=0"),
        program("BUBBLES cycles=5", "BUBBLES cycles=1", "BUBBLES cycles=9"),
        program("BAR_WAIT bid=0 count=1", "BUBBLES cycles=3"),
    ]
    done = run(tiny(issue_width=2), codes)
    assert done.of("BUBBLES", track=1) == [(0, 5), (5, 6), (6, 15)]
    assert done.of("BUBBLES", track=2) == [(7, 10)]
