"""SimFA-python: two regimes, exact counts, named ceilings, and grids that agree with single points."""

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytical import equations as eq
from analytical import genz, roofline, simfa_python
from analytical.simfa_python import Problem, estimate
from presets.arguments import build
from presets.errors import PresetError
from presets.experiment import Experiment
from tests.presets.test_experiment import experiment

KERNELS = {"h800": "fa3", "gb10": "cutile-fa"}
RATES = roofline.Rates.of(experiment())


def at(llm: str, gpu: str, length: int, **workload: object) -> Experiment:
    return experiment(llm, gpu, KERNELS[gpu], seq_q=length, seq_kv=length, **workload)


def changed(base: Experiment, **settings: str) -> Experiment:
    dotted = {key.replace("__", "."): value for key, value in settings.items()}
    return build(base.llm, base.gpu, base.kernel, dotted, **base.workload.model_dump())


def test_llama3_8b_at_4096_on_h800_by_hand() -> None:
    result = simfa_python.run(at("llama3-8b", "h800", 4096))
    assert result.flops == 2**38  # Eq. (1): 4 x 32 x 4096^2 x 128
    assert result.l2_bytes == 33 * 2**26  # Eq. (2): 2 x 32 x 128 x (2 x 4096 + 32 x 2 x 4096)
    assert result.dram_bytes == 80 * 2**20  # Eq. (3): 2 x 128 x 4096 x (64 + 16)
    assert result.dram_write_bytes == 32 * 2**20  # O: 2 x 32 x 4096 x 128
    assert (result.regime, result.waves) == ("ideal", 1)
    assert result.extra["traffic_ratio"] == 26.4
    assert result.extra["intensity"] == 4096 / 33
    # 32 heads x 32 query tiles = 1024 CTAs on 132 SMs: 8 each; ceil(4096 / 176) = 24 tiles of 4 x 128 x 176 x 128
    # FLOP, at 4096 FLOP per cycle: 8 x 24 x 2816 cycles = 540,672 at 1830 MHz
    assert result.latency_s == pytest.approx(540_672 / 1830e6, rel=1e-12)
    assert result.bottleneck == "tensor_cores"
    assert result.tensor_core_utilization == pytest.approx(1024 / (8 * 132), rel=1e-12)  # wave quantisation


def test_405b_at_64k_moves_4_6_times_what_genz_says() -> None:
    case = at("llama3.1-405b", "h800", 65_536)
    ours, theirs = simfa_python.run(case), genz.run(case)
    assert (ours.regime, ours.waves) == ("realistic", 63)  # 16 x 512 blocks / 132 = 62.06
    # Q and O: 2 x 2 x 128 x 65536 x 128 = 2^32; K and V: 2 x 2 x 8 x 65536 x 128 = 2^28, 63 times
    assert ours.dram_bytes == 2**32 + 63 * 2**28
    assert theirs.dram_bytes == 2**32 + 2**28
    assert f"{ours.dram_bytes / theirs.dram_bytes:.1f}" == "4.6"


@pytest.mark.parametrize(
    ("gpu", "length", "effective", "regime"),
    [
        ("gb10", 49_151, "24MiB", "ideal"),
        ("gb10", 49_152, "24MiB", "realistic"),  # 4 x 49152 x 128 = 24 MiB: equality does not fit
        ("h800", 49_152, "25MiB", "ideal"),
        ("h800", 49_152, "25e6", "realistic"),
        ("h800", 51_199, "25MiB", "ideal"),
        ("h800", 51_200, "25MiB", "realistic"),  # 4 x 51200 x 128 = 25 MiB
    ],
)
def test_eq4_boundary(gpu: str, length: int, effective: str, regime: str) -> None:
    case = at("llama3.1-405b", gpu, length)
    assert simfa_python.run(changed(case, l2__effective_bytes=effective)).regime == regime
    if effective != "25e6":
        assert simfa_python.run(case).regime == regime, "the preset's own effective L2"


def test_the_regime_chooses_between_eq3_and_eq6() -> None:
    for length in (16_384, 65_536):
        result = simfa_python.run(at("llama3-70b", "gb10", length))
        chosen = "dram_ideal_bytes" if result.regime == "ideal" else "dram_real_bytes"
        assert result.dram_bytes == result.extra[chosen]


@pytest.mark.parametrize(("dtype", "size"), [("fp8", 1), ("fp16", 2), ("fp32", 4)])
def test_bytes_follow_the_precision(dtype: str, size: int) -> None:
    result = simfa_python.run(at("llama3-8b", "h800", 4096, dtype=dtype))
    assert result.l2_bytes == size * 33 * 2**25
    assert result.dram_bytes == size * 40 * 2**20


def test_causal_counts_whole_tiles_not_one_half() -> None:
    case = experiment(kernel="cutile-fa-64x64", causal=True)
    result = simfa_python.run(case)
    # 64 query tiles read 64 x (1 + ... + 64) = 133,120 rows; full attention reads 262,144
    assert result.flops == 4 * 32 * 64 * 133_120 * 128
    assert result.l2_bytes == 2 * 32 * 128 * (2 * 4096 + 2 * 133_120)


def test_tensor_parallel_is_the_shape_of_one_gpu() -> None:
    shared = simfa_python.run(at("llama3.1-405b", "h800", 4096, tensor_parallel=8))
    alone = simfa_python.estimate(
        replace(Problem.of(at("llama3.1-405b", "h800", 4096)), H_KV=1), roofline.Rates.of(experiment())
    )
    assert (shared.flops, shared.l2_bytes, shared.latency_s) == (alone.flops, alone.l2_bytes, alone.latency_s)


@pytest.mark.parametrize(
    ("ceiling", "case", "settings"),
    [
        ("tensor_cores", at("llama3-8b", "h800", 4096), {}),
        ("mufu", at("llama3-8b", "h800", 4096), {"alu.mufu_op_per_cycle": "4"}),
        ("mufu", at("llama3-8b", "h800", 4096), {"head_dim": "32"}),  # 4 x 32 / 4096 cycles against 1 / 16
        ("l2", at("llama3-8b", "h800", 4096), {"l2.slice_bytes_per_cycle": "16"}),
        ("dram", at("llama3-8b", "h800", 4096), {"dram.bandwidth_bytes_per_s": "100GB/s"}),
        ("launch", at("llama3-8b", "h800", 128), {"launch.floor_s": "50us"}),
        ("launch", at("llama3-8b", "h800", 16), {}),
    ],
)
def test_each_ceiling_can_be_the_bottleneck(ceiling: str, case: Experiment, settings: dict[str, str]) -> None:
    case = changed(case, **settings)
    result = simfa_python.run(case)
    times_us = result.extra["ceilings_us"]
    assert set(times_us) == set(roofline.CEILINGS)
    assert result.bottleneck == ceiling
    assert result.latency_s is not None
    assert result.latency_s * 1e6 == times_us[ceiling] == max(times_us.values())


def test_each_ceiling_by_hand() -> None:
    times_us = simfa_python.run(at("llama3-8b", "h800", 4096)).extra["ceilings_us"]
    assert times_us["mufu"] == pytest.approx(8 * 24 * 128 * 176 / 16 / 1830, rel=1e-12)
    assert times_us["l2"] == pytest.approx(33 * 2**26 / (80 * 64 * 1830), rel=1e-12)
    assert times_us["dram"] == pytest.approx(80 * 2**20 / 3.35e6, rel=1e-12)
    assert times_us["launch"] == pytest.approx(2.5, rel=1e-12)


size = st.integers(1, 70_000)
problems = st.builds(
    Problem,
    B=st.integers(1, 5),
    L=size,
    S=size,
    H_KV=st.integers(1, 9),
    G=st.integers(1, 16),
    D=st.integers(1, 256),
    P=st.sampled_from([1, 2, 4]),
    causal=st.booleans(),
    T_M=st.sampled_from([64, 100, 128, 192]),
    T_N=st.sampled_from([32, 80, 128, 176]),
    N_SM=st.sampled_from([1, 48, 132]),
    O_limit=st.integers(1, 3),
    size_L2_bytes=st.integers(1, 2**26),
)


@given(problems)
def test_bounds_that_always_hold(p: Problem) -> None:
    e = estimate(p, RATES)
    assert e.dram_real_bytes >= e.dram_ideal_bytes
    assert e.dram_bytes in (e.dram_ideal_bytes, e.dram_real_bytes)
    assert 0 < e.dram_write_bytes < e.dram_bytes
    assert e.latency_s == max(e.ceilings_s.values()) == e.ceilings_s[e.bottleneck]
    assert 0 < e.tensor_core_utilization <= 1 + 1e-12
    assert e.traffic_ratio == e.l2_bytes / e.dram_real_bytes
    if not p.causal:
        assert e.flops == eq.eq1_flops(p.B, p.H_KV, p.G, p.L, p.S, p.D)
        assert e.l2_bytes == eq.eq2_l2_bytes(p.P, p.B, p.H_KV, p.G, p.D, p.L, p.S, p.T_M)
        assert e.l2_bytes >= e.dram_real_bytes


@given(problems)
def test_a_mask_never_adds_work(p: Problem) -> None:
    masked, full = estimate(replace(p, causal=True), RATES), estimate(replace(p, causal=False), RATES)
    assert masked.flops <= full.flops
    assert masked.l2_bytes <= full.l2_bytes
    assert masked.latency_s <= full.latency_s * (1 + 1e-12)


@given(problems, st.integers(1, 5000))
def test_more_keys_never_cost_less(p: Problem, more: int) -> None:
    short, long = estimate(p, RATES), estimate(replace(p, S=p.S + more), RATES)
    for key in ("flops", "l2_bytes", "dram_bytes", "dram_real_bytes", "latency_s"):
        assert getattr(long, key) >= getattr(short, key)


@given(problems)
def test_genz_never_lies_above_the_ideal_regime(p: Problem) -> None:
    theirs = genz.estimate(p.B, p.H_KV, p.G, p.L, p.S, p.D, p.P, 1e15, 1e12)
    ideal = estimate(p, RATES).dram_ideal_bytes
    total = theirs.offchip_read_bytes + theirs.offchip_write_bytes
    assert total == ideal if p.L > 1 else total < ideal


ANSWERS = [f.name for f in fields(simfa_python.Estimate) if f.name != "ceilings_s"]


@given(
    st.lists(problems, min_size=1, max_size=6),
    st.sets(st.sampled_from([f.name for f in fields(Problem)])),
    st.sampled_from([np.int64, np.int32, np.uint32]),
)
def test_a_grid_agrees_with_its_points(points: list[Problem], scalar_fields: set[str], dtype: type) -> None:
    """Any mixture of scalars and arrays, whatever their integer type."""

    def column(name: str) -> object:
        values = [getattr(p, name) for p in points]
        return values[0] if name in scalar_fields else np.array(values, bool if name == "causal" else dtype)

    points = [replace(p, **{name: getattr(points[0], name) for name in scalar_fields}) for p in points]
    grid = estimate(Problem(**{f.name: column(f.name) for f in fields(Problem)}), RATES)
    for i, p in enumerate(points):
        alone = estimate(p, RATES)
        for name in ANSWERS:
            assert np.broadcast_to(getattr(grid, name), len(points))[i] == getattr(alone, name), name


def test_a_million_points_are_one_call() -> None:
    L = np.arange(1, 1_000_001)
    grid = simfa_python.sweep(at("llama3-8b", "h800", 4096), L=L)
    assert grid.latency_s.shape == grid.bottleneck.shape == (1_000_000,)
    assert np.all(np.diff(grid.dram_bytes) > 0)
    for length in (1, 4096, 51_200, 1_000_000):
        alone = simfa_python.run(at("llama3-8b", "h800", length))
        assert grid.l2_bytes[length - 1] == alone.l2_bytes
        assert grid.dram_bytes[length - 1] == alone.dram_bytes
        assert grid.latency_s[length - 1] == alone.latency_s


def test_lengths_swept_alone_are_prompts_unless_the_experiment_is_none() -> None:
    L = np.array([128, 512])
    assert simfa_python.sweep(experiment(), L=L).flops.tolist() == [4 * 32 * n * n * 128 for n in (128, 512)]
    decode = experiment(seq_q=1, seq_kv=8192)
    assert simfa_python.sweep(decode, L=L).flops.tolist() == [4 * 32 * n * 8192 * 128 for n in (128, 512)]


def test_a_grid_beyond_64_bits_is_refused_but_a_point_is_exact() -> None:
    huge = experiment("llama3.1-405b", seq_q=2**24, seq_kv=2**24, batch=65_536)
    assert simfa_python.run(huge).flops == 4 * 2**16 * 128 * 2**48 * 128
    with pytest.raises(PresetError, match="beyond exact 64-bit integers"):
        simfa_python.sweep(huge, L=np.array([128, 2**24]))
    assert simfa_python.sweep(huge, L=np.int32(2**24)).flops == simfa_python.run(huge).flops


@pytest.mark.parametrize("values", [[-5, 512], [0], [1.5, 2.0]])
def test_a_grid_of_impossible_lengths_is_refused(values: list[float]) -> None:
    with pytest.raises(PresetError, match="L: .*whole number above 0"):
        simfa_python.sweep(experiment(), L=np.array(values))


def test_an_empty_grid_is_an_empty_answer() -> None:
    assert simfa_python.sweep(experiment(), L=np.array([], dtype=int)).dram_bytes.shape == (0,)
