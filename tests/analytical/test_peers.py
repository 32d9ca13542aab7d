"""The two peers against their own tools' published output, row by row."""

import pytest

from analytical import equations as eq
from analytical import genz, llm_viewer
from presets import loader
from presets.measured_points import rows
from presets.specs import GpuSpec
from tests.presets.test_experiment import experiment

GENZ = rows("genz_reference")
VIEWER = [row for row in rows("llmviewer_reference") if row["use_flashattention"] == "True"]


def whole(row: dict[str, str], *keys: str) -> list[int]:
    return [int(float(row[key])) for key in keys]


def name(row: dict[str, str]) -> str:
    return "-".join(row[key] for key in ("model", "hardware", "L", "S") if key in row)


def genz_row(row: dict[str, str]) -> genz.GenzEstimate:
    B, H_Q, H_KV, L, S, D, bits = whole(row, "batch", "H_q", "H_kv", "L", "S", "D", "bits")
    peak, bandwidth = float(row["tflops"]) * 1e12, float(row["bw_bytes_per_s"])
    return genz.estimate(B, H_KV, H_Q // H_KV, L, S, D, bits // 8, peak, bandwidth)


def test_the_references_are_whole() -> None:
    assert len(GENZ) == 60  # three models, ten lengths, two GPUs
    assert len(VIEWER) == 120  # prefill and decode


@pytest.mark.parametrize("row", GENZ, ids=name)
def test_genz_flops_traffic_and_latency(row: dict[str, str]) -> None:
    answer = genz_row(row)
    assert [answer.flops] == whole(row, "flops")
    assert [answer.offchip_read_bytes + answer.offchip_write_bytes] == whole(row, "offchip_bytes_fused")
    assert [answer.offchip_write_bytes] == whole(row, "attend_output_O_bytes")
    assert answer.latency_s * 1e3 == pytest.approx(float(row["attention_latency_ms"]), rel=1e-12)
    assert answer.compute_s * 1e3 == pytest.approx(float(row["logit_compute_ms"]), rel=1e-12)
    assert answer.memory_s * 1e3 == pytest.approx(float(row["attend_memory_ms"]), rel=1e-12)


@pytest.mark.parametrize("row", GENZ, ids=name)
def test_genz_traffic_is_eq3(row: dict[str, str]) -> None:
    B, H_Q, H_KV, L, S, D, bits = whole(row, "batch", "H_q", "H_kv", "L", "S", "D", "bits")
    assert [eq.eq3_dram_ideal_bytes(bits // 8, B, D, H_KV, H_Q // H_KV, L, S)] == whole(row, "offchip_bytes_fused")


def test_genz_decode_moves_only_keys_and_values() -> None:
    # 2 x 2 B x 3 batches x 8 KV heads x 1000 x 128 = 12,288,000 B; Q, scores and O stay on chip
    answer = genz.estimate(B=3, H_KV=8, G=4, L=1, S=1000, D=128, P=2, peak_flop_per_s=1e15, dram_bytes_per_s=1e12)
    assert answer.offchip_read_bytes == 12_288_000
    assert answer.offchip_write_bytes == 0
    assert answer.flops == 4 * 3 * 32 * 1000 * 128
    # one operator: 6,144,000 B at 1 TB/s, and Q (24,576 B) and scores (192,000 B) at 18000 GiB/s
    assert answer.memory_s == pytest.approx(6.144e-6 + 216_576 / (18_000 * 2**30), rel=1e-12)


def test_genz_run_uses_the_presets_and_one_gpus_heads() -> None:
    gpu = loader.load(GpuSpec, "h800")
    result = genz.run(experiment("llama3-70b", tensor_parallel=4, causal=True))
    by_hand = genz.estimate(1, 2, 8, 4096, 4096, 128, 2, gpu.peak_flop_per_s("fp16"), 3.35e12)
    assert (result.latency_s, result.flops, result.regime) == (by_hand.latency_s, by_hand.flops, "ideal")
    assert (result.dram_read_bytes, result.dram_write_bytes) == (by_hand.offchip_read_bytes, 16 * 4096 * 128 * 2)
    assert result.l2_bytes is None


@pytest.mark.parametrize("row", VIEWER, ids=name)
def test_llm_viewer_counts_and_time(row: dict[str, str]) -> None:
    gpu = loader.load(GpuSpec, row["hardware"].lower())
    B, H, L, S, D, bits = whole(row, "batch", "H_q", "L", "S", "D", "bits")
    peak, bandwidth = gpu.peak_flop_per_s("fp16"), gpu.dram.bandwidth_bytes_per_s
    answer = llm_viewer.estimate(B, H, L, S, D, bits // 8, peak, bandwidth)
    assert [answer.memory_access_bytes, answer.ops] == whole(row, "memory_access_bytes", "OPs")
    assert [answer.query_bytes, answer.output_bytes, answer.kv_bytes] == whole(
        row, "load_act", "store_act", "load_kv_cache"
    )
    assert row["bound"] == "memory"
    assert answer.latency_s * 1e3 == pytest.approx(float(row["inference_time_ms"]), rel=1e-12)


def test_llm_viewer_run_splits_reads_from_the_square_output() -> None:
    result = llm_viewer.run(experiment("llama3-8b", seq_q=512, seq_kv=512))
    # output: 2 B x 32 x 2 x 512^2; K and V, four times per query head: 2 B x 32 x 2 x 512 x 128 x 4;
    # Q: 2 B x 32 x 512 x 128
    assert result.dram_write_bytes == 33_554_432
    assert result.dram_read_bytes == 33_554_432 + 4_194_304
    assert result.flops == 2**32
    assert result.bottleneck == "memory"
