"""Traces as text: round trips, errors with file, line and column, and runs of hand-written ones."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from presets import loader
from presets.errors import NotModelled
from presets.specs import GpuSpec
from simfa import simulate, trace_launch
from simfa.__main__ import main
from simfa.engine import opcodes as op
from simfa.isa import INSTRUCTIONS, WGMMA_K, OperandSpec, Program
from simfa.trace import text, writer
from simfa.trace.model import Cta, Launch, Trace
from simfa.trace.tensor_map import TensorMap
from tests.simfa.experiments import SMALL, experiment

H800 = loader.load(GpuSpec, "h800")
ONE_LOAD = """
TRACE 1
DEF_TMAP X 2 [64,1000] [128] [64,16] 2 base=0x1000   # 16 rows of a line each
PROGRAM p
TMA_TENSOR 0 [0,0] X 0
MB_WAIT 0
CTA p
""".lstrip()


def value_of(operand: OperandSpec) -> st.SearchStrategy[Any]:
    if operand.kind == "choice":
        return st.sampled_from(operand.choices)
    if operand.kind == "place":
        return st.from_regex(r"\A[A-Za-z0-9_.]{1,6}\Z")
    return st.integers(operand.low, operand.high)


@st.composite
def maps(draw: Any, index: int) -> TensorMap:
    rank = draw(st.integers(1, 5))
    numbers = [tuple(draw(st.integers(1, 300)) for _ in range(rank)) for _ in range(3)]
    return TensorMap(f"m{index}", numbers[0], numbers[1][1:], numbers[2], draw(st.integers(1, 16)),
                     draw(st.integers(0, 2**40)))  # fmt: skip


@st.composite
def programs(draw: Any, tensors: list[TensorMap]) -> Program:
    program = Program()
    plain = [spec for spec in INSTRUCTIONS[1:] if spec.opcode not in op.CONTROL]
    for spec in draw(st.lists(st.sampled_from(plain), max_size=12)):
        values = {o.name: draw(value_of(o)) for o in spec.operands if o.kind not in ("map", "coordinates")}
        if spec.opcode in op.TENSOR_REQUESTS:
            values["map"] = draw(st.integers(0, len(tensors) - 1))
            values["gmem"] = tuple(draw(st.integers(-99, 99)) for _ in range(tensors[values["map"]].rank))
        if spec.opcode in op.STORES:
            values["gid"] = len(program.rows)  # each its own group
        if spec.opcode == op.WGMMA:
            values["k"] = WGMMA_K[values["dtype"]] * (1 + values["sp"])
            values["n"] = max(values["n"] // 8, 1) * 8
            values |= {"cycles": draw(st.integers(1, 500))} if draw(st.booleans()) else {}
        program.emit(spec.name, tag=draw(st.integers(0, 3)), **values)
    return program


@st.composite
def traces(draw: Any) -> Trace:
    tensors = [draw(maps(index)) for index in range(draw(st.integers(1, 3)))]
    written = {f"p{index}": draw(programs(tensors)) for index in range(draw(st.integers(1, 3)))}
    written["last"] = Program()
    written["last"].emit("BUBBLES", cycles=1)
    ctas = []
    for _ in range(draw(st.integers(1, 4))):
        names = (*draw(st.lists(st.sampled_from(sorted(written)), max_size=3)), "last")
        own = sorted(draw(st.sets(st.integers(0, len(tensors) - 1))))
        origins = tuple((i, tuple(draw(st.integers(-9, 9)) for _ in range(tensors[i].rank))) for i in own)
        ctas.append(Cta(names, origins))
    launch = Launch(draw(st.integers(0, 9999)), draw(st.integers(0, 255)), draw(st.integers(1, 4)), 0)
    return Trace(tuple(tensors), written, tuple(ctas), launch)


@given(traces())
@settings(max_examples=150, derandomize=True, deadline=None)
def test_what_is_written_reads_back_equal(trace: Trace) -> None:
    once = writer.write(trace)
    assert text.parse(once) == trace
    assert writer.write(text.parse(once)) == once


@given(st.text(alphabet="TRACE 1\nPOGMx[]=,#0-WTMA_", max_size=80))
@settings(max_examples=200, derandomize=True, deadline=None)
def test_noise_is_answered_with_a_place(noise: str) -> None:
    with pytest.raises(text.TraceError, match=r"^f:\d+:\d+: "):
        text.parse("TRACE 1\n" + noise, "f")


def test_every_instruction_of_table_3_has_one_row() -> None:
    names = ("DEF_TMAP TMA_TENSOR MB_WAIT ACQUIRE_STAGE RELEASE_STAGE TMA_STORE TMA_COMMIT TMA_WAIT WGMMA "
             "WGMMA_COMMIT WGMMA_WAIT BAR_ARRIVE BAR_WAIT BUBBLES TMA_BULK TMA_BULK_STORE").split()  # fmt: skip
    beyond = ["PHASE", "LOOP", "END_LOOP"]  # of this simulator: shared pipes, and programs of any length
    assert sorted(spec.name for spec in INSTRUCTIONS) == sorted([*names, *beyond])


LOOPED = """
TRACE 1
DEF_TMAP X 3 [64,1000,8] [128,0] [64,16,1] 2
PROGRAM p
BUBBLES 4
LOOP 0 5
ACQUIRE_STAGE 1 stages=2 counter=0
TMA_TENSOR 0 [0,0,0] X 1 stages=2 counter=0 advance=1 step=1
PHASE 10 5 10 0 tag=3
END_LOOP 0
PROGRAM c
LOOP_START
CTA p c
""".lstrip().replace("LOOP_START", "\n".join(["BUBBLES 1", "LOOP 1 5", "MB_WAIT 1 stages=2 counter=1",
    "RELEASE_STAGE 1 stages=2 counter=1 advance=1", "END_LOOP 1"]))  # fmt: skip


def test_a_program_with_loops_and_rings_reads_back_equal_and_runs() -> None:
    trace = text.parse(LOOPED)
    assert text.parse(writer.write(trace)) == trace
    record, _ = simulate.run_trace(trace, H800)
    assert record["l2_bytes"] == 5 * 16 * 128


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("LOOP 0 2\nBUBBLES 1\nEND_LOOP 0", "f:3:1: a program does not begin with LOOP"),
        ("BUBBLES 1\nLOOP 0 2\nBUBBLES 1", "f:5:1: LOOP 0 has no END_LOOP"),
        ("BUBBLES 1\nEND_LOOP 0", "f:4:1: END_LOOP 0 closes no open loop of that number"),
        ("BUBBLES 1\nLOOP 0 2\nEND_LOOP 0", "f:5:1: a loop without an instruction"),
        ("BUBBLES 1\nLOOP 0 2\nLOOP 0 2\nBUBBLES 1\nEND_LOOP 0", "f:5:1: LOOP 0 inside itself"),
        ("BUBBLES 1\nLOOP 0 2\nTMA_BULK 0 0 16 1\nEND_LOOP 0",
         "f:5:1: in a program with loops or rings, or of a persistent CTA, a load stands right after an "
         "ACQUIRE_STAGE of its stage"),
        ("MB_WAIT 31 stages=2", "f:3:1: a ring that ends at stage 32; the last stage is 31"),
        ("BUBBLES 1\nLOOP 0 -1", "f:4:8: expected count, a whole number from 0 to 1048576; got '-1'"),
    ],
)  # fmt: skip
def test_what_loops_and_rings_must_obey(written: str, message: str) -> None:
    with pytest.raises(text.TraceError) as error:
        text.parse(f"TRACE 1\nPROGRAM p\n{written}\nCTA p", "f")
    assert str(error.value) == message


BAD = [
    ("", "f:1:1: expected TRACE 1 on the first line; got nothing"),
    ("TRACE 2", "f:1:7: expected TRACE 1 on the first line; got '2'"),
    ("PROGRAM p", "f:1:1: expected TRACE 1 on the first line; got 'PROGRAM'"),
    ("TRACE 1\nPROGRAM p\n", "f:3:1: expected a CTA statement; got nothing"),
    ("TRACE 1\nMB_WAIT 0", "f:2:1: MB_WAIT before the first PROGRAM statement"),
    ("TRACE 1\nPROGRAM p\n  MB_WAIT", "f:3:10: expected sid, a whole number from 0 to 31; got nothing"),
    ("TRACE 1\nPROGRAM p\n  MB_WAIT 32", "f:3:11: expected sid, a whole number from 0 to 31; got '32'"),
    ("TRACE 1\nPROGRAM p\nMB_WAIT 0 1", "f:3:11: expected tag=, stages=, counter=, advance=; got '1'"),
    ("TRACE 1\nPROGRAM p\nMB_WIAT 0", "f:3:1: expected a statement (LAUNCH, PROGRAM, CTA) or an instruction; got "
     "'MB_WIAT'. Did you mean MB_WAIT?"),
    ("TRACE 1\nPROGRAM p\nTMA_TENSOR 0 [0] X 0", "f:3:18: expected map, a tensor map declared by DEF_TMAP; got"),
    ("TRACE 1\nDEF_TMAP X 2 [4,4] [] [4,4] 2", "f:2:20: expected 1 strides for rank 2; got 0"),
    ("TRACE 1\nDEF_TMAP X 6 [4] [] [4] 2", "f:2:12: expected rank, a whole number from 1 to 5; got '6'"),
    ("TRACE 1\nDEF_TMAP X 1 [4] [] [4] 2\nDEF_TMAP X 1 [4] [] [4] 2", "f:3:10: tensor map X is declared twice"),
    ("TRACE 1\nDEF_TMAP X 1 [4] [] [4] 2\nPROGRAM p\nTMA_STORE 0 [0,0] X 0",
     "f:4:13: expected 1 coordinates in map X; got 2"),
    ("TRACE 1\nDEF_TMAP X 1 [4] [] [4] 2\nPROGRAM p\nTMA_TENSOR 0 0x3 X 0",
     "f:4:14: no element of tensor map X starts at address 0x3"),
    ("TRACE 1\nDEF_TMAP X 1 [4] [] [4] 2\nPROGRAM p\nTMA_TENSOR 0 0x2 X 0\nCTA p X=[1]",
     "f:5:7: an origin in map X, where a program of this CTA gives addresses"),
    ("TRACE 1\nPROGRAM p\nWGMMA d a b 64 100 16 fp16 fp32 SS 0 0", "f:3:16: expected n, a multiple of 8; got"),
    ("TRACE 1\nPROGRAM p\nWGMMA d a b 64 128 16 fp16 fp32 SS 1 0", "f:3:20: expected k = 32, that of sparse fp16"),
    ("TRACE 1\nPROGRAM p\nWGMMA d a b 64 128 16 fp17 fp32 SS 0 0",
     "f:3:23: expected dtype, one of fp8, int8, fp16, bf16, tf32; got 'fp17'"),
    ("TRACE 1\nPROGRAM p\nTMA_BULK_STORE 0 0 16 3\nTMA_COMMIT 3\nTMA_BULK_STORE 0 0 16 3",
     "f:5:23: no further store may join group 3: line 4 sealed it"),
    ("TRACE 1\nPROGRAM p\nPROGRAM p", "f:3:9: program p is written twice"),
    ("TRACE 1\nPROGRAM p\nCTA p", "f:3:6: expected a program with instructions for each logical thread"),
    ("TRACE 1\nPROGRAM p\nCTA q", "f:3:5: expected a program (p); got 'q'"),
    ("TRACE 1\nLAUNCH clusters=2", "f:2:8: expected shared_memory=, registers=, cluster=, ctas_per_sm="),
    ("TRACE 1\nLAUNCH cluster=x", "f:2:16: expected cluster, a whole number from 1 to 16; got 'x'"),
]  # fmt: skip


@pytest.mark.parametrize(("written", "message"), BAD)
def test_a_malformed_trace_names_file_line_column_and_what_was_expected(written: str, message: str) -> None:
    with pytest.raises(text.TraceError) as error:
        text.parse(written, "f")
    assert str(error.value).startswith(message)


def test_a_proven_store_group_may_be_used_again() -> None:
    store = "TMA_BULK_STORE 0 0 16 3\nTMA_COMMIT 3\nTMA_WAIT 3 0\n"
    assert len(text.parse(f"TRACE 1\nPROGRAM p\n{store * 2}CTA p").programs["p"].rows) == 6


def run(written: str, gpu: GpuSpec = H800) -> dict[str, Any]:
    return simulate.run_trace(text.parse(written), gpu)[0]


def test_one_load_by_hand() -> None:
    # 16 lines, two a cycle from 170 on, then DRAM (169.5 ns = 311 cycles at 1830 MHz) and the near or far latency.
    record = run(ONE_LOAD)
    assert record["line_requests"] == 16
    assert record["dram_read_bytes"] == record["l2_bytes"] == 16 * 128
    assert 170 + 7 + 311 + 258 <= record["cycles"] <= 170 + 7 + 311 + 414 + 10
    bulk = run("TRACE 1\nPROGRAM p\nTMA_BULK 0 0x1000 2048 0\nMB_WAIT 0\nCTA p")
    assert bulk["cycles"] == record["cycles"] - 130


def test_an_address_and_coordinates_are_the_same_box() -> None:
    by_address = ONE_LOAD.replace("[0,0] X", f"{0x1000 + 5 * 128:#x} X")
    by_coordinates = ONE_LOAD.replace("[0,0] X", "[0,5] X")
    by_origin = ONE_LOAD.replace("CTA p", "CTA p X=[0,5]")
    records = [run(case) for case in (by_address, by_coordinates, by_origin)]
    assert len({record["cycles"] for record in records}) == 1
    past_the_end = run(ONE_LOAD.replace("CTA p", "CTA p X=[0,995]"))
    assert past_the_end["line_requests"] == 5


def test_device_pointers_are_moved_within_reach() -> None:
    high = ONE_LOAD.replace("base=0x1000", f"base={0x7F12_3400_0000 + 0x1000:#x}")
    bulk = "TMA_BULK 0 {:#x} 512 1\nMB_WAIT 1\nCTA p"
    low_record = run(ONE_LOAD.replace("CTA p", bulk.format(0x9000)))
    record = run(high.replace("CTA p", bulk.format(0x7F12_3400_9000)))
    assert (record["cycles"], record["line_requests"]) == (low_record["cycles"], 20)
    with pytest.raises(NotModelled, match="addresses span"):
        run(high.replace("CTA p", bulk.format(0x9000)))


def test_flops_and_wgmma_times_come_from_the_operands() -> None:
    sparse = "WGMMA d a b 64 256 32 fp16 fp32 SS 1 0\nWGMMA_COMMIT 0\nWGMMA_WAIT 0 0\n"
    record = run(f"TRACE 1\nPROGRAM p\n{sparse}CTA p")
    assert (record["cycles"], record["flops"]) == (144, 2 * 64 * 256 * 32)
    assert run(f"TRACE 1\nPROGRAM p\n{sparse.replace('SS', 'RS')}CTA p")["cycles"] == 128
    assert run(f"TRACE 1\nPROGRAM p\n{sparse.replace('1 0', '1 0 cycles=99', 1)}CTA p")["cycles"] == 99


@pytest.mark.parametrize(("launch", "held"), [
    ("", 16), ("LAUNCH shared_memory=100000", 2), ("LAUNCH shared_memory=232448", 1), ("LAUNCH registers=200", 2),
    ("LAUNCH registers=32 ctas_per_sm=3", 3), ("LAUNCH shared_memory=1 registers=1", 16),
])  # fmt: skip
def test_ctas_are_dispatched_as_resources_allow(launch: str, held: int) -> None:
    # One SM, 48 CTAs that each sleep 1,000 cycles.
    gpu = loader.override(H800, {"sm.count": "1"})
    record = run(f"TRACE 1\n{launch}\nPROGRAM p\nBUBBLES 1000\n" + "CTA p\n" * 48, gpu)
    rounds = -(-48 // held)
    assert 1000 * rounds <= record["cycles"] <= 1000 * rounds + 48 * rounds
    assert trace_launch.ctas_per_sm(text.parse(f"TRACE 1\n{launch}\nPROGRAM p\nBUBBLES 1\nCTA p"), gpu) == held


def test_a_cta_that_fits_no_sm_is_refused() -> None:
    for launch, words in (("shared_memory=300000", "by its shared memory"), ("registers=255", "by its registers")):
        names = " ".join(["p"] * 5)
        with pytest.raises(NotModelled, match=words):
            run(f"TRACE 1\nLAUNCH {launch}\nPROGRAM p\nBUBBLES 1\nCTA {names}")


@pytest.mark.parametrize("options", ["--seq 700", "--seq 300 --causal --batch 2", "--seq 256 --dtype fp32 "
                                     "--set tile.kv_rows=80", "--seq 129 --seq-kv 177 --dtype fp8"])  # fmt: skip
def test_a_built_in_kernel_runs_as_its_trace_does(options: str) -> None:
    case = experiment(f"{SMALL} {options}")
    trace = trace_launch.trace_of(case)
    written = writer.write(trace)
    assert text.parse(written) == trace
    record, built_in = run(written, case.gpu), simulate.run(case).result
    for key in ("cycles", "line_requests", "dirty_bytes_left"):
        assert record[key] == built_in.extra[key]
    assert [*record["stall_cycles"].values()] == [*built_in.extra["stall_cycles"].values()]
    assert [*record["stall_cycles"]] == ["thread 0", "thread 1", "thread 2"]
    assert (record["l2_bytes"], record["dram_read_bytes"]) == (built_in.l2_bytes, built_in.dram_read_bytes)


def deadlock(written: str) -> str:
    with pytest.raises(simulate.SimulationError) as error:
        run(written)
    return str(error.value)


def test_a_deadlock_names_who_waits_for_what_since_when_and_who_should_have_signalled() -> None:
    report = deadlock("""TRACE 1
PROGRAM producer
ACQUIRE_STAGE 1
TMA_BULK 0 0 128 1
ACQUIRE_STAGE 1
TMA_BULK 0 0 128 1
PROGRAM consumer
MB_WAIT 1
BAR_WAIT 3 2
RELEASE_STAGE 1
PROGRAM other
BUBBLES 50
BAR_ARRIVE 3
CTA producer consumer other""").splitlines()
    assert report[0].startswith("deadlock at cycle ")
    assert report[0].endswith("no event is pending, 0 of 1 CTAs have retired")
    assert report[1] == (
        "CTA 0, thread 0 (SM 0) waits since cycle 2 at its instruction 3, ACQUIRE_STAGE 1: stage 1 has been "
        "released 0 times, it takes 1; thread 1 has issued 0 of its 1 RELEASE_STAGE and is at its instruction 2"
    )
    assert "thread 1 (SM 0) waits since cycle " in report[2]
    assert report[2].endswith(
        "at its instruction 2, BAR_WAIT 3: barrier 3 has 1 of 2 arrivals; thread 2 has issued 1 of its 1 "
        "BAR_ARRIVE and has ended"
    )


def test_a_stage_that_nobody_fills_is_named() -> None:
    report = deadlock("TRACE 1\nPROGRAM p\nMB_WAIT 4\nCTA p")
    assert "MB_WAIT 4: stage 4 has filled 0 times, it waits for filling 1; no thread of the CTA has a" in report
    groups = "".join(f"TMA_BULK_STORE 0 0 16 {n}\n" for n in range(33))
    assert "its 32 groups are all open" in deadlock(f"TRACE 1\nPROGRAM p\n{groups}CTA p")
    many = deadlock("TRACE 1\nPROGRAM p\nMB_WAIT 4\n" + "CTA p\n" * 132)
    assert many.splitlines()[-1] == "and 120 more threads"


def test_a_producer_far_ahead_of_another_is_named() -> None:
    # Filling 1 of the stage lacks thread 1's load; thread 0 may have four fillings under way, not five.
    step = "TMA_BULK 0 0 128 1\nACQUIRE_STAGE 1\n"
    releases = "RELEASE_STAGE 1\n" * 9
    report = deadlock(f"""TRACE 1
PROGRAM ahead
{step * 6}PROGRAM behind
MB_WAIT 2
TMA_BULK 0 0 128 1
PROGRAM releaser
{releases}CTA ahead behind releaser""")
    assert (
        "TMA_BULK: stage 1 has 4 fillings under way, the oldest is number 1; thread 0 has issued 4 of its 6"
        in report
    )
    assert "thread 1 has issued 0 of its 1 TMA_TENSOR/TMA_BULK and is at its instruction 1" in report


def test_the_trace_in_the_readme_runs() -> None:
    readme = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")
    example = readme[readme.index("TRACE 1\n") :]
    record = run(example[: example.index("```")])
    assert (record["ctas"], record["line_requests"]) == (2, 2 * 64 * 2)


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, again = tmp_path / "t.trace", tmp_path / "u.trace"
    options = f"{SMALL} --seq 300"
    assert main(f"disassemble {options} -o {path}".split()) == 0
    assert main(f"disassemble {path} -o {again}".split()) == 0
    assert path.read_text() == again.read_text()
    assert main(f"run {path} --set sm.count=4 --timeline {tmp_path / 'l.json'} --json --quiet".split()) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["trace"] == str(path)
    assert record["cycles"] == simulate.run(experiment(options)).result.extra["cycles"]
    events = json.loads((tmp_path / "l.json").read_text())["traceEvents"]
    assert {"TMA_TENSOR (tag 1)", "WGMMA (tag 1), thread 1", "wait: MB_WAIT", "thread 2"} <= {
        event.get("args", {}).get("name", event["name"]) for event in events
    }
    again.write_text("TRACE 1\nPROGRAM p\nMB_WAIT 0\nCTA p")
    assert main(["run", str(again)]) == 3
    assert "deadlock at cycle 0" in capsys.readouterr().err
    for line, words in ((f"run {path} --seq 5", "it excludes --seq"), (f"run {tmp_path}/none", "cannot read"),
                        (f"run {path} --set tile.kv_rows=5", "--set"), ("disassemble", "or a trace")):  # fmt: skip
        assert main(line.split()) == 2
        assert words in capsys.readouterr().err
