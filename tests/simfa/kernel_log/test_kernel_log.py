"""Kernel logs: log to trace to simulation gives the built-in kernel's cycles; what is wrong with a log is said."""

import json
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from presets import loader
from presets.errors import PresetError
from presets.specs import GpuSpec
from simfa import simulate, trace_launch
from simfa.__main__ import main
from simfa.isa import NAME_OF, Program
from simfa.kernel_log import generate, translate
from simfa.kernel_log.format import ENTRY, EVENTS, HEADER, LogError, decode
from simfa.trace import text, writer
from simfa.trace.model import Trace
from tests.simfa.experiments import SMALL, experiment

ROOT = Path(__file__).parents[3]
H800 = loader.load(GpuSpec, "h800")
CASE = f"{SMALL} --seq 400"
GOOD = generate.generate(experiment(CASE))
SHAPE = (16, 12, 19)  # 4 heads x 4 query tiles; 3 warpgroups; 3 K/V tiles need 18 entries


def entries() -> np.ndarray:
    return np.frombuffer(GOOD, ENTRY, offset=HEADER.itemsize).reshape(SHAPE).copy()


def rewritten(changed: np.ndarray) -> bytes:
    return GOOD[: HEADER.itemsize] + changed.tobytes()


def translated(data: bytes) -> Trace:
    return translate.translate(decode(data, "f"), H800)


@pytest.mark.parametrize("options", ["--seq 400", "--seq 700 --causal --batch 2", "--seq 300 --seq-kv 1000",
                                     "--seq 256",
                                     "--seq 129 --seq-kv 177 --dtype fp8", "--seq 64 --set pipeline.k_stages=1",
                                     "--seq 500 --seq-kv 100 --causal",
                                     "--seq 400 --set pipeline.ping_pong=false --set pipeline.v_stages=3 "
                                     "--set tile.kv_rows=128"])  # fmt: skip
def test_log_to_trace_to_simulation_gives_the_built_in_kernels_cycles(options: str) -> None:
    case = experiment(f"{SMALL} {options}")
    trace = translated(generate.generate(case))
    trace = text.parse(writer.write(trace))
    record, _ = simulate.run_trace(trace, case.gpu)
    built_in = simulate.run(case).result
    assert record["cycles"] == built_in.extra["cycles"]
    assert [*record["stall_cycles"].values()] == [*built_in.extra["stall_cycles"].values()]
    assert record["l2_bytes"] == built_in.l2_bytes
    own = trace_launch.trace_of(case)
    assert (trace.maps, trace.launch, len(trace.ctas)) == (own.maps, own.launch, len(own.ctas))


def names(program: Program) -> list[str]:
    found: list[str] = []
    for row in program.rows:
        name = NAME_OF[row["opcode"]]
        if not (name == "WGMMA" and found and found[-1] == name):
            found.append(name)
    return found


def test_the_rules_of_section_5_2() -> None:
    trace = translated(generate.generate(experiment(f"{SMALL} --seq 128 --seq-kv 352")))
    producer, first, _ = (trace.programs[name] for name in trace.ctas[0].programs)
    assert names(producer) == ["ACQUIRE_STAGE", "TMA_TENSOR", "TMA_TENSOR"] + ["ACQUIRE_STAGE", "TMA_TENSOR"] * 3
    assert [row["gmem"][2] for row in producer.rows if "gmem" in row] == [176, 0, 0, 176, 0]  # K1 Q K0 V1 V0
    assert names(first) == [
        "MB_WAIT",  # Q
        "MB_WAIT", "BAR_ARRIVE", "WGMMA", "WGMMA_COMMIT", "WGMMA_WAIT", "RELEASE_STAGE", "BAR_WAIT", "BUBBLES",
        "MB_WAIT", "BAR_ARRIVE", "WGMMA", "WGMMA_COMMIT",  # Q K^T of tile 2
        "MB_WAIT", "WGMMA", "WGMMA_COMMIT",  # P V of tile 1
        "WGMMA_WAIT", "RELEASE_STAGE", "BAR_WAIT", "BUBBLES",  # WAIT_WG_1: K, then softmax
        "WGMMA_WAIT", "RELEASE_STAGE",  # WAIT_WG_0: V
        "MB_WAIT", "WGMMA", "WGMMA_COMMIT", "WGMMA_WAIT", "RELEASE_STAGE",
        "TMA_STORE", "TMA_COMMIT", "TMA_WAIT",
    ]  # fmt: skip
    assert [row["count"] for row in first.rows if NAME_OF[row["opcode"]] == "WGMMA_WAIT"] == [0, 1, 0, 0]
    assert sum(NAME_OF[row["opcode"]] == "WGMMA" for row in first.rows) == 2 * 8 + 2 * 11
    assert [row["cycles"] for row in first.rows if NAME_OF[row["opcode"]] == "BUBBLES"] == [988, 988]


def test_blocks_that_do_the_same_share_their_programs() -> None:
    assert sorted(translated(GOOD).programs) == ["consumer1_0", "consumer2_0", "producer_0"]


def test_an_entry_has_16_bytes_in_table_order() -> None:
    block, warp, entry = 2, 5, 1
    number = (block * SHAPE[1] + warp) * SHAPE[2] + entry
    raw = struct.unpack_from("<QHHHH", GOOD, 256 + 16 * number)
    assert raw[1:] == (EVENTS["GEMM_QK_ISSUE"], 0, 0, 0)


def edit(block: int, warp: Any, entry: Any, **changes: int) -> bytes:
    changed = entries()
    for key, value in changes.items():
        changed[key][block, warp, entry] = value
    return rewritten(changed)


def without(block: int, warps: list[int], entry: int) -> bytes:
    """Some warps lack an entry; those after it move up."""
    changed = entries()
    for warp in warps:
        changed[block, warp, entry:-1] = changed[block, warp, entry + 1 :]
    return rewritten(changed)


def swapped() -> bytes:
    changed = entries()
    changed[0, 4:8, [1, 2]] = changed[0, 4:8, [2, 1]]
    changed["timestamp"][0, 4:8] = np.arange(SHAPE[2])
    return rewritten(changed)


def big_endian() -> bytes:
    header = np.frombuffer(GOOD, HEADER, 1).copy()
    return header.byteswap().tobytes().replace(b"GOLAFMIS", b"SIMFALOG") + entries().byteswap().tobytes()


CONSUMER = [4, 5, 6, 7]
SILENT = {"event": 0, "timestamp": 0, "stage": 0, "payload": 0}
BAD = {
    "empty": (b"", "not a Sim-FA kernel log"),
    "foreign": (b"\x7fELF" + bytes(500), "not a Sim-FA kernel log: it begins with b'\\x7fELF"),
    "cut in the header": (GOOD[:100], "truncated: 100 bytes, the header alone has 256"),
    "cut in an entry": (GOOD[:-7], "truncated: 58,617 bytes, 58,624 expected for 16 blocks"),
    "cut by a warp": (GOOD[: -16 * 19], "truncated"),
    "longer": (GOOD + b"\0", "longer than its header says"),
    "big-endian": (big_endian(), "written on a big-endian machine"),
    "big-endian entries": (rewritten(entries().byteswap()), "in the other byte order it is TMA_"),
    "another version": (GOOD[:12] + b"\2" + GOOD[13:], "version is 2, this reader knows 1"),
    "other blocks": (GOOD[:24] + b"\3" + GOOD[25:], "4 query tiles, 4 heads and a batch of 1 make 16"),
    "unknown event": (edit(3, 4, 2, event=77), "block 3, warp 4, entry 2 (byte 12448): unknown event 77"),
    "padding": (edit(3, 4, 2, padding=1), "entry 2 (byte 12448): damaged"),
    "hole": (edit(3, 4, 2, **SILENT), "entry 3 (byte 12464): an event after an"),
    "backward in time": (edit(3, 4, 2, timestamp=1), "entry 2 (byte 12448): a timestamp before"),
    "one warp differs": (edit(3, 5, 2, payload=9), "block 3, warp 5, entry 2"),
    "one warp lost one": (without(3, [6], 17), "block 3, warp 6, entry 17"),
    "events swapped": (swapped(), "block 0, warp 4, entry 1"),
    "a wait lost": (without(2, CONSUMER, 0), "into stages [0, 1, 0], consumer 1 waits for 2 in stages [1, 0]"),
    "a GEMM lost": (without(2, CONSUMER, 1), "block 2, warp 4, entry 1"),
    "a group wait lost": (without(2, CONSUMER, 2), "block 2, warp 4, entry 3"),
    "the last wait lost": (without(2, CONSUMER, 17), "with a stage waited for or a GEMM in flight"),
    "a load lost": (without(2, [0], 2), "the producer loads 2 K tiles"),
    "Q lost": (without(2, [0], 1), "expected TMA_Q_ISSUE once, for query tile 2 and stage 0; got tiles []"),
    "blocks exchanged": (rewritten(entries()[::-1].copy()), "for query tile 0 and stage 0; got tiles [3]"),
    "no such tile": (edit(0, 0, 0, payload=3), "TMA_K_ISSUE of tile 3; there are 3"),
    "no such stage": (edit(0, 0, 0, stage=2), "stages [2, 1, 0]"),
    "a load by a consumer": (edit(0, slice(8, 12), 0, event=1), "waits for 2 in stages"),
    "silent producer": (edit(0, 0, slice(None), **SILENT), "no warp of the producer"),
}  # fmt: skip


@pytest.mark.parametrize(("data", "words"), BAD.values(), ids=BAD)
def test_a_bad_log_is_an_error_and_never_a_trace(data: bytes, words: str) -> None:
    with pytest.raises(LogError) as error:
        translated(data)
    assert str(error.value).startswith("f: ")
    assert words in str(error.value)


def test_a_buffer_that_overflowed_is_refused() -> None:
    short = generate.generate(experiment(CASE), entries_per_warp=10)
    with pytest.raises(LogError, match="block 0, warp 4: its buffer of 10 entries is full"):
        decode(short, "f")
    with pytest.raises(LogError, match="its buffer of 15 entries is full"):
        decode(generate.generate(experiment(CASE), entries_per_warp=15), "f")


def whole() -> dict[str, Any]:
    return simulate.run_trace(translated(GOOD), H800)[0]


@given(st.integers(0, len(GOOD) - 1), st.integers(1, 255))
@settings(max_examples=200, derandomize=True, deadline=None)
def test_a_flipped_byte_gives_an_error_or_changes_nothing_of_the_story(place: int, flip: int) -> None:
    data = bytearray(GOOD)
    data[place] ^= flip
    try:
        trace = translated(bytes(data))
    except PresetError:
        return
    in_entry = (place - HEADER.itemsize) % 16
    a_load = place >= HEADER.itemsize and in_entry in (12, 13)  # which tile a load fetches is the log's own say
    assert place < HEADER.itemsize or a_load or trace.programs == translated(GOOD).programs


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, trace = tmp_path / "fa3.log", tmp_path / "fa3.trace"
    assert main(f"log {CASE} -o {log}".split()) == 0
    assert main(f"translate {log} -o {trace}".split()) == 0
    assert main(f"run {trace} --set sm.count=4 --json --quiet".split()) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["cycles"] == simulate.run(experiment(CASE)).result.extra["cycles"]
    log.write_bytes(GOOD[:300])
    assert main(f"translate {log} -o {tmp_path / 'other.trace'}".split()) == 2
    assert "truncated" in capsys.readouterr().err
    assert not (tmp_path / "other.trace").exists()


CHECK = """
#include <cstddef>
#include "simfa_log.cuh"
{asserts}
__global__ void kernel(simfa_log::Log log, int tile) {{
    simfa_log::Recorder record(log, blockIdx.x);
    record(simfa_log::TMA_Q_ISSUE, 0, tile);
    record(simfa_log::WAIT_WG_0, 1, tile);
}}
int main() {{
    simfa_log::Log log = simfa_log::allocate(1, 12, 64);
    kernel<<<1, 384>>>(log, 0);
    return simfa_log::write("x.log", simfa_log::Header{{}}, log) ? 0 : 1;
}}
"""


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not on PATH")
def test_the_header_file_compiles_for_sm_90a_and_lays_out_what_the_reader_reads(tmp_path: Path) -> None:
    names = HEADER.fields or {}
    asserts = [f'static_assert(offsetof(simfa_log::Header, {name}) == {names[name][1]}, "");' for name in names]
    fields = ENTRY.fields or {}
    asserts += [f'static_assert(offsetof(simfa_log::Entry, {name}) == {fields[name][1]}, "");' for name in fields]
    asserts += [f'static_assert(simfa_log::{name} == {number}, "");' for name, number in EVENTS.items()]
    source = tmp_path / "check.cu"
    source.write_text(CHECK.format(asserts="\n".join(asserts)))
    include = ROOT / "simfa" / "kernel_log"
    done = subprocess.run(
        ["nvcc", "-arch=sm_90a", "-std=c++17", "-I", str(include), "-c", str(source), "-o", str(tmp_path / "c.o")],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
