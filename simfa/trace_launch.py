"""From a Trace to a machine ready to run, and from an Experiment to the Trace of its built-in kernel."""

from dataclasses import replace

import numpy as np

from presets.errors import NotModelled
from presets.experiment import Experiment
from presets.specs import GpuSpec
from simfa import launch
from simfa.coverage import check, check_gpu
from simfa.engine import dispatch
from simfa.engine import opcodes as op
from simfa.engine.machine import Machine
from simfa.engine.opcodes import RANKS
from simfa.isa import Program
from simfa.tiles import Plan, is_persistent, plan
from simfa.trace import loops
from simfa.trace.assemble import Code, assemble
from simfa.trace.bubbles import THREADS_PER_WARPGROUP
from simfa.trace.fillings import Member
from simfa.trace.model import Cta, Launch, Trace
from simfa.trace.tensor_map import TensorMap, last_byte

MAX_CTAS_PER_SM = 32
Kind = tuple[tuple[tuple[str, ...], ...], int]  # names of the programs of each CTA of a cluster; a rank
ROLE_NAMES = ("producer", *(f"consumer{index}" for index in range(1, 9)))


def build(trace: Trace, gpu: GpuSpec, seed: int = 0, timeline_sm: int = -1) -> Machine:
    """A machine at cycle 0 with a cold L2. Raises NotModelled where the GPU cannot run the trace."""
    hardware = check_gpu(gpu)
    if trace.launch.cluster > gpu.sm.count:
        raise NotModelled(f"a cluster of {trace.launch.cluster} CTAs does not fit {gpu.sm.count} SMs")
    kinds = _kinds(trace)
    numbers = {kind: index for index, kind in enumerate(dict.fromkeys(kinds))}
    members = [_member(trace, kind) for kind in numbers]
    programs = [member.cluster[member.rank] for member in members]
    code = assemble(programs, trace.maps, launch.wgmma_timing(gpu), members)
    launch.share_stages(code, members)
    maps = _within_reach(trace, code, gpu.l2.line_bytes)
    ctas = _ctas(trace, [numbers[kind] for kind in kinds])
    origins = np.zeros((len(ctas), max(len(trace.maps), 1), RANKS), np.int64)
    for number, cta in enumerate(trace.ctas):
        for tensor, origin in cta.origins:
            origins[number, tensor, : len(origin)] = origin
    primed = dict(enumerate(trace.launch.primed))
    grid = launch.GridArrays(trace.launch.cluster, ctas, origins, trace.launch.schedule, primed)
    try:
        return launch.machine_of(gpu, hardware, code, maps, grid, ctas_per_sm(trace, gpu), seed, timeline_sm)
    except OverflowError as error:
        raise NotModelled(f"a latency or a rate is out of the simulator's range: {error}") from None


def _ctas(trace: Trace, programs: list[int]) -> np.ndarray:
    ctas = np.zeros(len(trace.ctas), dispatch.CTA)
    ctas["program"] = programs
    turns = [(*cta.turns, 0, 0)[: op.LOOPS] for cta in trace.ctas]
    ctas["turns"], ctas["turns_1"] = np.array(turns).T
    return ctas


def _kinds(trace: Trace) -> list[Kind]:
    """What each CTA runs: its programs; where any load is multicast, those of its whole cluster and its rank."""
    names, size = [cta.programs for cta in trace.ctas], trace.launch.cluster
    if not any(row.get("multicast") for program in trace.programs.values() for row in program.rows):
        return [((own,), 0) for own in names]
    if len(names) % size:
        raise NotModelled(
            f"{len(names)} CTAs are no whole number of clusters of {size}: multicasts would miss a CTA of the last"
        )
    return [(tuple(names[place - place % size :][:size]), place % size) for place in range(len(names))]


def _member(trace: Trace, kind: Kind) -> Member:
    cluster, rank = kind
    cluster_programs = [[trace.programs[name] for name in own] for own in cluster]
    return Member(rank, cluster_programs, trace.launch.is_persistent)


def _within_reach(trace: Trace, code: Code, line_bytes: int) -> tuple[TensorMap, ...]:
    """The maps as they are, or, where device pointers exceed what the simulator can address, all moved down.

    Everything moves by the same multiple of 2 MiB, the page that allocations start on. Bulk copies move with it.
    """
    maps, moved = trace.maps, _bulk_reach(trace)
    is_bulk = np.isin(code.instructions["opcode"], (op.TMA_BULK, op.TMA_BULK_STORE))
    bulk = code.instructions[is_bulk]
    ends = [last_byte(tensor) for tensor in maps] + (bulk["address"] + bulk["bytes"]).tolist() + moved
    starts = [tensor.base for tensor in maps] + bulk["address"].tolist() + moved
    limit = launch.MAX_LINES * line_bytes
    if max(ends, default=0) <= limit:
        return maps
    shift = min(starts) // launch.TENSOR_ALIGNMENT_BYTES * launch.TENSOR_ALIGNMENT_BYTES
    if max(ends) - shift > limit:
        raise NotModelled(f"addresses span {max(ends) - shift:,} B; the simulator can address {limit:,} B")
    code.instructions["address"] -= np.where(is_bulk, shift, 0)
    return tuple(replace(tensor, base=tensor.base - shift) for tensor in maps)


def _bulk_reach(trace: Trace) -> list[int]:
    """The farthest first and last bytes of bulk copies that counters move. Raises NotModelled below address 0."""
    runs = {(name, cta.turns) for cta in trace.ctas for name in cta.programs}
    found = [byte for name, turns in runs for _, byte in loops.bulk_reach(trace.programs[name].rows, turns)]
    if min(found, default=0) < 0:
        raise NotModelled(f"a bulk copy that a counter moves would come to address {min(found)}")
    return found


def ctas_per_sm(trace: Trace, gpu: GpuSpec) -> int:
    """CTAs that an SM holds at once: by shared memory, registers, threads, and what the trace allows."""
    need, sm = trace.launch, gpu.sm
    threads = THREADS_PER_WARPGROUP * max(len(cta.programs) for cta in trace.ctas)
    limits = {
        "shared memory": sm.shared_memory_bytes // need.shared_memory if need.shared_memory else MAX_CTAS_PER_SM,
        "registers": sm.registers // (need.registers * threads) if need.registers else MAX_CTAS_PER_SM,
        "threads": sm.threads // threads,
    }
    if need.shared_memory > sm.cta_shared_memory_bytes:
        limits["shared memory"] = 0
    for name, count in limits.items():
        if count == 0:
            raise NotModelled(
                f"a CTA does not fit an SM of {gpu.name} by its {name}: it has {threads} threads, "
                f"{need.registers} registers each, and {need.shared_memory:,} B of shared memory"
            )
    return min(*limits.values(), need.ctas_per_sm or MAX_CTAS_PER_SM, MAX_CTAS_PER_SM)


def trace_of(experiment: Experiment) -> Trace:
    """The built-in kernel of an experiment as a trace.

    A program per role and number of K/V tiles; of persistent CTAs a program per role, with loops whose turns each
    tile gives.
    """
    check(experiment)
    persistent = is_persistent(experiment.kernel)
    whole = plan(experiment)
    kernel = launch.persistent(experiment, whole) if persistent else launch.one_tile(experiment, whole)
    endings = ["", "_empty"] if persistent else _endings(whole)
    names: list[tuple[str, ...]] = []
    programs: dict[str, Program] = {}
    used = set(kernel.grid.ctas["program"].tolist())
    for number, (ending, roles) in enumerate(zip(endings, kernel.programs, strict=True)):
        names.append(tuple(f"{role}{ending}" for role in ROLE_NAMES[: len(roles)]))
        programs |= dict(zip(names[-1], roles, strict=True)) if number in used else {}
    grid = kernel.grid
    listed = tuple(
        Cta(names[cta["program"]], _origins(own), (int(cta["turns"]), int(cta["turns_1"])) if persistent else ())
        for cta, own in zip(grid.ctas, grid.origins, strict=True)
    )
    primed = tuple(grid.primed.get(barrier, 0) for barrier in range(max(grid.primed, default=-1) + 1))
    occupied = replace(resources(experiment), schedule=grid.schedule, primed=primed)
    return Trace(launch.tensor_maps(experiment), programs, listed, occupied)


def _endings(whole: Plan) -> list[str]:
    """What tells the programs of a grid apart: their K/V tiles, and whether they go backward."""
    kinds = np.unique(launch.kinds_of(whole))
    return [f"_{kind // 2}" + ("_backward" if kind % 2 else "") for kind in kinds.tolist()]


def _origins(own: np.ndarray) -> tuple[tuple[int, tuple[int, ...]], ...]:
    return tuple((tensor, tuple(map(int, row[:4]))) for tensor, row in enumerate(own))


def resources(experiment: Experiment) -> Launch:
    """What a CTA of an experiment occupies; registers as launch bounds of its occupancy leave them."""
    kernel, sm = experiment.kernel, experiment.gpu.sm
    ctas = kernel.pipeline.occupancy_ctas
    threads = THREADS_PER_WARPGROUP * (1 + kernel.pipeline.consumer_warpgroups)
    registers = min(sm.registers // (threads * ctas) // 8 * 8, 255)
    shared = kernel.shared_memory_bytes(experiment.llm.head_dim, experiment.precision_bytes)
    return Launch(shared, registers, launch.cluster_ctas(experiment), ctas)
