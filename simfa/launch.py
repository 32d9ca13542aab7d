"""From an Experiment to a machine ready to run: tensors, grid, programs, and the state of every component."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from presets.errors import NotModelled
from presets.experiment import Experiment
from presets.specs import GpuSpec, L2TimingSpec, TmaSpec
from simfa import hierarchy, tiles
from simfa.coverage import Hardware, check
from simfa.engine import dispatch, events, machine, opcodes, probe, threads, tma
from simfa.isa import Program, WgmmaTiming
from simfa.memory import coalescer, hashing, l2, path, remote_copy, sets
from simfa.memory.bounded.state import Bounded, event_capacity
from simfa.memory.dram import TICKS
from simfa.trace import cutile, fa3, fa3_official, tensor_map
from simfa.trace.assemble import Code, assemble, with_costs
from simfa.trace.bubbles import softmax_cycles
from simfa.trace.fillings import Member
from simfa.trace.phases import Bubbles, Softmax
from simfa.trace.tensor_map import TensorMap

TENSOR_ALIGNMENT_BYTES = 2 * 2**20  # allocations start on a page
SPAN_CAPACITY = 400_000
MAX_LINES = 2**32 - 2


@dataclass(frozen=True)
class GridArrays:
    """CTAs of a launch, or tiles of persistent CTAs: in order, and where each lies."""

    cluster: int
    ctas: np.ndarray
    origins: np.ndarray
    schedule: str = "one_tile"
    primed: Mapping[int, int] = field(default_factory=dict)  # arrivals at named barriers from the beginning


@dataclass(frozen=True)
class KernelLaunch:
    """Programs, each a Program per role, and the grid that runs them."""

    programs: list[list[Program]]
    grid: GridArrays


def build(experiment: Experiment, seed: int, timeline_sm: int) -> machine.Machine:
    """A machine at cycle 0 with a cold L2. `timeline_sm` is the observed SM, or -1. Raises NotModelled."""
    try:
        return _build(experiment, check(experiment), seed, timeline_sm)
    except OverflowError as error:
        raise NotModelled(f"a latency or a rate is out of the simulator's range: {error}") from None


def _build(experiment: Experiment, hardware: Hardware, seed: int, timeline_sm: int) -> machine.Machine:
    return machine_for(experiment, hardware, tiles.plan(experiment), tensor_maps(experiment), seed, timeline_sm)


def machine_for(
    experiment: Experiment,
    hardware: Hardware,
    plan: tiles.Plan,
    maps: tuple[TensorMap, ...],
    seed: int,
    timeline_sm: int,
) -> machine.Machine:
    """A machine at cycle 0 for the CTAs of a plan: all of the launch, or those that a sample keeps."""
    kernel = persistent(experiment, plan) if tiles.is_persistent(experiment.kernel) else one_tile(experiment, plan)
    alike = cluster_ctas(experiment) if multicasts(experiment) else 1  # CTAs of a cluster run the same programs
    recurring = tiles.is_persistent(experiment.kernel)
    members = [Member(0, [roles] * alike, recurring) for roles in kernel.programs]
    code = assemble(kernel.programs, maps, wgmma_timing(experiment.gpu), members)
    share_stages(code, members)
    ctas_per_sm = experiment.kernel.pipeline.occupancy_ctas
    return machine_of(experiment.gpu, hardware, code, maps, kernel.grid, ctas_per_sm, seed, timeline_sm)


def share_stages(code: Code, members: Sequence[Member]) -> None:
    """A persistent CTA comes to all programs of its rank: its stages are those of the fullest."""
    for rank in {member.rank for member in members if member.recurring}:
        own = [number for number, member in enumerate(members) if member.rank == rank]
        for table in (code.releasers, code.sources):
            table[own] = table[own].max(axis=0)


def leave_cache(before: machine.Machine, after: machine.Machine) -> None:
    """What a finished launch left in the L2, dirty lines included, for one that has not begun."""
    left, taken = before.memory.cache, after.memory.cache
    taken.tags[:] = left.tags
    taken.bits[:] = left.bits & (sets.DIRTY | sets.COPY)  # every fill has arrived


def one_tile(experiment: Experiment, plan: tiles.Plan) -> KernelLaunch:
    """A CTA per tile in grid order, with a program per number and direction of K/V tiles (paper, section 5)."""
    roles = fa3.roles if experiment.kernel.instruction == "wgmma" else cutile.roles
    found, chosen = np.unique(kinds_of(plan), return_inverse=True)
    programs = [roles(shape_of(experiment), int(kind) // 2, bool(kind % 2)) for kind in found]
    ctas = np.zeros(len(chosen), dispatch.CTA)
    ctas["program"] = chosen
    return KernelLaunch(programs, GridArrays(cluster_ctas(experiment), ctas, origins(experiment, plan.order)))


def kinds_of(plan: tiles.Plan) -> np.ndarray:
    """What tells programs of a grid apart: twice the K/V tiles of each CTA, one more on a sawtooth's way back."""
    return np.asarray(2 * plan.steps + plan.backward)


def persistent(experiment: Experiment, plan: tiles.Plan) -> KernelLaunch:
    """Persistent CTAs: static in grid order, or dynamic with the heaviest tiles first."""
    schedule = experiment.kernel.pipeline.schedule
    assert schedule is not None
    kernel = official_kernel(experiment)
    steps = plan.steps
    ctas = np.zeros(len(steps), dispatch.CTA)
    ctas["program"] = steps == 0
    places = origins(experiment, plan.order)
    if experiment.kernel.pipeline.kv_order == "last_to_first":
        last = np.maximum(steps - 1, 0) * experiment.kernel.tile.kv_rows
        places[:, [fa3.MAP_K, fa3.MAP_V], 2] += last[:, None]
    ctas["turns"], ctas["turns_1"] = plan.turns.T
    programs = [fa3_official.roles(kernel), fa3_official.empty_roles(kernel)]
    primed = fa3_official.primed_barriers(kernel)
    return KernelLaunch(programs, GridArrays(cluster_ctas(experiment), ctas, places, schedule, primed))


def official_kernel(experiment: Experiment) -> fa3_official.Kernel:
    """What the programs of persistent CTAs depend on. Raises NotModelled without softmax rates."""
    spec, kernel = experiment.gpu.softmax, experiment.kernel
    if spec is None:
        raise NotModelled(
            f"{kernel.name} needs the rates of softmax, and {experiment.gpu.name} has no section softmax"
        )
    rows = kernel.tile.query_rows // kernel.pipeline.consumer_warpgroups
    phases = Softmax(spec, rows, kernel.tile.kv_rows, experiment.llm.head_dim, experiment.precision_bytes)
    pipeline, shape = kernel.pipeline, shape_of(experiment)
    bubbles = Bubbles(shape.softmax_cycles, phases.output_cycles)
    early = pipeline.rescale_before_pv
    return fa3_official.Kernel(
        shape,
        bubbles if pipeline.softmax == "bubbles" else phases,
        pipeline.tile_overhead_cycles or 0,
        bool(pipeline.p_in_shared),
        experiment.llm.head_dim > 128 if early is None else early,
        pipeline.intra_warpgroup_overlap is not False,
        pipeline.prologue_overlap is not False,
    )


def machine_of(
    gpu: GpuSpec,
    hardware: Hardware,
    code: Code,
    maps: tuple[TensorMap, ...],
    grid: GridArrays,
    ctas_per_sm: int,
    seed: int,
    timeline_sm: int,
) -> machine.Machine:
    """A machine at cycle 0 for encoded programs and a grid."""
    roles = code.spans.shape[1]
    slots = gpu.sm.count * ctas_per_sm
    entries = gpu.tensor.issue_buffer_entries
    per_sm = roles * ctas_per_sm
    if per_sm > 62:
        raise NotModelled(f"{per_sm} warpgroups per SM; the scheduler holds at most 62")
    if max(map(tensor_map.last_byte, maps), default=0) // gpu.l2.line_bytes > MAX_LINES:
        raise NotModelled(f"a tensor ends beyond the {MAX_LINES:,} lines the simulator can address")
    remote_cycles = hardware.tma.remote_release_cycles or dispatch.REMOTE_CYCLES
    width = gpu.sm.issue_per_cycle or 1
    releases = width * remote_cycles * (grid.cluster - 1) if code.sources.any() else 0
    capacity = machine.event_capacity(gpu.sm.count, per_sm, hardware.tma.inflight_lines, entries, releases)
    if hierarchy.is_bounded(hardware.timing):
        capacity += event_capacity(gpu.sm.count, hardware.tma.inflight_lines, gpu.l2.slices, gpu.dram.channels)
    config = _tma_config(gpu, hardware.tma)
    return machine.Machine(
        dispatch.make_grid(
            grid.cluster,
            grid.ctas,
            grid.origins,
            code.spans,
            code.releasers,
            code.sources,
            slots,
            remote_cycles,
            grid.schedule,
        ),
        threads.make_threads(gpu.sm.count, ctas_per_sm, roles, primed=grid.primed, **_core(gpu)),
        tma.make_tma(gpu.sm.count, config, *tensor_map.encode(maps), code.starts, code.fills),
        _memory(gpu, hardware, seed),
        events.make_queue(capacity),
        probe.make_probe(timeline_sm, SPAN_CAPACITY, len(grid.ctas), roles),
        with_costs(code.instructions, _costs(gpu)),
        entries,
    )


def _core(gpu: GpuSpec) -> dict[str, Any]:
    """The core's settings, as `threads.make_threads` takes them."""
    found: dict[str, Any] = {"scheduler": gpu.sm.scheduler or "gto", "issue_width": gpu.sm.issue_per_cycle or 1}
    if gpu.softmax is not None:
        found["tensor_operand_share"] = gpu.softmax.wgmma_operand_share
    if gpu.issue is not None:
        found |= {"gemm_gap": gpu.issue.gemm_gap_cycles, "wgmma_tail": gpu.issue.wgmma_tail_cycles}
    return found


def _costs(gpu: GpuSpec) -> dict[int, int]:
    """Cycles by opcode after which a warpgroup issues its next instruction; those that have none are left out."""
    spec = gpu.issue
    if spec is None:
        return {}
    return {
        opcodes.WGMMA: spec.wgmma_cycles,
        opcodes.TMA_TENSOR: spec.tma_cycles,
        opcodes.TMA_STORE: spec.tma_cycles,
        opcodes.MB_WAIT: spec.mbarrier_wait_cycles,
        opcodes.ACQUIRE_STAGE: spec.stage_acquire_cycles,
        opcodes.BAR_WAIT: spec.named_barrier_cycles,
    }


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
    everyone = 2 ** cluster_ctas(experiment) - 1 if multicasts(experiment) else 0
    packed = tiles.packed_heads(experiment)
    return fa3.Shape(kernel, head_dim, experiment.workload.dtype, bubble.total, everyone, packed)


def cluster_ctas(experiment: Experiment) -> int:
    """CTAs dispatched together, as `tiles.cluster_ctas`."""
    return tiles.cluster_ctas(experiment)


def multicasts(experiment: Experiment) -> bool:
    """Whether each CTA loads its share of every K/V tile for its whole cluster: never outside a cluster."""
    return bool(experiment.kernel.pipeline.multicast) and cluster_ctas(experiment) > 1


def origins(experiment: Experiment, order: tiles.Order) -> np.ndarray:
    """Where each tile (batch, query head, query tile) lies in Q, K, V and O, shape (tiles, 4, RANKS)."""
    batch, head, index = order
    tile, packed = experiment.kernel.tile, tiles.packed_heads(experiment)
    found = np.zeros((len(index), 4, opcodes.RANKS), np.int64)
    found[:, :, 1] = head[:, None] * packed
    found[:, [fa3.MAP_K, fa3.MAP_V], 1] //= experiment.heads_q // experiment.heads_kv
    found[:, [fa3.MAP_Q, fa3.MAP_O], 2] = index[:, None] * (tile.query_rows // packed)
    found[:, :, 3] = batch[:, None]
    if multicasts(experiment):
        size = cluster_ctas(experiment)
        found[:, [fa3.MAP_K, fa3.MAP_V], 2] = (index % size * (tile.kv_rows // size))[:, None]
    return found


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
    """Q, K, V and O by element, head, row and batch; a box is one tile of one head, or a CTA's share of it."""
    work, kernel = experiment.workload, experiment.kernel
    head_dim, element = experiment.llm.head_dim, experiment.precision_bytes
    start = tensor_bases(experiment)

    def make(tensor: int, heads: int, rows: int, box_rows: int, packed: int = 1) -> TensorMap:
        row = head_dim * element
        dims = (head_dim, heads, rows, work.batch)
        strides = (row, heads * row, rows * heads * row)
        box = (head_dim, packed, box_rows // packed, 1)
        return TensorMap(fa3.MAP_NAMES[tensor], dims, strides, box, element, start[tensor])

    tile, packed = kernel.tile, tiles.packed_heads(experiment)
    consumer_rows = tile.query_rows // kernel.pipeline.consumer_warpgroups
    shares = cluster_ctas(experiment) if multicasts(experiment) else 1
    return (
        make(fa3.MAP_Q, experiment.heads_q, work.seq_q, tile.query_rows, packed),
        make(fa3.MAP_K, experiment.heads_kv, work.seq_kv, tile.kv_rows // shares),
        make(fa3.MAP_V, experiment.heads_kv, work.seq_kv, tile.kv_rows // shares),
        make(fa3.MAP_O, experiment.heads_q, work.seq_q, consumer_rows, packed),
    )


def _tma_config(gpu: GpuSpec, spec: TmaSpec) -> np.ndarray:
    config = np.zeros(1, tma.CONFIG)
    chunk_bytes = spec.request_bytes
    if chunk_bytes is not None and chunk_bytes > gpu.l2.line_bytes:
        raise NotModelled(f"tma.request_bytes {chunk_bytes} exceeds l2.line_bytes {gpu.l2.line_bytes}")
    config[0] = (
        spec.launch_latency_cycles,
        spec.tensor_map_setup_cycles,
        spec.lines_per_cycle,
        spec.inflight_lines,
        gpu.l2.line_bytes.bit_length() - 1,
        spec.deduplicate is not False,
        -1 if chunk_bytes is None else chunk_bytes.bit_length() - 1,
        spec.descriptor_cache_entries or 0,
        spec.descriptor_hit_cycles or 0,
        spec.multicast_latency_cycles or 0,
    )
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
        hashing.SET_HASHES.index(timing.set_hash or "rotated"),
    )
    return config
