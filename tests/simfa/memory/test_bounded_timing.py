"""Cycles of the hierarchy with bounded queues, line by line: arrival, service, response, and who stops whom."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from presets import loader
from presets.dram_specs import DramChannelSpec
from simfa import dram_channel
from simfa.memory import sets
from tests.simfa.harness import LINE, SETUP, Outcome, Tiny, drain, leaks, lines, program, run, tiny

NEAR, FAR, DRAM = 258, 414, 310
LOAD = program("TMA_TENSOR map=0 row=0 sid=0", "MB_WAIT sid=0")
TWICE = program("TMA_TENSOR map=0 row=0 sid=0", "MB_WAIT sid=0", "TMA_TENSOR map=0 row=0 sid=1", "MB_WAIT sid=1")


def queued(**changes: Any) -> Tiny:
    """A tiny GPU with bounded queues."""
    return tiny(bounded=True, **changes)


def loads(done: Outcome) -> list[int]:
    """Cycles from issue to completion of every TMA load, in order of issue."""
    return [end - start for start, end in done.of("TMA_TENSOR")]


def of_slice(done: Outcome, name: str) -> int:
    """A counter of the first slice."""
    return int(done.machine.memory.cache.slices[0][name])


@pytest.mark.parametrize("share", [0.0, 0.3, 0.5, 1.0])
@pytest.mark.parametrize(("partition", "latency"), [(0, NEAR), (1, FAR)])
@pytest.mark.parametrize("hit", [False, True])
def test_latency_of_one_line_however_it_is_split(share: float, partition: int, latency: int, hit: bool) -> None:
    gpu = queued(slices=2, partitions=2, far_cycles=FAR, dram_latency_cycles=DRAM, sm_partitions=(partition,),
                 request_share=share)  # fmt: skip
    done = run(gpu, [TWICE if hit else LOAD])
    assert loads(done)[-1] == SETUP + latency + (0 if hit else DRAM)
    assert leaks(done.machine) == []


def test_a_slice_serves_and_a_response_leaves_in_the_slices_time() -> None:
    # Ten hits arrive two a cycle; the k-th is served 3 k later, and its response leaves at once.
    done = run(queued(slice_cycles=3), [TWICE], [lines(10)])
    assert loads(done)[-1] == SETUP + 9 * 3 + NEAR
    # Waiting of the second load: request k arrives at k // 2 and is served at 3 k. The first load waits as long.
    assert of_slice(done, "request_cycles") == 2 * sum(3 * k - k // 2 for k in range(10))


def test_half_cycles_of_a_slice_add_up() -> None:
    assert loads(run(queued(slice_cycles=3.5), [TWICE], [lines(11)]))[-1] == SETUP + 35 + NEAR


def test_a_request_queue_of_one_stops_its_sm_until_it_has_moved_up() -> None:
    # One line a cycle, 100 cycles there. Line 2 finds line 1 in the queue of one (line 0 is in service) at 102: the
    # SM is held, with lines up to 101 on their way, until 101 enters the queue as 100 is served, at 1100. Line 102
    # then arrives at 1200, 80 cycles after the slice was free. Line 104 is held at 1202: two more such rounds.
    gpu = queued(
        lines_per_cycle=1, inflight_lines=500, slice_cycles=10, request_entries=1, request_share=100 / NEAR
    )
    done = run(gpu, [LOAD], [lines(300)])
    assert loads(done) == [SETUP + 299 * 10 + 2 * 80 + NEAR]
    assert of_slice(done, "request_most") == 1
    sender = done.machine.memory.hierarchy.sms[0]
    # In the third round line 299 enters as 298 is served, at 2300 + 94 * 10; by then all lines have been sent.
    assert sender["held_cycles"] == (1100 - 102) + (2200 - 1202) + (3240 - 2302)
    assert leaks(done.machine) == []


def test_how_long_an_sm_is_held() -> None:
    # Lines 0, 1, 2 of a slice that needs 50 for each arrive at 100, 101, 102: 0 is served at once, 1 waits in the
    # queue of one, 2 stands before it from 102 until 1 is served at 150. The second load goes through the same.
    gpu = queued(lines_per_cycle=1, slice_cycles=50, request_entries=1, request_share=100 / NEAR)
    done = run(gpu, [TWICE], [lines(3)])
    assert done.machine.memory.hierarchy.sms[0]["held_cycles"] == 2 * (150 - 102)
    assert loads(done) == [SETUP + 2 * 50 + NEAR] * 2


def test_a_full_response_queue_stops_hits_behind_it() -> None:
    # Five SMs ask for line 0, which misses: one DRAM read, five responses. The response queue takes one per ten
    # cycles and holds two. Data at t = 129 + 310: responses leave at t, t + 10, ..., t + 40.
    gpu = queued(sms=5, slice_cycles=10, response_entries=2, dram_latency_cycles=DRAM)
    done = run(gpu, [LOAD], ctas=5)
    assert done.ends == [SETUP + NEAR + DRAM + 10 * k for k in range(5)]
    assert of_slice(done, "merges") == 4
    # At t the first leaves, two wait; the fourth and the fifth go in when those begin to leave, at t + 10, t + 20.
    assert of_slice(done, "response_waits") == 2
    assert of_slice(done, "response_most") == 2


def test_a_hit_waits_for_fills_that_wait_for_the_response_queue() -> None:
    # As above, and SM 5 has line 1 in L2 (its own first load), and asks again so as to be served just after t.
    ready = SETUP + NEAR // 2 + DRAM  # t
    warm = ["TMA_TENSOR map=0 row=1 sid=0", "MB_WAIT sid=0"]
    wait = 1 + SETUP + NEAR + DRAM + 1
    late = ready + 1000 + 2 - SETUP - NEAR // 2 - wait
    others = program(f"BUBBLES cycles={1000}", "TMA_TENSOR map=0 row=0 sid=0", "MB_WAIT sid=0")
    hitter = program(*warm, f"BUBBLES cycles={late}", "TMA_TENSOR map=0 row=1 sid=1", "MB_WAIT sid=1")
    gpu = queued(sms=1, slots_per_sm=1, slice_cycles=10, response_entries=2, dram_latency_cycles=DRAM)
    done = run(gpu, [others, others, others, others, others, hitter])
    assert of_slice(done, "hits") == 1
    fills = sorted(end for _, end in done.of("TMA_TENSOR"))
    assert leaks(done.machine) == []
    gaps = np.diff(fills[1:])
    assert (gaps >= 10).all()  # six responses one behind the other, the hit the last
    assert done.of("TMA_TENSOR")[-1][1] == fills[-1]


def test_mshrs_stop_the_slice_until_a_fill() -> None:
    # Four MSHRs: lines 0 to 3 are served at 0 0 1 1, the next four when those fills are there, and so on.
    done = run(queued(mshrs=4, dram_latency_cycles=DRAM), [LOAD], [lines(12)])
    assert loads(done) == [SETUP + 1 + 3 * DRAM + NEAR]
    assert of_slice(done, "mshr_most") == 4
    assert of_slice(done, "mshr_waits") == 4


def test_a_full_dram_queue_stops_the_slice() -> None:
    # Ten cycles a line, two lines wait. Read 0 begins at once, 1 and 2 wait, 3 enters when 1 begins: at 10.
    gpu = queued(dram_line_cycles=10, dram_queue_lines=2, dram_latency_cycles=DRAM)
    done = run(gpu, [LOAD], [lines(8)])
    assert loads(done) == [SETUP + 7 * 10 + DRAM + NEAR]
    channel = done.machine.memory.cache.channels[0]
    assert channel["most"] == 2
    assert of_slice(done, "dram_waits") == 5
    # Reads 1 and 2 wait 10 and 19 cycles (2 was served at 1), each later one 20: it enters as another leaves.
    assert channel["wait_ticks"] == 256 * (10 + 19 + 5 * 20)


def test_lines_merge_in_an_mshr_and_a_pair_sends_one_request() -> None:
    apart = run(queued(sms=2, dram_latency_cycles=DRAM), [LOAD], [lines(40)], ctas=2)
    assert (apart.counted("accesses"), apart.counted("merges"), apart.counted("reads")) == (80, 40, 40)
    pair = run(queued(sms=2, cluster=2, sms_per_coalescer=2, dram_latency_cycles=DRAM), [LOAD], [lines(40)], ctas=2)
    assert (pair.counted("accesses"), pair.machine.memory.totals[0]["coalesced"]) == (40, 40)
    assert apart.ends == pair.ends == [SETUP + 19 + NEAR + DRAM] * 2
    assert leaks(pair.machine) == leaks(apart.machine) == []


def test_a_request_may_join_one_whose_response_is_on_its_way() -> None:
    # Both SMs of a pair ask, the second 250 cycles later: the response, served at 129, is under way until 258.
    gpu = queued(sms=1, sms_per_coalescer=2)
    again = program("TMA_TENSOR map=0 row=0 sid=0", "BUBBLES cycles=250", "TMA_TENSOR map=0 row=0 sid=1",
                    "MB_WAIT sid=0", "MB_WAIT sid=1")  # fmt: skip
    done = run(gpu, [again])
    assert loads(done) == [SETUP + NEAR, SETUP + NEAR - 251]
    assert done.counted("accesses") == 1


def test_a_line_is_allocated_when_it_is_there_and_not_before() -> None:
    # One set of one way: line 0 is in, line 1 is being fetched; line 0 still hits until the fill evicts it.
    code = program("TMA_TENSOR map=0 row=0 sid=0", "MB_WAIT sid=0", "TMA_TENSOR map=0 row=1 sid=1",
                   "BUBBLES cycles=100", "TMA_TENSOR map=0 row=0 sid=2", "MB_WAIT sid=1", "MB_WAIT sid=2",
                   "TMA_TENSOR map=0 row=0 sid=3", "MB_WAIT sid=3")  # fmt: skip
    done = run(queued(sets=1, ways=1, dram_latency_cycles=DRAM), [code])
    assert loads(done) == [SETUP + NEAR + DRAM, SETUP + NEAR + DRAM, SETUP + NEAR, SETUP + NEAR + DRAM]


def test_a_store_takes_a_way_without_fetching_and_is_written_back_by_who_evicts_it() -> None:
    store = ["TMA_STORE map=0 row=0", "TMA_COMMIT", "TMA_WAIT count=0"]
    load = ["TMA_TENSOR map=0 row=0 sid=0", "MB_WAIT sid=0", "TMA_TENSOR map=0 row=7 sid=1", "MB_WAIT sid=1"]
    done = run(queued(sets=1, ways=1, dram_latency_cycles=DRAM), [program(*store, *load)])
    assert done.of("TMA_STORE") == [(0, SETUP + NEAR)]
    assert loads(done) == [SETUP + NEAR, SETUP + NEAR + DRAM]
    assert (done.counted("reads"), done.counted("writes")) == (1, 1)


def test_a_store_during_a_fetch_keeps_the_newer_line() -> None:
    code = program("TMA_TENSOR map=0 row=0 sid=0", "TMA_STORE map=0 row=0", "TMA_COMMIT", "TMA_WAIT count=0",
                   "MB_WAIT sid=0")  # fmt: skip
    done = run(queued(dram_latency_cycles=DRAM), [code])
    cache = done.machine.memory.cache
    assert ((cache.tags > 0).sum(), ((cache.bits & sets.DIRTY) > 0).sum()) == (1, 1)
    assert leaks(done.machine) == []


COPYING = {"slices": 2, "partitions": 2, "far_cycles": FAR, "dram_latency_cycles": DRAM, "sets": 1,
           "remote_copy_probability": 1.0, "bounded": True}  # fmt: skip


def chase(rows: list[str], **changes: Any) -> Outcome:
    """Loads (`row`) and stores (`+row`) one after the other on an SM of partition 0."""
    steps = []
    for index, row in enumerate(rows):
        if row.startswith("+"):
            steps += [f"TMA_STORE map=0 row={row[1:]} gid={index}", f"TMA_COMMIT gid={index}", "TMA_WAIT count=0"]
        else:
            steps += [f"TMA_TENSOR map=0 row={row} sid={index}", f"MB_WAIT sid={index}"]
    return run(tiny(**COPYING | changes), [program(*steps)])


def test_a_far_read_leaves_a_copy_when_its_data_passes() -> None:
    done = chase(["1", "1", "1"])  # an odd line lives in the other partition
    assert loads(done) == [SETUP + FAR + DRAM, SETUP + NEAR, SETUP + NEAR]
    assert done.counted("copy_hits") == 2
    assert done.counted("reads") == 1
    assert leaks(done.machine) == []


def test_without_the_proxy_a_far_line_stays_far() -> None:
    assert loads(chase(["1", "1"], remote_copy_probability=0.0)) == [SETUP + FAR + DRAM, SETUP + FAR]


def test_a_store_drops_the_copy() -> None:
    done = chase(["1", "1", "+1", "1"])
    assert loads(done) == [SETUP + FAR + DRAM, SETUP + NEAR, SETUP + FAR]
    assert done.of("TMA_STORE")[0][1] - done.of("TMA_STORE")[0][0] == SETUP + FAR


def test_copies_compete_with_regular_lines() -> None:
    done = chase(["0", "2", "1", "3", "0"], ways=2)  # two near lines, then two copies that push them out
    assert loads(done)[-1] == SETUP + NEAR + DRAM


COMMANDS = {"bounded": True, "dram_preset": "hbm3-5200"}


@pytest.mark.parametrize("ratio", [Fraction(1), Fraction(260, 183), Fraction(1, 3)])
@pytest.mark.parametrize("refresh", ["none", "all-bank"])
def test_a_command_level_channel_answers_as_it_does_alone(ratio: Fraction, refresh: Any) -> None:
    # Loads of one random line each, some back to back, some after a pause. Alone the channel gets them at the last
    # tick before the cycle in which the slice serves them; a line is there in the first cycle not before its data.
    random = np.random.default_rng(1)
    rows = random.integers(0, 1 << 16, 30)
    pauses = random.choice([1, 2, 40, 3000, 60_000], 30)
    code = []
    for sid, (row, pause) in enumerate(zip(rows, pauses, strict=True)):
        code += [f"TMA_TENSOR map=0 row={row} sid={sid}", f"BUBBLES cycles={pause}"]
    done = run(tiny(**COMMANDS, dram_ticks_per_cycle=ratio, dram_refresh=refresh, sets=4096, launch_cycles=3),
               [program(*code)])  # fmt: skip
    served = np.array([start + 3 + 130 + NEAR // 2 for start, _ in done.of("TMA_TENSOR")])
    ticks = served * ratio.numerator // ratio.denominator
    spec = loader.load(DramChannelSpec, "hbm3-5200")
    alone = dram_channel.run(spec, dram_channel.Requests(rows * LINE, np.zeros(30, np.int64), LINE, ticks),
                             refresh=refresh)  # fmt: skip
    there = -(-alone.done_ticks * ratio.denominator // ratio.numerator)
    ends = dict(zip(served.tolist(), (end for _, end in done.of("TMA_TENSOR")), strict=True))
    assert [ends[cycle] for cycle in served.tolist()] == (there + NEAR - NEAR // 2).tolist()
    assert leaks(drain(done.machine)) == []


def test_the_command_level_path_is_added_to_every_read() -> None:
    plain, longer = (run(tiny(**COMMANDS, dram_path_ticks=ticks), [LOAD]) for ticks in (0, 100))
    assert loads(longer)[0] - loads(plain)[0] == 100


def test_a_command_level_channel_pushes_back() -> None:
    # 32 entries are 8 lines; 64 requests in flight find them full. Nothing is lost, and the channel's peak holds.
    done = run(tiny(**COMMANDS), [LOAD], [lines(400)])
    assert of_slice(done, "dram_waits") > 0
    assert done.counted("reads") == 400
    channel = done.machine.memory.cache.channels[0]
    assert channel["most"] <= 32
    # Two accesses (one per pseudo-channel) every 2 clocks = 4 ticks: a line at best every 8 ticks.
    assert loads(done)[0] >= 400 * 8
    assert leaks(done.machine) == []
