"""The official FlashAttention-3 kernel with calibrated parameters: tiles, bytes, and that every case runs."""

import itertools

import numpy as np
import pytest

from presets import loader, params
from presets.errors import PresetError
from presets.specs import GpuSpec
from simfa import launch, simulate, tiles
from simfa.engine import loop, opcodes
from tests.simfa.experiments import experiment
from tests.simfa.harness import leaks

SHAPE = "--gpu h100-sxm --heads-q 4 --heads-kv 2 --params calibrated"


def options(head_dim: int, seq: int, seq_kv: int, causal: bool, dtype: str = "fp16") -> str:
    mask = " --causal" if causal else ""
    return f"{SHAPE} --head-dim {head_dim} --seq {seq} --seq-kv {seq_kv} --dtype {dtype}{mask}"


@pytest.mark.parametrize(("seq", "seq_kv"), [(512, 512), (300, 700), (700, 300), (1, 129), (128, 1)])
@pytest.mark.parametrize("head_dim", [64, 128, 256])
def test_tiles_and_masks_are_those_of_the_mask_itself(seq: int, seq_kv: int, head_dim: int) -> None:
    todo = experiment(options(head_dim, seq, seq_kv, causal=True))
    rows, columns = np.arange(seq).repeat(tiles.packed_heads(todo))[:, None], np.arange(seq_kv)[None, :]
    visible = columns <= rows + seq_kv - seq
    block = todo.kernel.tile
    for number, (read, masked, turns) in enumerate(
        zip(tiles.kv_tiles(todo), tiles.masked_tiles(todo), tiles.turns(todo), strict=True)
    ):
        part = visible[number * block.query_rows : (number + 1) * block.query_rows]
        steps = [part[:, first : first + block.kv_rows] for first in range(0, seq_kv, block.kv_rows)]
        assert read == sum(step.any() for step in steps)
        partial = [step.any() and not (step.all() and step.shape[1] == block.kv_rows) for step in steps]
        assert masked == sum(partial)  # the kernel masks a block that K/V do not fill, too
        assert turns.sum() == max(read - 1, 0)


def test_the_heaviest_tiles_of_a_section_go_first() -> None:
    todo = experiment(options(128, 1024, 1024, causal=True) + " --set pipeline.section_bytes=524288 --batch 2")
    batch, head, tile = tiles.heaviest_first(todo)  # K and V of one KV head: its two query heads are a section
    assert sorted(zip(batch, head, tile, strict=True)) == list(itertools.product(range(2), range(4), range(8)))
    assert tile[:16].tolist() == [n for n in reversed(range(8)) for _ in range(2)]
    assert set(head[:16]) == {0, 1} and set(batch[:16]) == {0}


@pytest.mark.parametrize("dtype", ["fp16", "fp8"])
@pytest.mark.parametrize(("head_dim", "causal"), [*itertools.product((64, 128, 256), (False, True))])
@pytest.mark.parametrize(("seq", "seq_kv"), [(512, 512), (333, 1000), (1000, 333), (1, 700)])
def test_every_case_runs_to_its_end_and_moves_the_tiles_bytes(
    head_dim: int, causal: bool, dtype: str, seq: int, seq_kv: int
) -> None:
    todo = experiment(options(head_dim, seq, seq_kv, causal, dtype))
    machine = launch.build(todo, 0, -1)
    loop.begin(machine)
    simulate._finish(machine, None, None, None, simulate.CHUNK_EVENTS)
    assert leaks(machine) == []
    row_bytes = head_dim * todo.precision_bytes
    read = np.minimum(tiles.kv_tiles(todo) * todo.kernel.tile.kv_rows, seq_kv)
    with_steps = read > 0
    packed, tile_rows = tiles.packed_heads(todo), todo.kernel.tile.query_rows
    queries = np.minimum(tile_rows, seq * packed - np.arange(len(read)) * tile_rows)
    expected = 4 // packed * row_bytes * int((2 * read).sum() + (queries * with_steps).sum() + queries.sum())
    delivered = int(machine.engines.engines["delivered_bytes"].sum())
    stored = 4 * row_bytes * seq
    assert delivered + stored == expected


@pytest.mark.parametrize(
    ("seq", "head_dim", "heads", "packs"),
    [
        (1, 128, "--heads-q 64 --heads-kv 8", True),  # 1 of 128 rows against 8
        (256, 64, "--heads-q 64 --heads-kv 8", True),  # 256 of 384 rows, packed 2,048 of 2,112
        (512, 64, "--heads-q 64 --heads-kv 8", False),  # 0.889 against 0.9 x 0.970
        (1024, 128, "--heads-q 64 --heads-kv 8", False),
        (1, 128, "--heads-q 8 --heads-kv 8", False),
        (1, 128, "--heads-q 40 --heads-kv 8", False),  # five heads do not divide a warpgroup's 64 rows
    ],
)
def test_query_heads_are_packed_where_the_official_rule_says(
    seq: int, head_dim: int, heads: str, packs: bool
) -> None:
    todo = experiment(f"--gpu h100-sxm {heads} --head-dim {head_dim} --seq {seq} --params calibrated")
    group = todo.heads_q // todo.heads_kv
    assert tiles.packed_heads(todo) == (group if packs else 1)
    assert tiles.packed_heads(todo) * tiles.tile_heads(todo) == todo.heads_q


def test_packing_reads_k_and_v_once_for_a_group_and_moves_the_same_rows() -> None:
    text = "--gpu h100-sxm --heads-q 8 --heads-kv 2 --head-dim 128 --seq 16 --seq-kv 1024 --params calibrated"
    packed = simulate.run(experiment(text)).result
    apart = simulate.run(experiment(text + " --set pipeline.pack_gqa_below=0")).result
    rows, kv = 8 * 16 * 256, 2 * 1024 * 256
    assert (packed.l2_bytes, apart.l2_bytes) == (2 * rows + 2 * kv, 2 * rows + 8 * kv)
    assert packed.flops == apart.flops


def test_multicast_requests_each_half_once() -> None:
    base = options(128, 1024, 1024, causal=False)
    shared = simulate.run(experiment(base)).result
    whole = simulate.run(experiment(base + " --set pipeline.multicast=false")).result
    tensor_bytes = 4 * 1024 * 128 * 2
    assert whole.l2_bytes == 2 * tensor_bytes + 4 * 8 * 2 * 1024 * 128 * 2
    assert shared.l2_bytes == 2 * tensor_bytes + 4 * 8 * 1024 * 128 * 2
    assert shared.extra["tma_delivered_bytes"] == whole.extra["tma_delivered_bytes"]


def test_the_measured_time_of_a_locked_h100_is_near() -> None:
    # FlashGPU-Sim baselines: 71.712 us for 16 x 16 heads of 128 at 512 tokens, 1500 MHz, cold cache.
    todo = experiment(
        "--gpu h100-sxm --clock-mhz 1500 --heads-q 16 --head-dim 128 --batch 16 --seq 512 --params calibrated"
    )
    assert simulate.run(todo).result.latency_s == pytest.approx(71.712e-6, rel=0.06)


def test_the_calibrated_set_keeps_where_values_come_from() -> None:
    gpu = params.calibrated_gpu(loader.load(GpuSpec, "h800"))
    assert gpu.tma is not None and gpu.tma.inflight_lines == 384
    assert "FlashGPU-Sim" in gpu.provenance["tma.inflight_lines"].source
    assert "Sim-FA paper" in gpu.provenance["tma.lines_per_cycle"].source
    assert gpu.provenance["softmax.operand_factor"].label == "fitted"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "--gpu h100-sxm --heads-q 4 --head-dim 128 --seq 512 --dtype fp32 --params calibrated",
            "no fp32; allowed",
        ),
        ("--gpu h100-sxm --heads-q 4 --head-dim 512 --seq 512 --params calibrated", "ends at 256, got 512"),
    ],
)
def test_what_the_official_kernel_has_not_is_refused(text: str, message: str) -> None:
    with pytest.raises(PresetError, match=message):
        experiment(text)


PROFILED = "--gpu h100-sxm --clock-mhz 1420 --heads-q 24 --head-dim 64 --seq 2048 --causal --params calibrated"


def test_a_profiled_kernel_issues_the_wgmmas_and_fills_the_tensor_pipe_that_nsight_counted() -> None:
    # modern-gpu-simulator-micro-2025, Nsight Compute, FlashAttention-3 forward D64 192 x 128: 349,056 tensor warp
    # instructions; tensor pipe 46.1 % of 61,147 active cycles; 29,167 MUFU cycles, of which row scales and the like
    # that are not modelled take 3.4 %.
    todo = experiment(PROFILED)
    producer, consumer, *_ = launch.persistent(todo, tiles.plan(todo)).programs[0]
    # Q K^T of the first step and P V of the last, and both in the loop with a mask and in that without
    per_step = sum(row["opcode"] == opcodes.WGMMA for row in consumer.rows) // 3
    assert not any(row["opcode"] == opcodes.WGMMA for row in producer.rows)
    warps = 4 * todo.kernel.pipeline.consumer_warpgroups
    assert tiles.kv_tiles(todo).sum() * 24 * warps * per_step == 349_056
    result = simulate.run(todo).result
    busy = result.extra["cycles"] * np.array(
        [result.extra["utilization"][unit] for unit in ("tensor_cores", "mufu")]
    )
    assert busy[0] == pytest.approx(0.461 * 61_147, rel=0.003)
    assert busy[1] == pytest.approx(29_167, rel=0.04)


def test_the_order_of_tiles_decides_when_there_are_few() -> None:
    heaviest = simulate.run(experiment(PROFILED)).result
    lightest = simulate.run(experiment(PROFILED + " --set pipeline.tile_order=grid")).result
    assert lightest.l2_bytes == heaviest.l2_bytes
    assert lightest.extra["cycles"] > 1.3 * heaviest.extra["cycles"]


def test_grid_order_is_that_of_the_static_schedule() -> None:
    todo = experiment(options(128, 1024, 1024, causal=True) + " --set pipeline.tile_order=grid")
    for ordered, plain in zip(tiles.launch_order(todo), tiles.in_grid_order(todo), strict=True):
        assert (ordered == plain).all()


@pytest.mark.parametrize("case", [*itertools.product((64, 128, 256), ("fp16", "fp8"), (False, True))])
def test_every_case_of_july_2024_runs_and_moves_the_bytes_of_its_tiles(case: tuple[int, str, bool]) -> None:
    head_dim, dtype, causal = case
    todo = experiment(options(head_dim, 500, 900, causal, dtype) + " --kernel fa3-2024-07")
    result = simulate.run(todo).result
    row_bytes = head_dim * todo.precision_bytes
    read = np.minimum(tiles.kv_tiles(todo) * todo.kernel.tile.kv_rows, 900)
    assert result.extra["tma_delivered_bytes"] == 4 * row_bytes * int(2 * read.sum() + 500)


def test_fp8_rescales_o_after_p_v_and_fp16_before_it_at_256() -> None:
    early = [launch.official_kernel(experiment(options(256, 512, 512, False, dtype))) for dtype in ("fp16", "fp8")]
    assert [kernel.rescale_first for kernel in early] == [True, False]
    assert not launch.official_kernel(experiment(options(128, 512, 512, False))).rescale_first


def test_a_warm_l2_that_holds_everything_reads_nothing_from_dram() -> None:
    text = options(128, 1024, 1024, causal=False) + " --set launch.l2_state=warm"
    assert simulate.run(experiment(text)).result.dram_read_bytes == 0
    assert simulate.run(experiment(options(128, 1024, 1024, causal=False))).result.dram_read_bytes > 0
    one_tile = "--llm llama3-8b --gpu h800 --seq 512"
    cold = simulate.run(experiment(one_tile)).result
    warm = simulate.run(experiment(one_tile + " --set launch.l2_state=warm")).result
    assert cold.extra["cycles"] == 26_048
    assert warm.dram_read_bytes == 0 and warm.extra["cycles"] < cold.extra["cycles"]


def test_a_bubble_takes_the_papers_cycles_and_no_pipe() -> None:
    kernel = launch.official_kernel(experiment(options(128, 512, 512, False) + " --set pipeline.softmax=bubbles"))
    assert kernel.softmax.scores(masked=True) == [{"cycles": 988, "fp32": 0, "mufu": 0, "operands": 0}]
    assert kernel.softmax.probabilities(True) == [] == kernel.softmax.rescale()
