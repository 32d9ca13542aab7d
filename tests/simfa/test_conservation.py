"""Bytes: what the TMA engines request is Eq. (2), what reaches DRAM is Eq. (3), line by line on the whole GPU."""

from typing import Any

import numpy as np
import pytest

from analytical import equations as eq
from analytical import simfa_python
from presets.experiment import Experiment
from presets.record import Result
from simfa import launch, simulate, tiles
from simfa.engine.machine import Machine
from simfa.memory import hashing
from tests.simfa.experiments import SMALL, experiment
from tests.simfa.harness import drive, leaks

PAPER = [(llm, length) for llm in ("llama3-8b", "llama3-70b", "llama3.1-405b")
         for length in (512, 1024, 2048, 4096, 6144)]  # fmt: skip
QUICK = [*PAPER[:3], *PAPER[5:7], *PAPER[10:12]]


def symbols(case: Experiment) -> dict[str, Any]:
    """The paper's symbols of an experiment."""
    problem = simfa_python.Problem.of(case)
    return {name: getattr(problem, name) for name in ("P", "B", "H_KV", "G", "D", "L", "S")}


def total_bytes(result: Result) -> int:
    """DRAM reads, DRAM writes, and dirty lines that a later eviction would write."""
    assert result.dram_bytes is not None
    return int(result.dram_bytes + result.extra["dirty_bytes_left"])


def check_paper_point(llm: str, length: int) -> None:
    case = experiment(f"--llm {llm} --seq {length}")
    result = simulate.run(case).result
    assert result.l2_bytes == eq.eq2_l2_bytes(**symbols(case), T_M=128)
    assert result.extra["line_requests"] * 128 == result.l2_bytes
    assert total_bytes(result) == eq.eq3_dram_ideal_bytes(**symbols(case))
    written = 2 * case.heads_q * length * 128
    assert result.dram_write_bytes + result.extra["dirty_bytes_left"] == written
    assert result.flops == eq.eq1_flops(**{k: v for k, v in symbols(case).items() if k != "P"})


@pytest.mark.parametrize(("llm", "length"), QUICK)
def test_the_papers_configurations(llm: str, length: int) -> None:
    check_paper_point(llm, length)


@pytest.mark.slow
@pytest.mark.parametrize(("llm", "length"), [point for point in PAPER if point not in QUICK])
def test_the_papers_longer_configurations(llm: str, length: int) -> None:
    check_paper_point(llm, length)


SHAPES = {
    "no multiple of a tile": "--seq 1000",
    "one row more than a tile": "--seq 129 --seq-kv 177",
    "shorter than a tile": "--seq 5 --seq-kv 7",
    "queries fewer than keys": "--seq 256 --seq-kv 1500",
    "queries more than keys": "--seq 1500 --seq-kv 256",
    "causal": "--seq 1000 --causal",
    "causal, chunk of a prompt": "--seq 300 --seq-kv 1500 --causal",
    "causal, rows that see nothing": "--seq 1500 --seq-kv 256 --causal",
    "batch": "--seq 600 --batch 2",
    "batch, causal": "--seq 600 --batch 3 --causal",
    "FP8": "--seq 1000 --dtype fp8",
    "BF16": "--seq 1000 --dtype bf16",
    "FP32": "--seq 1000 --dtype fp32 --set tile.kv_rows=80",
    "decode": "--seq 1 --seq-kv 4096",
    "decode, batch": "--seq 1 --seq-kv 999 --batch 4 --causal",
    "odd number of query tiles": "--seq 384",
    "one SM": "--seq 256 --set sm.count=1",
    "an odd number of SMs": "--seq 512 --set sm.count=3",
    "first tile first": "--seq 1000 --set pipeline.kv_order=first_to_last",
    "one stage each": "--seq 1000 --set pipeline.k_stages=1 --set pipeline.v_stages=1",
    "two CTAs on an SM": "--seq 1000 --set pipeline.occupancy_ctas=2 --set tile.kv_rows=64",
    "three consumers": "--seq 1000 --set pipeline.consumer_warpgroups=3 --set tile.query_rows=192 "
    "--set tile.kv_rows=64",
    "modulo": "--seq 1000 --set l2_timing.slice_hash=modulo",
    "no coalescer": "--seq 1000 --set coalescer.sms=1",
    "three lines in flight": "--seq 300 --set tma.inflight_lines=3",
}


@pytest.mark.parametrize("options", SHAPES.values(), ids=SHAPES)
def test_bytes_of_other_shapes_equal_the_closed_form(options: str) -> None:
    check_shape(experiment(f"{SMALL} {options}"))


@pytest.mark.parametrize("head_dim", [32, 64, 80, 96, 256])
@pytest.mark.parametrize("causal", ["", "--causal"])
def test_bytes_of_other_head_dimensions(head_dim: int, causal: str) -> None:
    options = f"--heads-q 4 --heads-kv 2 --head-dim {head_dim} --seq 512 --set sm.count=4 --set tile.kv_rows=64"
    check_shape(experiment(f"{options} {causal}"))


def test_tensor_parallel_simulates_one_gpus_share() -> None:
    shared = experiment("--llm llama3.1-405b --seq 512 --tensor-parallel 8")
    check_shape(shared)
    alone = experiment("--heads-q 16 --heads-kv 1 --head-dim 128 --seq 512")
    assert simulate.run(shared).result.extra["cycles"] == simulate.run(alone).result.extra["cycles"]


def check_shape(case: Experiment) -> None:
    """TMA bytes, FLOPs and DRAM lines of one small experiment whose tensors fit the L2."""
    result, peer = simulate.run(case).result, simfa_python.run(case)
    assert result.l2_bytes == peer.l2_bytes
    assert result.flops == peer.flops
    assert total_bytes(result) == touched_bytes(case)
    assert result.dram_write_bytes == 0
    if not case.workload.causal:
        assert result.l2_bytes == eq.eq2_l2_bytes(**symbols(case), T_M=case.kernel.tile.query_rows)


def touched_bytes(case: Experiment) -> int:
    """Lines of Q, O, and of the K and V rows that any query tile reads, once each."""
    work, row = case.workload, case.llm.head_dim * case.precision_bytes
    seen = min(int(tiles.kv_tiles(case).max()) * case.kernel.tile.kv_rows, work.seq_kv)
    assert seen == work.seq_kv  # the last query row sees every key
    sizes = [work.batch * length * heads * row for length, heads in
             ((work.seq_q, case.heads_q), (work.seq_kv, case.heads_kv))]  # fmt: skip
    return sum(2 * -(-size // 128) * 128 for size in sizes)


def built(options: str) -> Machine:
    """A finished machine of one experiment."""
    machine = launch.build(experiment(options), 0, 0)
    drive(machine)
    return machine


def test_the_real_kernel_loads_the_slices_evenly() -> None:
    accesses = built("--llm llama3-8b --seq 1024").memory.cache.slices["accesses"]
    assert accesses.max() < 1.1 * accesses.mean()


def test_one_k_tile_falls_on_all_slices_by_the_xor_hash_and_on_ten_by_modulo() -> None:
    # 176 rows of two lines, 2048 bytes (16 lines) apart: 16 k mod 80 has five values.
    lines = (np.arange(176)[:, None] * 16 + np.arange(2)).ravel()
    xor, modulo = (np.bincount(slice_and_set(lines, name)[0], minlength=80) for name in ("xor", "modulo"))
    assert (xor > 0).all()
    assert xor.max() <= 2 * xor.mean()
    assert ((modulo > 0).sum(), modulo.max()) == (10, 36)


def test_modulo_costs_cycles_on_the_real_kernel() -> None:
    xor, modulo = (
        simulate.run(experiment(f"--llm llama3.1-405b --seq 1024 --set l2_timing.slice_hash={name}")).result
        for name in ("xor", "modulo")
    )
    assert modulo.extra["cycles"] > 1.1 * xor.extra["cycles"]
    assert modulo.l2_bytes == xor.l2_bytes


@pytest.mark.parametrize(("stride", "slices_used"), [(1, 80), (2, 80), (16, 80), (32, 80), (64, 40), (128, 20)])
def test_strides_fall_evenly_on_the_slices_they_reach_and_on_all_their_sets(stride: int, slices_used: int) -> None:
    # The paper's hash leaves a stride of 64 lines (8 KiB) and more on part of the slices: (64 k ^ 2 k) is even.
    lines = np.arange(slices_used * 320 * 8) * stride
    slices, sets = slice_and_set(lines, "xor")
    per_slice = np.bincount(slices, minlength=80)
    assert (per_slice > 0).sum() == slices_used
    assert per_slice.max() < 1.15 * len(lines) / slices_used
    per_set = np.bincount(slices * 320 + sets, minlength=80 * 320)
    # Eight lines a set on average. Of 25,600 sets filled at random the fullest has about 21 (Poisson: 26 or more
    # in any set is a matter of 3 in 100).
    assert per_set.max() <= 25


def slice_and_set(lines: np.ndarray, slice_hash: str) -> tuple[np.ndarray, np.ndarray]:
    """Slice and set of every line on the H800 preset, by the functions themselves on whole arrays."""
    fold = getattr(hashing.fold, "py_func", hashing.fold)
    set_of = getattr(hashing.set_of, "py_func", hashing.set_of)
    folded = fold(lines, hashing.SLICE_HASHES.index(slice_hash))
    return folded % 80, set_of(folded, 80, 320)


def test_no_line_is_cached_twice_and_each_is_where_the_hash_puts_it() -> None:
    machine = built("--llm llama3-70b --seq 512")
    cache = machine.memory.cache
    rows, ways = np.nonzero(cache.tags)
    lines = cache.tags[rows, ways].astype(np.int64) - 1
    assert len(np.unique(lines)) == len(lines) == 18_874_368 // 128
    slices, sets = slice_and_set(lines, "xor")
    assert (rows == slices * 320 + sets).all()


@pytest.mark.parametrize("options", [
    "--llm llama3-8b --seq 512",
    f"{SMALL} --seq 700 --causal",
    f"{SMALL} --seq 700 --set l2.bytes=320KiB --set l2_timing.mshr_entries=2",
])  # fmt: skip
def test_nothing_leaks_and_every_request_is_accounted_for(options: str) -> None:
    machine = built(options)
    assert leaks(machine) == []
    engines, memory = machine.engines.engines, machine.memory
    served = memory.cache.slices
    requests = int(engines["load_lines"].sum() + engines["store_lines"].sum())
    assert requests == int(served["accesses"].sum() + memory.totals[0]["coalesced"])
    assert int(served["accesses"].sum()) == int((served["hits"] + served["merges"] + served["misses"]).sum())
    ends = machine.grid.ctas["end_cycle"]
    assert ends.max() == machine.queue.header[0]["now"]
    assert (ends > machine.grid.ctas["start_cycle"]).all()


def test_a_small_l2_moves_more_bytes_but_writes_every_output_line_at_least_once() -> None:
    case = experiment(f"{SMALL} --seq 1500 --set l2.bytes=320KiB --set l2.effective_bytes=160KiB")
    result = simulate.run(case).result
    assert result.l2_bytes == eq.eq2_l2_bytes(**symbols(case), T_M=128)
    assert total_bytes(result) > 1.5 * eq.eq3_dram_ideal_bytes(**symbols(case))
    assert result.dram_write_bytes + result.extra["dirty_bytes_left"] == 2 * 4 * 1500 * 128
    assert result.regime == "realistic"
    assert result.extra["dirty_bytes_left"] <= 320 * 1024
