"""Persistent CTAs as text: round trip, malformed ones, runs with known cycle counts, and the official kernel."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from presets import loader
from presets.specs import GpuSpec
from simfa import simulate, trace_launch
from simfa.isa import Program
from simfa.trace import text, writer
from simfa.trace.model import Cta, Launch, Trace
from simfa.trace.tensor_map import TensorMap
from tests.simfa.experiments import experiment

H800 = loader.load(GpuSpec, "h800")
ONE_SM = loader.override(H800, {"sm.count": "1"})
BOX = TensorMap("X", (64, 1000, 8), (128, 0), (64, 16, 1), 2)


def run(written: str, gpu: GpuSpec = ONE_SM) -> dict[str, Any]:
    return simulate.run_trace(text.parse(written), gpu)[0]


@st.composite
def programs(draw: Any) -> Program:
    """Loops with counts of their own or of the CTA, rings, bulk copies that a counter moves."""
    program = Program()
    program.emit("BUBBLES", cycles=1)
    ring = {"sid": draw(st.integers(0, 9)), "stages": draw(st.integers(1, 4)), "counter": draw(st.integers(0, 1))}
    for bid in draw(st.permutations([0, 1])):
        program.emit("LOOP", bid=bid, count=draw(st.sampled_from([0, 1, 2**20])))
        program.emit("ACQUIRE_STAGE", **ring)
        program.emit("TMA_BULK", gmem=2**40, bytes=64, step=draw(st.integers(-9, 9)), advance=1, **ring)
        program.emit("END_LOOP", bid=bid)
    program.emit("ACQUIRE_STAGE", **ring)
    program.emit("TMA_TENSOR", gmem=(0, 0, 0), map=0, step=draw(st.integers(-9, 9)), **ring)
    return program


@st.composite
def traces(draw: Any) -> Trace:
    written = {f"p{number}": draw(programs()) for number in range(2)}
    turns = st.tuples(st.integers(0, 2**20), st.integers(0, 2**20))
    tiles = st.builds(lambda name, own: Cta((name,), ((0, (0, 1, 2)),), own), st.sampled_from(["p0", "p1"]), turns)
    schedule = draw(st.sampled_from(["one_tile", "static", "dynamic"]))
    primed = () if schedule == "one_tile" else tuple(draw(st.lists(st.integers(0, 1024), max_size=16)))
    launch = Launch(draw(st.integers(0, 99)), 0, draw(st.integers(1, 2)), draw(st.integers(0, 3)), schedule, primed)
    return Trace((BOX,), written, tuple(draw(st.lists(tiles, min_size=1, max_size=4))), launch)


@given(traces())
@settings(max_examples=100, derandomize=True, deadline=None)
def test_what_is_written_reads_back_equal(trace: Trace) -> None:
    once = writer.write(trace)
    assert text.parse(once) == trace
    assert writer.write(text.parse(once)) == once


HEAD = "TRACE 1\nLAUNCH schedule=static\nDEF_TMAP X 2 [64,64] [128] [64,1] 2\nPROGRAM p\n"
BAD = [
    ("TRACE 1\nLAUNCH primed=[1]", "f:2:8: primed= is about persistent CTAs; it needs schedule=static or dynamic"),
    ("TRACE 1\nLAUNCH schedule=eager", "f:2:17: expected schedule, one of one_tile, static, dynamic; got 'eager'"),
    ("TRACE 1\nLAUNCH schedule=static primed=" + str([1] * 17).replace(" ", ""),
     "f:2:24: primed= names 17 named barriers; a CTA has 16"),
    ("TRACE 1\nLAUNCH schedule=static primed=[-1]", "f:2:31: expected primed, a list"),
    ("TRACE 1\nDEF_TMAP turns 1 [4] [] [4] 2", "f:2:10: turns= of a CTA is not about a tensor map"),
    ("TRACE 1\nPROGRAM p\nBUBBLES 1\nLOOP 1 0\nBUBBLES 1\nEND_LOOP 1\nCTA p turns=[3]",
     "f:7:16: LOOP 1 0 of program p has no count: expected turns= of this CTA"),
    ("TRACE 1\nPROGRAM p\nBUBBLES 1\nCTA p turns=[1,2,3]", "f:4:7: turns= for 3 loops; a program has at most 2"),
    ("TRACE 1\nPROGRAM p\nBUBBLES 1\nCTA p turns=[-3]", "f:4:13: expected turns, a list"),
    (HEAD + "TMA_TENSOR 0 [0,0] X 1\nCTA p", "f:5:1: in a program with loops or rings, or of a persistent CTA, a"),
    (HEAD + "ACQUIRE_STAGE 1\nTMA_TENSOR 0 [0,0] X 1 step=1\nCTA p",
     "f:6:24: step= moves a box in its third dimension; map X has 2"),
    (HEAD + "ACQUIRE_STAGE 1 stages=2 advance=1\nTMA_BULK 0 0 16 1 stages=2\nCTA p",
     "f:6:1: in a program with loops"),
    (HEAD + "BUBBLES 1\nCTA p\nCTA p p",
     "f:7:1: a tile of a persistent CTA has instructions for the logical threads"),
    (HEAD + "ACQUIRE_STAGE 1 stages=2\nTMA_BULK 0 64 16 1 stages=2 advance=1 step=-65\nCTA p",
     "f:7:1: the bulk copy of line 6 would move to address -1"),
    (HEAD + "ACQUIRE_STAGE 1 stages=2\nTMA_BULK 0 0 16 1 stages=2\nPROGRAM q\nACQUIRE_STAGE 2\nTMA_BULK 0 0 16 2\n"
     "CTA p q", "f:10:1: stage 2 is loaded as one of the ring of 2 from 1 where fillings are counted as they run, "
     "and by its number where"),
    ("TRACE 1\nLAUNCH cluster=2 schedule=dynamic\nDEF_TMAP X 1 [4] [] [4] 2\nPROGRAM p\nACQUIRE_STAGE 1\n"
     "TMA_TENSOR 0 [0] X 1 multicast=3", "f:6:22: multicast= with schedule=dynamic, where each CTA takes a tile"),
]  # fmt: skip


@pytest.mark.parametrize(("written", "message"), BAD)
def test_a_malformed_trace_names_file_line_column_and_what_was_expected(written: str, message: str) -> None:
    with pytest.raises(text.TraceError) as error:
        text.parse(written, "f")
    assert str(error.value).startswith(message)


TILES = """TRACE 1
LAUNCH schedule={schedule} ctas_per_sm=1
PROGRAM p
BUBBLES 3
LOOP 0 0
BUBBLES 10
END_LOOP 0
BUBBLES 2
"""


def test_tiles_of_one_persistent_cta_follow_each_other() -> None:
    # Each tile: a bubble of 3, turns of 10, a bubble of 2; the next one's first issues as the last one's ends.
    # Turns 4, 0, 1, 7: 45 + 5 + 15 + 75 = 140 cycles on one SM, whatever the schedule.
    for schedule in ("static", "dynamic"):
        ctas = "".join(f"CTA p turns=[{count}]\n" for count in (4, 0, 1, 7))
        assert run(TILES.format(schedule=schedule) + ctas)["cycles"] == 140


def test_schedules_differ_on_two_sms() -> None:
    # Tiles of 105, 5, 5, 5 cycles. Static: SM 0 has the first and third, 110; dynamic: SM 1 takes all others, 105.
    gpu = loader.override(H800, {"sm.count": "2"})
    ctas = "".join(f"CTA p turns=[{count}]\n" for count in (10, 0, 0, 0))
    assert run(TILES.format(schedule="static") + ctas, gpu)["cycles"] == 110
    assert run(TILES.format(schedule="dynamic") + ctas, gpu)["cycles"] == 105


def test_a_thread_may_be_any_number_of_tiles_ahead() -> None:
    # Thread 0 is through its twenty tiles at once; thread 1 sleeps 100 cycles for each, from cycle 1 on at the
    # latest: whatever thread 0 took in the meantime, thread 1 comes to the same twenty.
    ctas = "".join(f"CTA quick slow turns=[{count}]\n" for count in range(20))
    slow = "PROGRAM slow\nBUBBLES 1\nLOOP 0 0\nBUBBLES 100\nEND_LOOP 0\n"
    record = run("TRACE 1\nLAUNCH schedule=dynamic ctas_per_sm=1\nPROGRAM quick\nBUBBLES 1\n" + slow + ctas)
    bubbles = 100 * sum(range(20)) + 20
    assert bubbles <= record["cycles"] <= bubbles + 22


def test_programs_without_loops_go_on_with_stages_where_the_last_tile_left_them() -> None:
    # Three tiles, each a load of 16 lines and its wait; 16 lines leave two a cycle from launch (40) on.
    tile = "PROGRAM p\nACQUIRE_STAGE 0\nTMA_BULK 0 0 2048 0\nPROGRAM c\nMB_WAIT 0\nBUBBLES 500\nRELEASE_STAGE 0\n"
    record = run("TRACE 1\nLAUNCH schedule=static ctas_per_sm=1\n" + tile + "CTA p c\n" * 3)
    assert record["line_requests"] == 48
    # The first load comes from DRAM (311 cycles) and the far side at most; the next hit in L2 and are issued when
    # the stage is released, three bubbles of 500 in all.
    assert 3 * (500 + 40 + 7 + 258) + 311 <= record["cycles"] <= 3 * (500 + 40 + 20 + 414) + 311 + 20


def test_a_primed_barrier_lets_the_first_through_and_nobody_after_it() -> None:
    launch = "TRACE 1\nLAUNCH schedule=static ctas_per_sm=1 primed=[0,2]\nPROGRAM p\nBAR_WAIT 1 1\nBUBBLES 50\n"
    # Wait at 0, bubble from 1 to 51; the second tile's wait at 51, bubble 52 to 102.
    assert run(launch + "CTA p\n" * 2)["cycles"] == 102
    with pytest.raises(simulate.SimulationError) as error:
        run(launch + "CTA p\n" * 3)
    report = str(error.value)
    assert report.startswith("deadlock at cycle 102: no event is pending, 2 of 3 CTAs have retired")
    assert (
        "tile 2, thread 0 (SM 0) waits since cycle 102 at its instruction 1, BAR_WAIT 1: barrier 1 has 0 of 1"
        in report
    )


def test_a_deadlock_in_a_loop_names_its_turn() -> None:
    # Thread 0 issues its three arrivals at 0, 1 and 2, thread 1 its commit at 3. Its waits pass at 4, 15 and 26,
    # each with a bubble of 10 behind it; the fourth, at 37, finds no arrival left.
    written = """TRACE 1
PROGRAM arrives
BAR_ARRIVE 0
BAR_ARRIVE 0
BAR_ARRIVE 0
PROGRAM waits
WGMMA_COMMIT 0
LOOP 0 9
BAR_WAIT 0 1
BUBBLES 10
END_LOOP 0
CTA arrives waits"""
    with pytest.raises(simulate.SimulationError) as error:
        run(written)
    assert str(error.value).startswith("deadlock at cycle 37: ")
    assert "thread 1 (SM 0) waits since cycle 37 at its instruction 3 (turn 4 of 9 of LOOP 0), BAR_WAIT 0" in str(
        error.value
    )


def test_phases_by_hand() -> None:
    # Both ask the MUFU for all it has: from 1 on at half speed. The first has 99 left at 1 and ends at 199, the
    # second, with 1 left, at 200.
    phase = "PROGRAM p\nPHASE 100 0 100 0\n"
    record = run("TRACE 1\n" + phase + "CTA p p")
    assert record["cycles"] == 200
    assert record["utilization"]["mufu"] == 1.0  # 200 cycles of work in 200


def test_a_ring_of_bulk_copies_moves_by_its_counter() -> None:
    ring = "1 stages=2 counter=1"
    load = (
        f"BUBBLES 1\nLOOP 0 6\nACQUIRE_STAGE {ring}\nTMA_BULK 0 0x1000 256 {ring} advance=1 step=256\nEND_LOOP 0\n"
    )
    use = f"BUBBLES 1\nLOOP 0 6\nMB_WAIT {ring}\nRELEASE_STAGE {ring} advance=1\nEND_LOOP 0\n"
    record = run(f"TRACE 1\nPROGRAM l\n{load}PROGRAM u\n{use}CTA l u")
    assert record["dram_read_bytes"] == 6 * 256  # each of the twelve lines once
    still = run(f"TRACE 1\nPROGRAM l\n{load.replace('step=256', '')}PROGRAM u\n{use}CTA l u")
    assert still["dram_read_bytes"] == 256


def test_flops_in_loops_count_as_often_as_they_run() -> None:
    loop = (
        "PROGRAM p\nBUBBLES 1\nLOOP 0 0\nLOOP 1 3\nWGMMA d a b 64 64 16 fp16 fp32 SS 0 0\nEND_LOOP 1\nEND_LOOP 0\n"
    )
    record = run(f"TRACE 1\n{loop}CTA p turns=[5]\nCTA p turns=[0]")
    assert record["flops"] == 5 * 3 * 2 * 64 * 64 * 16


@pytest.mark.parametrize(
    ("head_dim", "options"),
    [
        (128, "--seq 512"),
        (128, "--seq 700 --seq-kv 300 --causal"),
        (64, "--seq 333 --causal --dtype fp8"),
        (256, "--seq 512"),
    ],
)
def test_the_official_kernel_runs_as_its_trace_does(head_dim: int, options: str) -> None:
    """Static in clusters that multicast, and dynamic with tiles whose rows a mask leaves nothing of."""
    todo = experiment(
        f"--gpu h100-sxm --heads-q 8 --heads-kv 4 --head-dim {head_dim} --params calibrated {options}"
    )
    trace = trace_launch.trace_of(todo)
    written = writer.write(trace)
    assert text.parse(written) == trace
    record, built_in = simulate.run_trace(text.parse(written), todo.gpu)[0], simulate.run(todo).result
    for key in ("cycles", "line_requests", "dirty_bytes_left", "utilization"):
        assert record[key] == built_in.extra[key]
    assert [*record["stall_cycles"].values()] == [*built_in.extra["stall_cycles"].values()]
    assert (record["l2_bytes"], record["dram_read_bytes"]) == (built_in.l2_bytes, built_in.dram_read_bytes)


def test_a_sawtooth_kernel_has_a_trace_too() -> None:
    todo = experiment(
        "--gpu gb10 --heads-q 8 --heads-kv 8 --head-dim 128 --seq 512 --set pipeline.kv_traversal=sawtooth"
    )
    trace = trace_launch.trace_of(todo)
    assert simulate.run_trace(trace, todo.gpu)[0]["cycles"] == simulate.run(todo).result.extra["cycles"]
