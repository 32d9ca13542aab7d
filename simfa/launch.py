"""From an Experiment to a machine ready to run: tensors, grid, programs, and the state of every component."""

import numpy as np

from presets.errors import NotModelled
from presets.experiment import Experiment
from presets.specs import GpuSpec, L2TimingSpec, TmaSpec
from simfa import hierarchy
from simfa.coverage import Hardware, check
from simfa.engine import dispatch, events, machine, opcodes, probe, threads, tma
from simfa.isa import WgmmaTiming
from simfa.memory import coalescer, hashing, l2, path, remote_copy
from simfa.memory.bounded.state import Bounded, event_capacity
from simfa.memory.dram import TICKS
from simfa.trace import fa3, tensor_map
from simfa.trace.assemble import Code, assemble
from simfa.trace.bubbles import softmax_cycles
from simfa.trace.tensor_map import TensorMap

TENSOR_ALIGNMENT_BYTES = 2 * 2**20  # allocations start on a page
SPAN_CAPACITY = 400_000
MAX_LINES = 2**32 - 2


def build(experiment: Experiment, seed: int, timeline_sm: int) -> machine.Machine:
    """A machine at cycle 0 with a cold L2. `timeline_sm` is the observed SM, or -1. Raises NotModelled."""
    try:
        return _build(experiment, check(experiment), seed, timeline_sm)
    except OverflowError as error:
        raise NotModelled(f"a latency or a rate is out of the simulator's range: {error}") from None


def _build(experiment: Experiment, hardware: Hardware, seed: int, timeline_sm: int) -> machine.Machine:
    counts = sorted({int(n) for n in kv_tiles(experiment)})
    programs = [fa3.roles(shape_of(experiment), tiles) for tiles in counts]
    maps = tensor_maps(experiment)
    code = assemble(programs, maps, wgmma_timing(experiment.gpu))
    ctas, origins = grid_arrays(experiment, {tiles: index for index, tiles in enumerate(counts)})
    ctas_per_sm = experiment.kernel.pipeline.occupancy_ctas
    grid = (cluster_ctas(experiment), ctas, origins)
    return machine_of(experiment.gpu, hardware, code, maps, grid, ctas_per_sm, seed, timeline_sm)


def machine_of(
    gpu: GpuSpec,
    hardware: Hardware,
    code: Code,
    maps: tuple[TensorMap, ...],
    grid: tuple[int, np.ndarray, np.ndarray],
    ctas_per_sm: int,
    seed: int,
    timeline_sm: int,
) -> machine.Machine:
    """A machine at cycle 0 for encoded programs and a grid: CTAs per cluster, CTAs, their origins."""
    cluster, ctas, origins = grid
    roles = code.spans.shape[1]
    slots = gpu.sm.count * ctas_per_sm
    entries = gpu.tensor.issue_buffer_entries
    per_sm = roles * ctas_per_sm
    if per_sm > 62:
        raise NotModelled(f"{per_sm} warpgroups per SM; the scheduler holds at most 62")
    if max(map(tensor_map.last_byte, maps), default=0) // gpu.l2.line_bytes > MAX_LINES:
        raise NotModelled(f"a tensor ends beyond the {MAX_LINES:,} lines the simulator can address")
    capacity = machine.event_capacity(gpu.sm.count, per_sm, hardware.tma.inflight_lines, entries)
    if hierarchy.is_bounded(hardware.timing):
        capacity += event_capacity(gpu.sm.count, hardware.tma.inflight_lines, gpu.l2.slices, gpu.dram.channels)
    config = _tma_config(gpu, hardware.tma)
    return machine.Machine(
        dispatch.make_grid(cluster, ctas, origins, code.spans, code.releasers, slots),
        threads.make_threads(
            gpu.sm.count, ctas_per_sm, roles, gpu.sm.scheduler or "gto", gpu.sm.issue_per_cycle or 1
        ),
        tma.make_tma(gpu.sm.count, config, *tensor_map.encode(maps), code.starts),
        _memory(gpu, hardware, seed),
        events.make_queue(capacity),
        probe.make_probe(timeline_sm, SPAN_CAPACITY, slots),
        code.instructions.astype(opcodes.INSTRUCTION),
        entries,
    )


def wgmma_timing(gpu: GpuSpec) -> WgmmaTiming:
    """How long WGMMAs take on a GPU. INT8 runs at the rate of FP8 (arXiv 2402.13499: 1448.7 and 1448.4 T)."""
    rates = gpu.tensor
    flop_per_cycle = {
        "fp8": rates.fp8_flop_per_cycle,
        "int8": rates.fp8_flop_per_cycle,
        "fp16": rates.fp16_flop_per_cycle,
        "bf16": rates.fp16_flop_per_cycle,
        "tf32": rates.fp32_flop_per_cycle,
    }
    return WgmmaTiming(flop_per_cycle, rates.shared_bytes_per_cycle or np.inf, rates.minimum_wgmma_cycles or 0)


def shape_of(experiment: Experiment) -> fa3.Shape:
    """What the FlashAttention-3 programs of an experiment depend on."""
    kernel, head_dim = experiment.kernel, experiment.llm.head_dim
    consumer_rows = kernel.tile.query_rows // kernel.pipeline.consumer_warpgroups
    bubble = softmax_cycles(experiment.gpu.alu, consumer_rows, kernel.tile.kv_rows, head_dim)
    return fa3.Shape(kernel, head_dim, experiment.workload.dtype, bubble.total)


def cluster_ctas(experiment: Experiment) -> int:
    """CTAs dispatched together: the kernel's cluster if it divides a head's query tiles and fits the GPU."""
    size = experiment.kernel.pipeline.cluster_ctas
    fits = query_tiles(experiment) % size == 0 and size <= experiment.gpu.sm.count
    return size if fits else 1


def query_tiles(experiment: Experiment) -> int:
    """Query tiles of one head."""
    return -(-experiment.workload.seq_q // experiment.kernel.tile.query_rows)


def kv_tiles(experiment: Experiment) -> np.ndarray:
    """K/V tiles that each query tile reads, shape (query tiles,): all, or what a causal mask leaves."""
    work, tile = experiment.workload, experiment.kernel.tile
    last_rows = np.minimum(work.seq_q, np.arange(1, query_tiles(experiment) + 1) * tile.query_rows)
    visible = np.full_like(last_rows, work.seq_kv)
    if work.causal:
        visible = np.clip(work.seq_kv - work.seq_q + last_rows, 0, work.seq_kv)
    return -(-visible // tile.kv_rows)


def grid_arrays(experiment: Experiment, program_of_tiles: dict[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """CTAs in launch order (query tile fastest, then query head, then batch), and their origins by tensor map."""
    work, tile = experiment.workload, experiment.kernel.tile
    tiles = query_tiles(experiment)
    batch, head, index = (
        axis.ravel()
        for axis in np.meshgrid(
            np.arange(work.batch), np.arange(experiment.heads_q), np.arange(tiles), indexing="ij"
        )
    )
    origins = np.zeros((len(index), 4, opcodes.RANKS), np.int32)
    origins[:, :, 1] = head[:, None]
    origins[:, [fa3.MAP_K, fa3.MAP_V], 1] //= experiment.heads_q // experiment.heads_kv
    origins[:, [fa3.MAP_Q, fa3.MAP_O], 2] = index[:, None] * tile.query_rows
    origins[:, :, 3] = batch[:, None]
    ctas = np.zeros(len(index), dispatch.CTA)
    ctas["program"] = np.array([program_of_tiles[int(n)] for n in kv_tiles(experiment)])[index]
    return ctas, origins


def tensor_bases(experiment: Experiment) -> list[int]:
    """First byte of Q, K, V and O: laid out as [batch][row][head][D], one after the other, page-aligned."""
    work = experiment.workload
    row_bytes = experiment.llm.head_dim * experiment.precision_bytes
    query = work.batch * work.seq_q * experiment.heads_q * row_bytes
    keys = work.batch * work.seq_kv * experiment.heads_kv * row_bytes
    bases, position = [], 0
    for size in (query, keys, keys, query):
        bases.append(position)
        position += -(-size // TENSOR_ALIGNMENT_BYTES) * TENSOR_ALIGNMENT_BYTES
    if position // experiment.gpu.l2.line_bytes > MAX_LINES:
        raise NotModelled(f"tensors of {position:,} B exceed the {MAX_LINES:,} lines the simulator can address")
    return bases


def tensor_maps(experiment: Experiment) -> tuple[TensorMap, ...]:
    """Q, K, V and O by element, head, row and batch; a box is one tile of one head."""
    work, kernel = experiment.workload, experiment.kernel
    head_dim, element = experiment.llm.head_dim, experiment.precision_bytes
    start = tensor_bases(experiment)

    def make(tensor: int, heads: int, rows: int, box_rows: int) -> TensorMap:
        row = head_dim * element
        dims = (head_dim, heads, rows, work.batch)
        strides = (row, heads * row, rows * heads * row)
        return TensorMap(fa3.MAP_NAMES[tensor], dims, strides, (head_dim, 1, box_rows, 1), element, start[tensor])

    tile = kernel.tile
    return (
        make(fa3.MAP_Q, experiment.heads_q, work.seq_q, tile.query_rows),
        make(fa3.MAP_K, experiment.heads_kv, work.seq_kv, tile.kv_rows),
        make(fa3.MAP_V, experiment.heads_kv, work.seq_kv, tile.kv_rows),
        make(fa3.MAP_O, experiment.heads_q, work.seq_q, tile.query_rows // kernel.pipeline.consumer_warpgroups),
    )


def _tma_config(gpu: GpuSpec, spec: TmaSpec) -> np.ndarray:
    config = np.zeros(1, tma.CONFIG)
    shift = gpu.l2.line_bytes.bit_length() - 1
    setup = spec.tensor_map_setup_cycles
    config[0] = (spec.launch_latency_cycles, setup, spec.lines_per_cycle, spec.inflight_lines, shift)
    return config


def _memory(gpu: GpuSpec, hardware: Hardware, seed: int) -> path.Memory | Bounded:
    sms, share = gpu.sm.count, hardware.coalescer.sms
    units = -(-sms // share)
    unit = np.arange(sms, dtype=np.int64) // share if share > 1 else np.full(sms, -1, np.int64)
    config = l2_config(gpu, hardware.timing, seed)
    partition = _partitions(sms, hardware.timing.partitions, seed)
    table = coalescer.make_table(units)
    if hierarchy.is_bounded(hardware.timing):
        lines = hardware.tma.inflight_lines
        return hierarchy.bounded(gpu, hardware.timing, config, (table, unit), partition, lines)
    return path.Memory(l2.make_l2(config), table, unit, partition, np.zeros(1, path.TOTALS))


def _partitions(sms: int, partitions: int, seed: int) -> np.ndarray:
    """The L2 partition near each SM. Which SMs sit where is not public: pairs are dealt out by the seed."""
    pairs = np.arange(-(-sms // 2)) % partitions
    return np.repeat(np.random.default_rng(seed).permutation(pairs), 2)[:sms].astype(np.int64)


def l2_config(gpu: GpuSpec, timing: L2TimingSpec, seed: int) -> np.ndarray:
    """The L2 and DRAM of a GPU as a CONFIG record, times in SM cycles and ticks."""
    cache, dram, cycle_s = gpu.l2, gpu.dram, 1 / gpu.sm.clock_hz
    sets = cache.bytes // (cache.line_bytes * cache.slices * timing.ways)
    if sets < 1:
        raise NotModelled(f"l2.bytes {cache.bytes:,} is less than one set of {timing.ways} ways in every slice")
    config = np.zeros(1, l2.CONFIG)
    config[0] = (
        hashing.SLICE_HASHES.index(timing.slice_hash),
        cache.slices,
        sets,
        timing.ways,
        timing.mshr_entries,
        round(cache.line_bytes / cache.slice_bytes_per_cycle / gpu.l2_clock_hz() / cycle_s * TICKS),
        -(-cache.slices // timing.partitions),
        timing.near_latency_cycles,
        timing.far_latency_cycles,
        dram.channels,
        round(cache.line_bytes / dram.channel_bandwidth_bytes_per_s / cycle_s * TICKS),
        round(dram.latency_s / cycle_s * TICKS),
        round(timing.remote_copy_probability * remote_copy.SCALE),
        int(timing.remote_copy_way_share * timing.ways),
        seed,
    )
    return config
