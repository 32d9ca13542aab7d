"""From an Experiment to a machine ready to run: tensors, grid, programs, and the state of every component."""

import numpy as np

from presets.errors import NotModelled
from presets.experiment import Experiment
from presets.specs import GpuSpec, L2TimingSpec, TmaSpec
from simfa.coverage import Hardware, check
from simfa.engine import dispatch, events, machine, opcodes, probe, threads, tma
from simfa.memory import coalescer, hashing, l2, path, remote_copy
from simfa.memory.dram import TICKS
from simfa.trace import fa3
from simfa.trace.bubbles import softmax_cycles

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
    gpu, pipeline = experiment.gpu, experiment.kernel.pipeline
    roles = 1 + pipeline.consumer_warpgroups
    slots = gpu.sm.count * pipeline.occupancy_ctas
    code, programs, program_of_tiles = _programs(experiment)
    ctas, bases, limits = grid_arrays(experiment, program_of_tiles)
    entries = gpu.tensor.issue_buffer_entries
    per_sm = roles * pipeline.occupancy_ctas
    if per_sm > 62:
        raise NotModelled(f"{per_sm} warpgroups per SM; the scheduler holds at most 62")
    capacity = machine.event_capacity(gpu.sm.count, per_sm, hardware.tma.inflight_lines, entries)
    return machine.Machine(
        dispatch.make_grid(cluster_ctas(experiment), ctas, bases, limits, programs, slots),
        threads.make_threads(gpu.sm.count, pipeline.occupancy_ctas, roles),
        tma.make_tma(gpu.sm.count, _tma_config(experiment, hardware.tma), _tensor_maps(experiment)),
        _memory(experiment, hardware, seed),
        events.make_queue(capacity),
        probe.make_probe(timeline_sm, SPAN_CAPACITY, slots),
        code,
        entries,
    )


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


def grid_arrays(
    experiment: Experiment, program_of_tiles: dict[int, int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """CTAs in launch order (query tile fastest, then query head, then batch), tensor bases, row limits."""
    work, tile = experiment.workload, experiment.kernel.tile
    tiles = query_tiles(experiment)
    batch, head, index = (
        axis.ravel()
        for axis in np.meshgrid(
            np.arange(work.batch), np.arange(experiment.heads_q), np.arange(tiles), indexing="ij"
        )
    )
    row_bytes = experiment.llm.head_dim * experiment.precision_bytes
    first_row = index * tile.query_rows
    kv_head = head // (experiment.heads_q // experiment.heads_kv)
    query = ((batch * work.seq_q + first_row) * experiment.heads_q + head) * row_bytes
    keys = (batch * work.seq_kv * experiment.heads_kv + kv_head) * row_bytes
    start = tensor_bases(experiment)
    bases = np.stack([query, keys, keys, query], axis=1) + np.array(start, np.int64)
    rows = np.stack([work.seq_q - first_row] * 4, axis=1)
    rows[:, [fa3.MAP_K, fa3.MAP_V]] = work.seq_kv
    ctas = np.zeros(len(index), dispatch.CTA)
    ctas["program"] = np.array([program_of_tiles[int(n)] for n in kv_tiles(experiment)])[index]
    return ctas, bases.astype(np.int64), rows.astype(np.int64)


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


def _programs(experiment: Experiment) -> tuple[np.ndarray, np.ndarray, dict[int, int]]:
    """Encoded code, first and end instruction by program and role, and the program of each tile count."""
    gpu, kernel, work = experiment.gpu, experiment.kernel, experiment.workload
    consumer_rows = kernel.tile.query_rows // kernel.pipeline.consumer_warpgroups
    bubble = softmax_cycles(gpu.alu, consumer_rows, kernel.tile.kv_rows, experiment.llm.head_dim)
    rate = gpu.tensor_flop_per_cycle(work.dtype)
    shape = fa3.Shape(kernel, experiment.llm.head_dim, work.dtype, rate, bubble.total)
    parts: list[np.ndarray] = []
    spans: list[list[tuple[int, int]]] = []
    length = 0
    counts = sorted({int(n) for n in kv_tiles(experiment)})
    for tiles in counts:
        spans.append([])
        for program in fa3.roles(shape, tiles):
            parts.append(program.encode())
            spans[-1].append((length, length + len(parts[-1])))
            length += len(parts[-1])
    code = np.concatenate(parts).astype(opcodes.INSTRUCTION)
    return code, np.array(spans, np.int32), {tiles: index for index, tiles in enumerate(counts)}


def _tma_config(experiment: Experiment, spec: TmaSpec) -> np.ndarray:
    config = np.zeros(1, tma.CONFIG)
    setup = spec.launch_latency_cycles + spec.tensor_map_setup_cycles
    shift = experiment.gpu.l2.line_bytes.bit_length() - 1
    config[0] = (setup, spec.lines_per_cycle, spec.inflight_lines, shift)
    return config


def _tensor_maps(experiment: Experiment) -> np.ndarray:
    tile, pipeline = experiment.kernel.tile, experiment.kernel.pipeline
    row_bytes = experiment.llm.head_dim * experiment.precision_bytes
    query_stride, kv_stride = experiment.heads_q * row_bytes, experiment.heads_kv * row_bytes
    maps = np.zeros(4, tma.TENSOR_MAP)
    maps[fa3.MAP_Q] = (query_stride, row_bytes, tile.query_rows)
    maps[fa3.MAP_K] = maps[fa3.MAP_V] = (kv_stride, row_bytes, tile.kv_rows)
    maps[fa3.MAP_O] = (query_stride, row_bytes, tile.query_rows // pipeline.consumer_warpgroups)
    return maps


def _memory(experiment: Experiment, hardware: Hardware, seed: int) -> path.Memory:
    sms, share = experiment.gpu.sm.count, hardware.coalescer.sms
    units = -(-sms // share)
    unit = np.arange(sms, dtype=np.int64) // share if share > 1 else np.full(sms, -1, np.int64)
    return path.Memory(
        l2.make_l2(l2_config(experiment.gpu, hardware.timing, seed)),
        coalescer.make_table(units),
        unit,
        _partitions(sms, hardware.timing.partitions, seed),
        np.zeros(1, path.TOTALS),
    )


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
