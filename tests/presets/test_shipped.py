"""The shipped presets: every value labelled and sourced, and the paper's tables as they are printed."""

import csv

import pytest

from presets import loader
from presets.measured_points import FOLDER, rows
from presets.quantity import FILE_LABELS
from presets.specs import GpuSpec, KernelSpec, LlmSpec, Spec

KINDS: tuple[type[Spec], ...] = (GpuSpec, LlmSpec, KernelSpec)
ALL = [(kind, name) for kind in KINDS for name in loader.names(kind)]


def test_the_catalogue() -> None:
    assert loader.names(GpuSpec) == ["gb10", "h100-sxm", "h800", "h800-pcie"]
    assert loader.names(LlmSpec) == ["llama3-70b", "llama3-8b", "llama3.1-405b"]
    assert loader.names(KernelSpec) == ["cutile-fa", "cutile-fa-64x64", "fa3", "fa3-2024-07"]


@pytest.mark.parametrize(("kind", "name"), ALL, ids=[name for _, name in ALL])
def test_every_value_has_a_label_and_a_source(kind: type[Spec], name: str) -> None:
    spec = loader.load(kind, name)
    assert spec.name == name
    assert set(spec.provenance) == set(loader.flatten(spec))
    for where in spec.provenance.values():
        assert where.label in FILE_LABELS
        assert len(where.source) > 10


def test_no_key_belongs_to_two_kinds() -> None:
    keys = [key for kind in KINDS for key in loader.leaf_keys(kind)]
    assert len(keys) == len(set(keys))


def test_table_2_h800() -> None:
    gpu = loader.load(GpuSpec, "h800")
    assert (gpu.sm.count, gpu.sm.clock_hz) == (132, 1830e6)
    assert (gpu.l2.bytes, gpu.l2.effective_bytes, gpu.l2.slices) == (50 * 2**20, 25 * 2**20, 80)
    assert round(gpu.peak_flop_per_s("fp16") / 1e12) == 989  # 132 x 4096 x 1.83e9 = 9.894e14
    assert gpu.tensor.issue_buffer_entries == 16
    assert gpu.tma is not None
    assert (gpu.tma.lines_per_cycle, gpu.tma.inflight_lines) == (2, 64)
    assert (gpu.tma.launch_latency_cycles, gpu.tma.tensor_map_setup_cycles) == (40, 130)  # section 4.3
    timing = gpu.l2_timing
    assert timing is not None
    assert (timing.near_latency_cycles, timing.far_latency_cycles) == (258, 414)
    assert (timing.response_queue_entries, timing.request_queue_entries) == (128, 32)
    assert (timing.mshr_entries, timing.partitions, timing.slice_hash) == (256, 2, "xor")
    assert (gpu.dram.standard, gpu.dram.channels) == ("HBM3-5200", 80)
    assert (gpu.alu.fp32_op_per_cycle, gpu.alu.fp16_op_per_cycle, gpu.alu.mufu_op_per_cycle) == (128, 256, 16)
    assert gpu.coalescer is not None
    assert gpu.coalescer.sms == 2  # one unit for every pair of SMs: 66 TPCs


def test_the_other_gpus() -> None:
    gb10, h100, pcie = (loader.load(GpuSpec, name) for name in ("gb10", "h100-sxm", "h800-pcie"))
    assert (gb10.sm.count, gb10.l2.bytes, gb10.l2.effective_bytes) == (48, 24 * 2**20, 24 * 2**20)
    assert (gb10.tensor.instruction, gb10.default_kernel, gb10.dram.aperture) == ("mma.sync", "cutile-fa", "sysmem")
    assert (h100.sm.count, h100.tensor.instruction, h100.default_kernel) == (132, "wgmma", "fa3")
    assert (pcie.sm.count, pcie.sm.clock_hz, pcie.dram.bandwidth_bytes_per_s) == (114, 1755e6, 2.039e12)


@pytest.mark.parametrize("name", loader.names(GpuSpec))
def test_a_gpu_agrees_with_itself(name: str) -> None:
    gpu = loader.load(GpuSpec, name)
    channels = gpu.dram.channels * gpu.dram.channel_bandwidth_bytes_per_s
    assert channels == pytest.approx(gpu.dram.bandwidth_bytes_per_s, rel=0.01)
    assert gpu.sm.cta_shared_memory_bytes < gpu.sm.shared_memory_bytes
    assert gpu.tensor_flop_per_cycle("fp8") == 2 * gpu.tensor_flop_per_cycle("bf16")
    assert loader.load(KernelSpec, gpu.default_kernel).instruction == gpu.tensor.instruction


@pytest.mark.parametrize(
    ("name", "hidden_size", "heads_q", "heads_kv", "group", "head_dim", "layers"),
    [
        ("llama3-8b", 4096, 32, 8, 4, 128, 32),
        ("llama3-70b", 8192, 64, 8, 8, 128, 80),
        ("llama3.1-405b", 16384, 128, 8, 16, 128, 126),
    ],
)
def test_table_6(
    name: str, hidden_size: int, heads_q: int, heads_kv: int, group: int, head_dim: int, layers: int
) -> None:
    llm = loader.load(LlmSpec, name)
    assert (llm.hidden_size, llm.heads_q, llm.heads_kv) == (hidden_size, heads_q, heads_kv)
    assert (llm.heads_q // llm.heads_kv, llm.head_dim, llm.layers) == (group, head_dim, layers)
    assert heads_q * head_dim == hidden_size


@pytest.mark.parametrize(
    ("name", "query_rows", "kv_rows", "consumers"),
    [("fa3", 128, 176, 2), ("cutile-fa", 64, 32, 1), ("cutile-fa-64x64", 64, 64, 1)],
)
def test_kernel_tiles(name: str, query_rows: int, kv_rows: int, consumers: int) -> None:
    kernel = loader.load(KernelSpec, name)
    assert (kernel.tile.query_rows, kernel.tile.kv_rows) == (query_rows, kv_rows)
    assert kernel.pipeline.consumer_warpgroups == consumers
    stages = 1 if name == "cutile-fa-64x64" else 2  # its shared memory holds one tile each of Q, K and V
    assert (kernel.pipeline.k_stages, kernel.pipeline.v_stages) == (stages, stages)
    assert kernel.pipeline.occupancy_ctas == 1


def test_fa3_fills_one_sm() -> None:
    # 2 B x 128 x (128 + 4 x 176) rows = 256 x 832 = 212,992 B: the 213 KB of the official kernel
    need = loader.load(KernelSpec, "fa3").shared_memory_bytes(head_dim=128, precision_bytes=2)
    sm = loader.load(GpuSpec, "h800").sm
    assert need == 212_992
    assert need <= sm.cta_shared_memory_bytes
    assert 2 * need > sm.shared_memory_bytes


def test_what_the_launch_order_form_needs() -> None:
    assert loader.load(GpuSpec, "h800").l2_ways() == 16  # of l2_timing
    assert loader.load(GpuSpec, "gb10").l2_ways() == 16  # of l2 alone
    assert loader.load(KernelSpec, "cutile-fa-64x64").pipeline.grid_order == "head_fastest"
    assert loader.load(KernelSpec, "fa3").pipeline.grid_order is None  # block_fastest
    # FP32 accumulators of 128 rows: 128 x (128 of O + 176 of S)
    assert loader.load(KernelSpec, "fa3").accumulator_registers(128) == 38_912


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.csv")), ids=lambda file: file.stem)
def test_every_measured_row_says_where_it_comes_from(file) -> None:  # type: ignore[no-untyped-def]
    with file.open(encoding="utf-8", newline="") as text:
        header = next(csv.reader(text))
    table = rows(file.stem)
    assert len(table) > 0
    for row in table:
        assert list(row) == header
        assert row.get("source") or (row["tool"] and (row.get("version") or row.get("commit")))
