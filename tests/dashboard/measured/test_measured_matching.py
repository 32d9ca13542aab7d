"""From launches to workloads: attention by name, warm-up, medians, and inferences with their reasons."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.measured import Launch, gpus, read, tiles
from dashboard.measured.case import Case, Match, settings_of
from dashboard.measured.infer import propose
from dashboard.measured.matching import case, groups, is_attention, short_name, used
from presets.errors import NotModelled, PresetError
from simfa import coverage

DATA = Path(__file__).parent / "data"
GB10_FILE = "gb10_b1_h8_s4096_d128_float16_noncausal.csv"
PUBLIC = Path(__file__).resolve().parents[3].parent / "shared" / "ncu" / "files"

FA2 = (
    "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<(int)128, (int)128, (int)64, (int)4, (bool)0, "
    "(bool)0, cutlass::bfloat16_t, Flash_kernel_traits<(int)128, (int)128, (int)64, (int)4, cutlass::bfloat16_t>>, "
    "(bool)0, (bool)1, (bool)0, (bool)0, (bool)1, (bool)1, (bool)0, (bool)0>(pytorch_flash::Flash_fwd_params)"
)
FA3 = (
    "void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwd"
    "Sm90<(int)2, cute::tuple<cute::C<(int)2>, cute::C<(int)1>, cute::C<(int)1>>, cute::tuple<cute::C<(int)128>, "
    "cute::C<(int)176>, cute::C<(int)128>>, (int)128, cutlass::half_t, float, cutlass::arch::Sm90, (bool)0, "
    "(bool)0>"
)
EFFICIENT = "fmha_cutlassF_bf16_aligned_64x128_rf_sm80(PyTorchMemEffAttention::AttentionKernel<...>::Params)"
CUTILE = "flash_fwd_kernel_fp32acc_aligned"


@pytest.mark.parametrize(
    "name",
    [FA2, FA3, EFFICIENT, CUTILE, "cudnn_generated_fort_native_sdpa_sm90_knob_36", "_attn_fwd", "cuTileFmha"],
)
def test_attention_is_proposed_by_name(name: str) -> None:
    assert is_attention(name)


@pytest.mark.parametrize(
    "name",
    ["ampere_sgemm_128x64", "flash_bwd_dot_do_o_kernel", "flash_fwd_splitkv_combine_kernel", "rms_norm", "softmax"],
)
def test_other_kernels_and_helpers_are_not(name: str) -> None:
    assert not is_attention(name)


def launch(ns: float | None, **fields: object) -> Launch:
    base = Launch("f.csv", "flash_fwd", (8, 64, 1), (256, 1, 1), kind="Nsight Compute raw page")
    return replace(base, duration_ns=ns, **fields)  # type: ignore[arg-type]


def test_launches_of_one_shape_are_one_kernel_and_attention_comes_first() -> None:
    mixed = [replace(launch(9e9), kernel="gemm"), launch(1.0), replace(launch(2.0), grid=(8, 32, 1)), launch(3.0)]
    found = groups(mixed)
    assert [(group.kernel, len(group.launches)) for group in found] == [
        ("flash_fwd", 2),
        ("flash_fwd", 1),
        ("gemm", 1),
    ]
    assert len({group.id for group in found}) == 3


@pytest.mark.parametrize(("warm_up", "kept"), [(0, 4), (1, 3), (3, 1), (9, 1)])
def test_warm_up_is_left_out_but_one_launch_always_stays(warm_up: int, kept: int) -> None:
    (group,) = groups([launch(float(ns)) for ns in (50, 10, 30, 20)])
    assert len(used(group, warm_up)) == kept


def test_median_and_spread_are_over_the_launches_that_count() -> None:
    (group,) = groups([launch(float(ns)) for ns in (90_000, 10_000, 30_000, 20_000)])
    made = case(group)
    assert made.latency_us.value == 20.0 and made.launches == 3 and made.left_out == 1
    assert made.spread_pct == pytest.approx(100.0)  # (30 - 10) / 20


def test_a_value_missing_from_some_launches_is_the_median_of_the_others_and_never_zero() -> None:
    (group,) = groups([launch(1e3), launch(2e3, l2_bytes_sm_side=64.0), launch(3e3)])
    made = case(group)
    assert made.l2_bytes.value == 64.0 and made.dram_bytes.value is None
    assert made.dram_bytes.source.startswith("missing")


def test_the_sm_side_counter_is_preferred_and_the_other_says_what_it_is() -> None:
    (group,) = groups([launch(1e3, l2_bytes=96.0, l2_bytes_sm_side=64.0)])
    assert (case(group).l2_bytes.value, case(group).l2_bytes.kind) == (64.0, "counter")
    (group,) = groups([launch(1e3, l2_bytes=96.0)])
    assert (case(group).l2_bytes.value, case(group).l2_bytes.kind) == (96.0, "all units")


def test_dram_from_a_rate_and_estimates_are_labelled() -> None:
    (group,) = groups([launch(1e3, dram_bytes_from_rate=10.0)])
    assert case(group).dram_bytes.kind == "rate"
    (group,) = groups([launch(1e3, dram_bytes=10.0, provenance={"dram_bytes": "estimate for an integrated GPU"})])
    assert case(group).dram_bytes.kind == "estimate"


def test_a_summary_takes_its_own_median_and_bounds() -> None:
    (group,) = groups(read(DATA / "nsys_kernsum_grid.csv"))
    made = case(group)
    assert made.latency_us.value == pytest.approx(41.373) and made.launches == 165
    assert made.spread_pct == pytest.approx((80187 - 13280) / 41373 * 100)


def gb10() -> Case:
    return case(groups(read(DATA / GB10_FILE))[0])


def test_our_gb10_file_is_matched_from_name_grid_and_file_name() -> None:
    made = gb10()
    assert made.match == Match(
        gpu="gb10",
        kernel="cutile-fa-64x64",
        batch=1,
        heads_q=8,
        head_dim=128,
        seq_q=4096,
        mask="none",
        dtype="fp16",
    )
    assert made.left_out == 1 and made.latency_us.value == 1186.5
    assert "query length 4,096: 64 tiles of 64 rows, the name says aligned" in made.reasons
    assert "head dim 128: from the file name" in made.reasons


@pytest.mark.skipif(not PUBLIC.exists(), reason="the public exports are not beside the repository")
def test_the_public_gb10_file_lacks_only_the_head_dimension() -> None:
    made = case(groups(read(PUBLIC / "02_gb10_cutile_fa_noncausal_raw.csv"))[0])
    assert made.match.missing() == ["head dimension"]
    assert (made.match.heads_q, made.match.seq_q, made.match.mask) == (8, 4096, "none")
    with pytest.raises(PresetError, match="not known yet: head dimension"):
        made.experiment(measured_clock=True)


def test_flashattention_2_shows_tile_mask_dtype_and_with_even_tiles_its_length() -> None:
    match, reasons = propose(FA2, (32, 4, 16), "run.csv", "NVIDIA H800", "9.0")
    assert match == Match(
        gpu="h800",
        batch=4,
        heads_q=16,
        head_dim=128,
        seq_q=4096,
        mask="causal",
        dtype="bf16",
        settings=tiles.plain_settings(128, 64),
    )
    assert any("no preset is this kernel" in reason for reason in reasons)


def test_uneven_tiles_give_a_range_in_words_and_no_length() -> None:
    match, reasons = propose(FA2.replace("(bool)1, (bool)1", "(bool)0, (bool)1"), (32, 4, 16), "", "", "")
    assert match.seq_q is None
    assert any("3,969 to 4,096" in reason for reason in reasons)


def test_flashattention_3_shows_tile_cluster_and_mask_but_no_length() -> None:
    match, reasons = propose(FA3, (132, 1, 1), "run.csv", "NVIDIA H100 80GB HBM3", "9.0")
    assert (match.gpu, match.kernel, match.head_dim, match.mask, match.dtype) == (
        "h100-sxm",
        "fa3",
        128,
        "none",
        "fp16",
    )
    assert settings_of(match.settings)["pipeline.cluster_ctas"] == "2"
    assert match.missing() == ["query heads", "query length"]
    assert any("persistent" in reason for reason in reasons)


def test_memory_efficient_attention_shows_heads_and_batch() -> None:
    match, _ = propose(EFFICIENT, (16, 12, 2), "", "", "")
    assert (match.heads_q, match.batch, match.dtype, match.seq_q) == (12, 2, "bf16", None)


def test_split_kv_shows_neither_heads_nor_length() -> None:
    name = FA2.replace("flash_fwd_kernel", "flash_fwd_splitkv_kernel")
    match, reasons = propose(name, (1, 8, 10), "", "", "12.0")
    assert (match.head_dim, match.heads_q, match.batch, match.seq_q) == (128, None, None, None)
    assert any("split over K/V" in reason for reason in reasons)


@pytest.mark.parametrize(
    ("file", "found"),
    [
        ("ncu_b2_h32_s8192_d64_bf16_causal.csv", {"batch": 2, "heads_q": 32, "seq_q": 8192, "mask": "causal"}),
        ("fa_seq2048-heads16-noncausal.csv.gz", {"seq_q": 2048, "heads_q": 16, "mask": "none"}),
        ("b200_run.csv", {"batch": None}),
        ("h100_s4096.csv", {"heads_q": None, "seq_q": None}),  # one letter alone may mean anything
        ("l40_b0_h0.csv", {"batch": None, "heads_q": None}),
        ("s99999999_h8_d64.csv", {"seq_q": None, "heads_q": 8}),
    ],
)
def test_file_names(file: str, found: dict[str, object]) -> None:
    match, _ = propose("some_attention", None, file, "", "")
    assert {key: getattr(match, key) or None for key in found} == found


@pytest.mark.parametrize(
    ("device", "capability", "preset"),
    [
        ("NVIDIA GB10", "12.1", "gb10"),
        ("GB10 (DGX Spark)", "", "gb10"),
        ("NVIDIA H100 80GB HBM3", "9.0", "h100-sxm"),
        ("H100 80GB SXM5", "", "h100-sxm"),
        ("NVIDIA H800", "9.0", "h800"),
        ("NVIDIA H800 PCIe", "9.0", "h800-pcie"),
        ("", "12.1", "gb10"),
        ("NVIDIA H100 PCIe", "9.0", ""),
        ("NVIDIA H100 NVL", "9.0", ""),
        ("NVIDIA GH200 480GB", "9.0", ""),
        ("NVIDIA H100 80GB HBM3 MIG 1g.10gb", "9.0", ""),
        ("NVIDIA GB10", "9.0", ""),
        ("", "9.0", ""),
        ("", "", ""),
        ("B300", "", ""),
    ],
)
def test_gpu_presets(device: str, capability: str, preset: str) -> None:
    found, why = gpus.find(device, capability)
    assert found == preset and why


TEXT = st.text(max_size=60)


@given(TEXT, st.none() | st.tuples(*[st.integers(1, 2**31)] * 3), TEXT, TEXT, st.sampled_from(["", "9.0", "12.1"]))
def test_whatever_the_names_are_a_proposal_comes_back(kernel, grid, file, device, capability) -> None:  # type: ignore[no-untyped-def]
    match, reasons = propose(kernel, grid, file, device, capability)
    assert isinstance(match, Match) and all(isinstance(reason, str) for reason in reasons)
    assert short_name(kernel or "x")


@pytest.mark.parametrize("template", [FA2, CUTILE, EFFICIENT])
@given(grid=st.tuples(*[st.integers(1, 2**31 - 1)] * 3))
def test_a_grid_beyond_every_workload_is_said_and_not_a_crash(template: str, grid: tuple[int, int, int]) -> None:
    match, _ = propose(template, grid, "", "", "")
    assert match.seq_q is None or match.seq_q <= 2**24


def test_flashattention_2_on_hopper_is_not_simulated_as_flashattention_3() -> None:
    asked = Case(
        id="fa2",
        file="fa2.csv",
        kernel_name=FA2,
        title="FlashAttention-2",
        match=Match(gpu="h100-sxm", heads_q=16, head_dim=128, seq_q=2048, settings=tiles.plain_settings(128, 64)),
    ).experiment(measured_clock=False)
    with pytest.raises(NotModelled, match="not modelled on h100-sxm: fa3-fp16-d128 is built on mma.sync"):
        coverage.check(asked)
    assert any("mma.sync" in caution for caution in asked.cautions())
