"""Timing of the SM core, cycle by cycle: scheduler, waits, tensor core, barriers, dispatch (section 4.2)."""

import pytest

from simfa.simulate import SimulationError
from tests.simfa.harness import LINE, SETUP, Box, leaks, lines, program, run, tiny


def test_one_instruction_per_cycle_from_cycle_0() -> None:
    assert run(tiny(), [program("WGMMA_COMMIT")]).cycles == 0
    assert run(tiny(), [program("10 * WGMMA_COMMIT")]).cycles == 9


def test_two_threads_share_the_one_issue_slot() -> None:
    assert run(tiny(), [program("5 * WGMMA_COMMIT"), program("7 * WGMMA_COMMIT")]).cycles == 11


def test_a_bubble_lasts_its_cycles_and_holds_only_its_own_thread() -> None:
    assert run(tiny(), [program("BUBBLES cycles=988")]).cycles == 988
    assert run(tiny(), [program("BUBBLES cycles=100", "BUBBLES cycles=50")]).cycles == 150
    # Thread 1 gets its slot at cycle 1 and sleeps beside thread 0.
    both = run(tiny(), [program("BUBBLES cycles=100"), program("BUBBLES cycles=100")])
    assert both.of("BUBBLES") == [(0, 100), (1, 101)]


def test_a_bubble_beyond_the_event_wheel() -> None:
    assert run(tiny(), [program("BUBBLES cycles=10_000")]).cycles == 10_000


def test_the_greedy_thread_goes_on_until_it_stalls() -> None:
    # Thread 0 issues bubbles at 0 and sleeps; thread 1 (3 commits, then a bubble at cycle 4) is greedy. At 3
    # thread 0 is ready again and older, but thread 1 keeps the slot until it sleeps.
    done = run(tiny(), [program("BUBBLES cycles=3", "BUBBLES cycles=7"),
                        program("3 * WGMMA_COMMIT", "BUBBLES cycles=9")])  # fmt: skip
    assert done.of("BUBBLES", track=0) == [(0, 3), (5, 12)]
    assert done.of("BUBBLES", track=1) == [(4, 13)]


def test_then_the_oldest_ready_thread_takes_over() -> None:
    # All three are ready at 2 when thread 0 falls asleep: thread 1 is older than thread 2.
    done = run(tiny(), [program("2 * WGMMA_COMMIT", "BUBBLES cycles=4"), program("BUBBLES cycles=4"),
                        program("BUBBLES cycles=4")])  # fmt: skip
    assert [done.of("BUBBLES", track=t)[0][0] for t in range(3)] == [2, 3, 4]


def test_a_new_cta_starts_with_its_oldest_thread_whoever_issued_last() -> None:
    # CTA 0: thread 1 issues last and retires the CTA at cycle 7. In CTA 1 thread 0 is the older one: 8, then 9.
    done = run(tiny(), [program("BUBBLES cycles=5"), program("BUBBLES cycles=6", "WGMMA_COMMIT")], ctas=2)
    assert done.ends[0] == 7
    assert done.of("BUBBLES", track=0)[1][0] == 8
    assert done.of("BUBBLES", track=1)[1][0] == 9


def test_a_wgmma_occupies_the_pipe_and_the_group_wait_ends_with_it() -> None:
    # Issued at 0, 1, 2 (88 cycles each, one pipe): done at 88, 176, 264.
    done = run(tiny(), [program("3 * WGMMA cycles=88", "WGMMA_COMMIT", "WGMMA_WAIT count=0")])
    assert done.cycles == 264
    assert done.of("WGMMA") == [(0, 88), (88, 176), (176, 264)]
    assert done.stalls == {(0, "WGMMA_WAIT"): 264 - 4}


def test_wait_1_leaves_the_newest_group_in_flight() -> None:
    two_groups = ["2 * WGMMA cycles=50", "WGMMA_COMMIT", "3 * WGMMA cycles=50", "WGMMA_COMMIT"]
    assert run(tiny(), [program(*two_groups, "WGMMA_WAIT count=1", "BUBBLES cycles=5")]).of("BUBBLES") == [
        (101, 106)  # the wait issues at 100, when two are done
    ]
    assert run(tiny(), [program(*two_groups, "WGMMA_WAIT count=0", "BUBBLES cycles=5")]).of("BUBBLES") == [
        (251, 256)
    ]
    assert run(tiny(), [program(*two_groups, "WGMMA_WAIT count=2", "BUBBLES cycles=5")]).of("BUBBLES") == [(8, 13)]


def test_uncommitted_wgmmas_hold_no_wait() -> None:
    assert run(tiny(), [program("WGMMA cycles=50", "WGMMA_WAIT count=0", "BUBBLES cycles=1")]).of("BUBBLES") == [
        (2, 3)
    ]


def test_two_threads_share_one_tensor_pipe_in_order_of_issue() -> None:
    gemm = ["WGMMA cycles=40", "WGMMA_COMMIT", "WGMMA_WAIT count=0"]
    done = run(tiny(), [program(*gemm), program(*gemm)])
    # Thread 0 issues at 0, 1 and stalls at 2; thread 1 issues at 3 and queues behind it.
    assert done.of("WGMMA") == [(0, 40), (40, 80)]
    assert done.ends == [80]


def test_the_issue_buffer_of_16_is_felt_by_a_tile_of_19() -> None:
    done = run(tiny(), [program("8 * WGMMA cycles=88", "11 * WGMMA cycles=64", "WGMMA_COMMIT", "BUBBLES cycles=1")])
    # 16 in the buffer after cycle 15; places come free at 88, 176, 264: the 17th to 19th issue there.
    assert done.stalls == {(0, "TENSOR_BUFFER_FULL"): (88 - 16) + (176 - 89) + (264 - 177)}
    assert done.of("BUBBLES") == [(266, 267)]
    roomy = run(
        tiny(issue_buffer_entries=19), [program("8 * WGMMA cycles=88", "11 * WGMMA cycles=64", "WGMMA_COMMIT")]
    )
    assert roomy.stalls == {}
    assert done.of("WGMMA")[-1][1] == roomy.of("WGMMA")[-1][1] == 8 * 88 + 11 * 64


def test_the_issue_buffer_belongs_to_the_sm_not_to_the_thread() -> None:
    done = run(tiny(issue_buffer_entries=4), [program("4 * WGMMA cycles=100"), program("WGMMA cycles=100")])
    assert done.stalls == {(1, "TENSOR_BUFFER_FULL"): 100 - 4}


def test_a_bar_wait_takes_its_arrivals_and_is_woken_by_them() -> None:
    done = run(tiny(), [program("BUBBLES cycles=50", "BAR_ARRIVE bid=1"), program("BAR_WAIT bid=1 count=1")])
    assert done.cycles == 51  # arrival issues at 50, the wait in the next cycle
    assert done.stalls == {(1, "BAR_WAIT"): 50}


def test_an_early_arrival_is_kept() -> None:
    done = run(tiny(), [program("BAR_ARRIVE bid=1"), program("BUBBLES cycles=50", "BAR_WAIT bid=1 count=1")])
    assert (done.cycles, done.stalls) == (51, {})


def test_a_bar_wait_of_two_needs_two_arrivals_and_consumes_them() -> None:
    done = run(tiny(), [program("BUBBLES cycles=50", "BAR_ARRIVE bid=3", "BUBBLES cycles=50", "BAR_ARRIVE bid=3"),
                        program("BAR_WAIT bid=3 count=2")])  # fmt: skip
    assert done.cycles == 102  # arrivals at 50 and 101
    with pytest.raises(SimulationError, match="deadlock"):
        run(tiny(), [program("2 * BAR_ARRIVE bid=3"), program("2 * BAR_WAIT bid=3 count=2")])


def test_ping_pong_alternates_softmax_and_gemm() -> None:
    # Each consumer tells the other when it issues its GEMM and waits for the other's before its own softmax.
    def consumer(me: int, other: int) -> list[str]:
        return [f"BAR_ARRIVE bid={other}", "WGMMA cycles=100", "WGMMA_COMMIT", "WGMMA_WAIT count=0",
                f"BAR_WAIT bid={me} count=1", "BUBBLES cycles=80"]  # fmt: skip

    done = run(tiny(), [program("WGMMA_COMMIT"), program(*consumer(1, 2)), program(*consumer(2, 1))])
    # Consumer 1 issues its GEMM at 2; done at 102. Consumer 2 at 6, behind it: 102 to 202.
    assert done.of("WGMMA") == [(2, 102), (102, 202)]
    assert done.of("BUBBLES", track=1) == [(104, 184)]
    assert done.of("BUBBLES", track=2) == [(204, 284)]


def test_a_ring_of_one_stage_blocks_the_producer_until_every_consumer_has_released() -> None:
    load = ["ACQUIRE_STAGE sid=1", "TMA_TENSOR map=0 row=0 sid=1"]
    producer = program(*load, *load)
    slow = ["MB_WAIT sid=1", "BUBBLES cycles=300", "RELEASE_STAGE sid=1", "MB_WAIT sid=1"]
    quick = ["MB_WAIT sid=1", "BUBBLES cycles=100", "RELEASE_STAGE sid=1", "MB_WAIT sid=1"]
    done = run(tiny(), [producer, program(*quick), program(*slow)])
    # First TMA issues at 1; its line is there at 1 + 170 + 258 = 429. Consumer 1, the older, passes its wait at
    # 429 and sleeps from 430; consumer 2 passes at 431 and sleeps 432 to 732. It releases at 732, goes on to its
    # next wait at 733, and the producer acquires at 734. The release of consumer 1 alone did not do.
    assert done.of("BUBBLES") == [(430, 530), (432, 732)]
    assert [end for _, end in done.of("ACQUIRE_STAGE")] == [734]
    assert done.of("TMA_TENSOR")[1] == (735, 735 + SETUP + 258)
    assert done.cycles == 735 + SETUP + 258 + 1


def test_acquire_does_not_block_while_stages_are_free() -> None:
    two = ["ACQUIRE_STAGE sid=1", "TMA_TENSOR map=0 row=0 sid=1",
           "ACQUIRE_STAGE sid=2", "TMA_TENSOR map=0 row=0 sid=2"]  # fmt: skip
    done = run(tiny(), [program(*two), program("MB_WAIT sid=1", "MB_WAIT sid=2")])
    assert [start for start, _ in done.of("TMA_TENSOR")] == [1, 3]
    assert (0, "ACQUIRE_STAGE") not in done.stalls


def test_a_store_wait_blocks_until_the_committed_group_is_written() -> None:
    done = run(tiny(), [program("TMA_STORE map=0 row=0", "TMA_COMMIT", "TMA_WAIT count=0")], [lines(8)])
    # Issued at 0; eight lines from 170 on, two a cycle; the last pair leaves at 173 and is answered at 431.
    assert done.cycles == SETUP + 3 + 258
    assert done.stalls == {(0, "TMA_WAIT"): done.cycles - 2}
    uncommitted = run(tiny(), [program("TMA_STORE map=0 row=0", "TMA_WAIT count=0", "BUBBLES cycles=1")])
    assert uncommitted.of("BUBBLES") == [(2, 3)]


def test_store_groups_finish_in_order() -> None:
    # The first group's line is far (414), the second's near (258): waiting for all but one means the first.
    gpu = tiny(slices=2, partitions=2, far_cycles=414)
    code = program("TMA_STORE map=0 row=1", "TMA_COMMIT", "TMA_STORE map=0 row=0", "TMA_COMMIT",
                   "TMA_WAIT count=1", "BUBBLES cycles=1")  # fmt: skip
    assert run(gpu, [code]).of("BUBBLES") == [(SETUP + 414 + 1, SETUP + 414 + 2)]


def test_a_barrier_nobody_signals_is_a_deadlock() -> None:
    for stuck in ("MB_WAIT sid=0", "BAR_WAIT bid=1 count=1"):
        with pytest.raises(SimulationError, match="deadlock at cycle 0"):
            run(tiny(), [program(stuck)])
    with pytest.raises(SimulationError, match="deadlock"):
        run(tiny(), [program("2 * ACQUIRE_STAGE sid=1"), program("WGMMA_COMMIT")])


def test_ctas_go_to_sms_in_order_then_to_whichever_slot_is_free() -> None:
    done = run(tiny(sms=3), [program("BUBBLES cycles=100")], ctas=7)
    assert done.slots == [0, 1, 2, 0, 1, 2, 0]
    # A retired CTA's successor is there in the same cycle; its first instruction issues then too.
    assert done.starts == [0, 0, 0, 100, 100, 100, 200]
    assert done.cycles == 300


def test_every_sm_gets_a_first_cta_before_any_gets_a_second() -> None:
    done = run(tiny(sms=2, slots_per_sm=2), [program("BUBBLES cycles=100")], ctas=5)
    assert [slot // 2 for slot in done.slots] == [0, 1, 0, 1, 0]


def test_a_cluster_starts_on_neighbouring_sms_and_leaves_together() -> None:
    # The CTAs of a cluster differ: CTA i loads i lines of its own. The pair waits for the slower one.
    code = [program("TMA_TENSOR map=0 row=0 sid=0", "MB_WAIT sid=0")]
    done = run(tiny(sms=4, cluster=2), code, [lines(100)], ctas=6,
               limits=[[2], [40], [2], [2], [2], [2]])  # fmt: skip
    assert done.slots == [0, 1, 2, 3, 2, 3]
    short, long = SETUP + 258, SETUP + 19 + 258
    assert done.ends[:4] == [short, long, short, short]
    assert done.starts[4:] == [short, short]
    waiting = run(tiny(sms=2, cluster=2), code, [lines(100)], ctas=4, limits=[[2], [40], [2], [2]])
    assert waiting.starts == [0, 0, long, long]


def test_a_32_deep_operation_queue_stalls_the_next_tma() -> None:
    done = run(tiny(), [program("33 * TMA_TENSOR map=0 row=0 sid=0", "MB_WAIT sid=0")], [Box(LINE, LINE, 1)])
    # Operation 1 of the ring is answered at 170 + 258.
    assert done.stalls[0, "TMA_QUEUE_FULL"] == SETUP + 258 - 32
    assert leaks(done.machine) == []


def test_rows_beyond_the_tensor_cost_no_lines_and_complete() -> None:
    done = run(tiny(), [program("TMA_TENSOR map=0 row=8 sid=0", "MB_WAIT sid=0")], [lines(4)], limits=8)
    assert done.cycles == SETUP
    assert done.counted("accesses") == 0


def test_operands_are_checked_when_written() -> None:
    with pytest.raises(ValueError, match="BAR_WAIT takes bid, count"):
        program("BAR_WAIT bid=1")
