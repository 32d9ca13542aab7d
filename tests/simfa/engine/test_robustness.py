"""What a core must survive: retirement with work under way, shared mbarriers, long waits, groups by id."""

import time

import pytest

from tests.simfa.harness import SETUP, Box, leaks, lines, program, run, tiny


def test_a_cta_holds_its_slot_until_its_loads_are_done() -> None:
    done = run(tiny(), [program("TMA_TENSOR map=0 row=0 sid=0")], ctas=3)
    each = SETUP + 258
    assert done.ends == [each, 2 * each, 3 * each]
    assert leaks(done.machine) == []


def test_a_cta_holds_its_slot_until_its_wgmmas_are_done() -> None:
    done = run(tiny(), [program("3 * WGMMA cycles=100")], ctas=2)
    assert done.ends == [300, 600]


def test_a_successor_does_not_see_its_predecessors_loads_and_stores() -> None:
    # Without retirement counting, the first CTA's line would fill the second CTA's stage early.
    first = ["BUBBLES cycles=5", "TMA_TENSOR map=0 row=0 sid=0", "TMA_STORE map=0 row=1", "MB_WAIT sid=0"]
    done = run(tiny(), [program(*first), program("WGMMA cycles=7")], [lines(40)], ctas=4)
    spans = [end - start for start, end in zip(done.starts, done.ends, strict=True)]
    assert len(set(spans)) == 1
    assert leaks(done.machine) == []


def test_two_loads_of_a_stage_fill_it_once_when_both_are_done() -> None:
    # A bubble of 1,000 between them: the first is long there, yet the stage fills with the second.
    producer = program("ACQUIRE_STAGE sid=1", "TMA_TENSOR map=0 row=0 sid=1", "BUBBLES cycles=1000",
                       "TMA_TENSOR map=0 row=9 sid=1", "ACQUIRE_STAGE sid=1", "TMA_TENSOR map=0 row=20 sid=1",
                       "TMA_TENSOR map=0 row=30 sid=1")  # fmt: skip
    consumer = program("MB_WAIT sid=1", "BUBBLES cycles=10", "RELEASE_STAGE sid=1", "MB_WAIT sid=1",
                       "BUBBLES cycles=20")  # fmt: skip
    done = run(tiny(), [producer, consumer])
    filled = 1003 + SETUP + 258  # the producer's second load issues at 1003, after the consumer's first try
    assert done.of("BUBBLES", track=1)[0] == (filled, filled + 10)
    assert len(done.of("TMA_TENSOR")) == 4


def test_loads_of_two_producers_fill_one_stage_together() -> None:
    quick = program("TMA_TENSOR map=0 row=0 sid=0")
    slow = program("BUBBLES cycles=500", "TMA_TENSOR map=0 row=5 sid=0")
    done = run(tiny(), [quick, slow, program("MB_WAIT sid=0", "BUBBLES cycles=1")])
    assert done.of("BUBBLES", track=2)[0][0] == 501 + SETUP + 258 + 1


def test_one_thread_may_load_wait_and_release_by_itself() -> None:
    step = ["ACQUIRE_STAGE sid=0", "TMA_TENSOR map=0 row=0 sid=0", "MB_WAIT sid=0", "RELEASE_STAGE sid=0"]
    done = run(tiny(), [program(*step * 3)])
    # A step issues its load in its second cycle, is answered 428 later, and then waits and releases.
    assert done.cycles == 3 * (1 + SETUP + 258 + 1) + 2


@pytest.mark.parametrize("latency", [10**6, 2 * 10**9, 10**12])
def test_idle_cycles_cost_no_time(latency: int) -> None:
    started = time.perf_counter()
    code = program("TMA_TENSOR map=0 row=0 sid=0", "MB_WAIT sid=0", "BUBBLES cycles=5")
    done = run(tiny(near_cycles=latency), [code, program("BUBBLES cycles=3")], [lines(1000)])
    # 64 lines in flight, two a cycle: 15 rounds of 64, each a latency after the one before, then 40 in 20 cycles.
    assert done.cycles == SETUP + 16 * latency + 19 + 1 + 5  # the wait issues, then the bubble
    assert time.perf_counter() - started < 20


def test_a_wait_by_id_ignores_younger_ids() -> None:
    # Group 0 takes 50 cycles, group 7 another 1,000 on the same pipe.
    code = ["WGMMA cycles=50 gid=0", "WGMMA_COMMIT gid=0", "WGMMA cycles=1000 gid=7", "WGMMA_COMMIT gid=7"]
    done = run(tiny(), [program(*code, "WGMMA_WAIT gid=6 count=0", "BUBBLES cycles=1")])
    assert done.of("BUBBLES") == [(51, 52)]
    done = run(tiny(), [program(*code, "WGMMA_WAIT gid=7 count=0", "BUBBLES cycles=1")])
    assert done.of("BUBBLES") == [(1051, 1052)]
    done = run(tiny(), [program(*code, "WGMMA_WAIT gid=7 count=1", "BUBBLES cycles=1")])
    assert done.of("BUBBLES") == [(51, 52)]


def test_two_groups_may_be_open_at_once() -> None:
    code = ["WGMMA cycles=50 gid=1", "WGMMA cycles=50 gid=2", "WGMMA cycles=50 gid=1"]
    done = run(tiny(), [program(*code, "WGMMA_COMMIT gid=2", "WGMMA_WAIT gid=2 count=0", "BUBBLES cycles=1")])
    assert done.of("BUBBLES") == [(101, 102)]  # group 1 is not committed


def test_the_group_table_of_32_stalls_the_33rd_group() -> None:
    stores = [f"TMA_STORE map=0 row={n} gid={n}" for n in range(31)]
    code = [*[line for n, line in enumerate(stores) for line in (line, f"TMA_COMMIT gid={n}")]]
    done = run(tiny(), [program(*code, "TMA_COMMIT gid=40", "TMA_COMMIT gid=41", "BUBBLES cycles=1")], [lines(1)])
    assert done.stalls[0, "TMA_COMMIT"] > 0
    assert leaks(done.machine) == []


def test_loose_round_robin_takes_turns() -> None:
    # Greedy: thread 0 issues 0 to 2, then thread 1. Round robin: they alternate.
    codes = [program("3 * WGMMA_COMMIT", "BUBBLES cycles=9"), program("3 * WGMMA_COMMIT", "BUBBLES cycles=9")]
    assert [run(tiny(), codes).of("BUBBLES", track=t)[0][0] for t in (0, 1)] == [3, 7]
    assert [run(tiny(scheduler="lrr"), codes).of("BUBBLES", track=t)[0][0] for t in (0, 1)] == [6, 7]


def test_round_robin_is_loose_it_skips_whoever_is_not_ready() -> None:
    codes = [
        program("4 * WGMMA_COMMIT"),
        program("BUBBLES cycles=50"),
        program("2 * WGMMA_COMMIT", "BUBBLES cycles=1"),
    ]
    assert run(tiny(scheduler="lrr"), codes).of("BUBBLES", track=2) == [(6, 7)]  # 0 1 2 0 2 0 2


def test_an_issue_width_of_two_issues_two_threads_but_no_thread_twice() -> None:
    one, two = program("10 * WGMMA_COMMIT"), program("10 * WGMMA_COMMIT")
    assert run(tiny(issue_width=2), [one]).cycles == 9
    assert run(tiny(issue_width=2), [one, two]).cycles == 9
    assert run(tiny(issue_width=2), [one, two, two]).cycles == 19
    assert run(tiny(issue_width=2, scheduler="lrr"), [one, two, two]).cycles == 14


def test_a_role_without_instructions_takes_no_part() -> None:
    assert run(tiny(), [program(), program("BUBBLES cycles=5")], [Box(128, 128, 1)], ctas=2).ends == [5, 10]
