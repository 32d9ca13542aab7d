"""From the mechanism's counters to a Result: pure derivations, nothing counted here."""

from collections import Counter
from typing import Any

import numpy as np

from presets.experiment import Experiment
from presets.specs import GpuSpec
from simfa import ncu_names, queue_stats, tiles
from simfa.engine import opcodes, pipes, threads
from simfa.engine.machine import Machine
from simfa.isa import NAME_OF, Program
from simfa.memory import l2
from simfa.memory.bounded.state import Bounded
from simfa.memory.dram import TICKS
from simfa.trace import fa3, loops
from simfa.trace.assemble import flop_of
from simfa.trace.bubbles import softmax_cycles
from simfa.trace.model import Trace

IDEAL_TOLERANCE = 1.05  # traffic within 5 % of the compulsory bytes counts as the ideal regime
SATURATED = 0.5  # below this share of its time no unit is called the bottleneck
REASON_NAMES = {
    **NAME_OF,
    threads.TMA_QUEUE_FULL: "TMA_QUEUE_FULL",
    threads.TENSOR_BUFFER_FULL: "TENSOR_BUFFER_FULL",
    threads.GROUPS_FULL: "GROUPS_FULL",
}


def derive(experiment: Experiment, machine: Machine, wall_s: float) -> dict[str, Any]:
    """Fields of presets.record.Result, `estimator` aside."""
    cycles = int(machine.queue.header[0]["now"])
    traffic = _traffic(experiment.gpu, machine)
    shares = utilization(experiment.gpu, machine, cycles)
    busy = phase_mufu_cycles(machine) if tiles.is_persistent(experiment.kernel) else mufu_cycles(experiment)
    shares["mufu"] = busy / (experiment.gpu.sm.count * max(cycles, 1))
    return {
        "latency_s": cycles / experiment.gpu.sm.clock_hz + (experiment.gpu.launch.overhead_s or 0.0),
        "flops": flops(experiment),
        "l2_bytes": int(machine.engines.engines["requested_bytes"].sum()),
        "dram_read_bytes": traffic["dram_read_bytes"],
        "dram_write_bytes": traffic["dram_write_bytes"],
        "regime": _regime(experiment, traffic),
        "waves": observed_waves(experiment, machine),
        "bottleneck": bottleneck(shares),
        "tensor_core_utilization": shares["tensor_cores"],
        "extra": {
            "cycles": cycles,
            **{key: traffic[key] for key in ("line_requests", "l2_bytes_coalesced", "dirty_bytes_left")},
            "tma_delivered_bytes": traffic["tma_delivered_bytes"],
            "wall_s": wall_s,
            "l2_hit_rate": traffic["l2_hit_rate"],
            "coalesced_share": traffic["coalesced_share"],
            "mean_load_latency_cycles": traffic["mean_load_latency_cycles"],
            "utilization": shares,
            "stall_cycles": stalls(machine, role_names(machine.state.stall_cycles.shape[0])),
            **queue_stats.queues(machine),
            "ncu": ncu_names.metrics(experiment, machine),
        },
    }


def derive_trace(trace: Trace, gpu: GpuSpec, machine: Machine, wall_s: float) -> dict[str, Any]:
    """A flat record of a trace's run; FLOPs are those of its WGMMAs, a sparse one's as if dense."""
    cycles = int(machine.queue.header[0]["now"])
    traffic = _traffic(gpu, machine)
    shares = utilization(gpu, machine, cycles)
    if any(row["opcode"] == opcodes.PHASE for program in trace.programs.values() for row in program.rows):
        shares["mufu"] = phase_mufu_cycles(machine) / (gpu.sm.count * max(cycles, 1))
    else:
        del shares["mufu"]  # bubbles do not say what they compute
    latency_s = cycles / gpu.sm.clock_hz
    flops = trace_flops(trace)
    return {
        "gpu": gpu.name,
        "estimator": "sim-fa",
        "ctas": len(trace.ctas),
        "cycles": cycles,
        "latency_us": latency_s * 1e6,
        "tflops": flops / latency_s / 1e12 if latency_s else None,
        "flops": flops,
        "l2_bytes": int(machine.engines.engines["requested_bytes"].sum()),
        "dram_bytes": traffic["dram_read_bytes"] + traffic["dram_write_bytes"],
        **traffic,
        "bottleneck": bottleneck(shares),
        "utilization": shares,
        "stall_cycles": stalls(machine, thread_names(machine.state.stall_cycles.shape[0])),
        **queue_stats.queues(machine),
        "clock_mhz": gpu.sm.clock_hz / 1e6,
        "wall_s": wall_s,
    }


def trace_flops(trace: Trace) -> int:
    """FLOPs of all WGMMAs of all CTAs, those in loops as often as they run."""
    runs = Counter((name, cta.turns) for cta in trace.ctas for name in cta.programs)
    return sum(count * _program_flops(trace.programs[name], turns) for (name, turns), count in runs.items())


def _program_flops(program: Program, turns: tuple[int, ...]) -> int:
    rows = zip(program.rows, loops.times(program.rows, turns), strict=True)
    return sum(times * flop_of(row) for row, times in rows if row["opcode"] == opcodes.WGMMA)


def flops(experiment: Experiment) -> int:
    """FLOPs of the tiles as read: Eq. (1), or under a causal mask valid query rows x K rows read."""
    tile, work = experiment.kernel.tile, experiment.workload
    rows = np.minimum(work.seq_kv, tiles.kv_tiles(experiment).astype(object) * tile.kv_rows)
    first = np.arange(len(rows)).astype(object) * tile.query_rows
    valid = np.minimum(tile.query_rows, work.seq_q * tiles.packed_heads(experiment) - first)
    heads = tiles.tile_heads(experiment)
    return int(4 * work.batch * heads * experiment.llm.head_dim * (rows * valid).sum())


def bottleneck(shares: dict[str, float]) -> str:
    """The busiest unit, or latency where none is saturated."""
    busiest = max(shares, key=lambda name: shares[name])
    return busiest if shares[busiest] >= SATURATED else "latency"


def utilization(gpu: GpuSpec, machine: Machine, cycles: int) -> dict[str, float]:
    """Share of its time that each unit was busy, averaged over the units of its kind."""
    config = machine.memory.cache.config[0]
    sm_cycles = gpu.sm.count * max(cycles, 1)
    channels = machine.memory.cache.channels
    lines = int(channels["reads"].sum() + channels["writes"].sum())
    served = int(machine.memory.cache.slices["accesses"].sum())
    return {
        "tensor_cores": float(machine.state.sms["tensor_busy"].sum() / sm_cycles),
        "mufu": 0.0,
        "tma_inflight_lines": float(machine.engines.engines["full_cycles"].sum() / sm_cycles),
        "l2": served * int(config["slice_ticks"]) / TICKS / int(config["slices"]) / max(cycles, 1),
        "dram": lines * int(config["dram_line_ticks"]) / TICKS / len(channels) / max(cycles, 1),
    }


def phase_mufu_cycles(machine: Machine) -> float:
    """MUFU cycles at full rate that phases have been served, over all SMs."""
    return int(machine.state.pipes.units[:, pipes.BUSY + pipes.MUFU].sum()) / pipes.SCALE


def mufu_cycles(experiment: Experiment) -> int:
    """MUFU cycles of all tiles: consumer warpgroups' exponentials, partial tiles whole."""
    kernel = experiment.kernel
    consumers = kernel.pipeline.consumer_warpgroups
    step = softmax_cycles(
        experiment.gpu.alu, kernel.tile.query_rows // consumers, kernel.tile.kv_rows, experiment.llm.head_dim
    )
    heads = experiment.workload.batch * experiment.heads_q
    return int(tiles.kv_tiles(experiment).sum()) * heads * consumers * step.exp


def stalls(machine: Machine, names: list[str]) -> dict[str, dict[str, int]]:
    """Cycles that warpgroups of each role stood stalled, by what they waited for, over the whole GPU."""
    table = machine.state.stall_cycles
    return {
        role: {
            REASON_NAMES[reason]: int(table[index, reason])
            for reason in range(table.shape[1])
            if table[index, reason]
        }
        for index, role in enumerate(names)
    }


def role_names(count: int) -> list[str]:
    """Names of the roles of a CTA: one producer, then the consumers."""
    return ["producer", *(f"consumer {index}" for index in range(1, count))]


def thread_names(count: int) -> list[str]:
    """Names of the logical threads of a trace's CTAs, which may play any role."""
    return [f"thread {index}" for index in range(count)]


def observed_waves(experiment: Experiment, machine: Machine) -> int:
    """Passes over a KV group as they happened: most CTAs of one group in one slot, median over groups."""
    places = machine.grid.origins[:, fa3.MAP_K]
    group = places[:, 3].astype(np.int64) * experiment.heads_kv + places[:, 1]
    slots = len(machine.grid.running)
    _, first, counts = np.unique(group * slots + machine.grid.ctas["slot"], return_index=True, return_counts=True)
    most = np.zeros(int(group.max()) + 1, np.int64)
    np.maximum.at(most, group[first], counts)
    return int(np.median(most))


def _traffic(gpu: GpuSpec, machine: Machine) -> dict[str, Any]:
    line_bytes = gpu.l2.line_bytes
    engines, cache = machine.engines.engines, machine.memory.cache
    loads, stores = int(engines["load_lines"].sum()), int(engines["store_lines"].sum())
    served = int(cache.slices["accesses"].sum())
    found = int((cache.slices["hits"] + cache.slices["merges"]).sum())
    dirty = int(((cache.bits & l2.DIRTY) != 0).sum())
    return {
        "line_requests": loads + stores,
        "tma_delivered_bytes": int(engines["delivered_bytes"].sum()),
        "l2_bytes_coalesced": served * line_bytes,
        "dram_read_bytes": int(cache.channels["reads"].sum()) * line_bytes,
        "dram_write_bytes": int(cache.channels["writes"].sum()) * line_bytes,
        "dirty_bytes_left": dirty * line_bytes,
        "l2_hit_rate": found / served if served else None,
        "coalesced_share": int(machine.memory.totals[0]["coalesced"]) / loads if loads else None,
        "mean_load_latency_cycles": _latency_cycles(machine) / loads if loads else None,
    }


def _latency_cycles(machine: Machine) -> int:
    """Summed over all load lines; bounded queues count it when the response leaves, not when the request does."""
    later = 0
    if isinstance(machine.memory, Bounded):
        later = int(machine.memory.totals[0]["latency_cycles"])
    return later + int(machine.engines.engines["latency_cycles"].sum())


def _regime(experiment: Experiment, traffic: dict[str, Any]) -> str:
    moved = traffic["dram_read_bytes"] + traffic["dram_write_bytes"] + traffic["dirty_bytes_left"]
    return "ideal" if moved <= IDEAL_TOLERANCE * compulsory_bytes(experiment) else "realistic"


def compulsory_bytes(experiment: Experiment) -> int:
    """Q, K, V read once and O written once: the least that DRAM and dirty lines can hold together."""
    work = experiment.workload
    rows = 2 * experiment.heads_q * work.seq_q + 2 * experiment.heads_kv * work.seq_kv
    return experiment.precision_bytes * work.batch * experiment.llm.head_dim * rows
