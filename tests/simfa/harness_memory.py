"""Memory of `tests.simfa.harness`: the hierarchies of its tiny GPUs, what they still hold, how they drain."""

from typing import TYPE_CHECKING, Any

import numpy as np

from presets import loader
from presets.dram_specs import DramChannelSpec
from simfa import dram_channel
from simfa.engine import machine
from simfa.memory import coalescer, hashing, l2, path, remote_copy
from simfa.memory.bounded import commands
from simfa.memory.bounded.state import COMMANDS, IN_ORDER, LIMITS, NONE, Bounded, make_bounded
from simfa.memory.dram import TICKS
from tests.simfa.compiled import finish_writes

if TYPE_CHECKING:
    from tests.simfa.harness import Tiny

LINE = 128


def memory(gpu: "Tiny") -> Any:
    """A cold memory hierarchy: `path.Memory`, or with bounded queues `Bounded`."""
    share = gpu.sms_per_coalescer
    unit = np.arange(gpu.sms, dtype=np.int64) // share if share > 1 else np.full(gpu.sms, -1, np.int64)
    config = np.zeros(1, l2.CONFIG)
    config[0] = (
        hashing.SLICE_HASHES.index(gpu.slice_hash),
        gpu.slices,
        gpu.sets,
        gpu.ways,
        gpu.mshrs,
        round(gpu.slice_cycles * TICKS),
        -(-gpu.slices // gpu.partitions),
        gpu.near_cycles,
        gpu.far_cycles,
        gpu.dram_channels,
        round(gpu.dram_line_cycles * TICKS),
        gpu.dram_latency_cycles * TICKS,
        round(gpu.remote_copy_probability * remote_copy.SCALE),
        int(gpu.remote_copy_way_share * gpu.ways),
        0,
        hashing.ROTATED,
    )
    near = np.array(gpu.sm_partitions or (0,) * gpu.sms, np.int64)
    units = coalescer.make_table(-(-gpu.sms // share))
    if not gpu.bounded:
        return path.Memory(l2.make_l2(config), units, unit, near, np.zeros(1, path.TOTALS))
    limits = np.zeros(1, LIMITS)
    there = [round(gpu.request_share * cycles) for cycles in (gpu.near_cycles, gpu.far_cycles)]
    model = COMMANDS if gpu.dram_preset else IN_ORDER
    back = (gpu.near_cycles - there[0], gpu.far_cycles - there[1])
    limits[0] = (gpu.request_entries, gpu.response_entries, *there, *back, model, gpu.dram_queue_lines)
    return make_bounded(config, limits, units, unit, near, gpu.inflight_lines, _channels(gpu))


def _channels(gpu: "Tiny") -> commands.CommandChannels:
    if not gpu.dram_preset:
        return commands.no_channels()
    spec = loader.load(DramChannelSpec, gpu.dram_preset)
    shape, ratio, config = spec.organisation, gpu.dram_ticks_per_cycle, np.zeros(1, commands.CONFIG)
    sizes = (LINE // shape.access_bytes, LINE, shape.access_bytes, spec.capacity_bytes() // shape.access_bytes)
    banks = (shape.sids, shape.bank_groups, shape.banks)
    config[0] = (ratio.numerator, ratio.denominator, 0, *sizes, *banks, 0)
    mapping = dram_channel.mapping_for(spec, spec.controller.mapping).table()
    one = dram_channel.make_channel(spec, gpu.dram_refresh)
    channels = commands.make_channels(config, mapping, one, gpu.dram_channels)
    commands.set_path(channels, gpu.dram_path_ticks)
    return channels


def leaks_of_memory(memory: Any, now: int) -> dict[str, int]:
    """What a memory hierarchy still holds, by name."""
    held = {"coalescer entries": int((memory_parts(memory).inflight[:, coalescer.READY] > now).sum())}
    if not isinstance(memory, Bounded):
        return held
    parts, totals = memory.hierarchy, memory.totals[0]
    slices = parts.cache.slices
    waiting = {name: int((slices[name] != NONE).sum()) for name in ("head", "tail", "before", "fill_head")}
    counted = {name: int(slices[name].sum()) for name in ("queued", "mshr_count", "state", "fill_state")}
    fronts = {name: int(parts.fronts[name].sum()) for name in ("letters", "steps", "waiting")}
    return (
        held
        | waiting
        | counted
        | fronts
        | {
            "requests": int(totals["in_use"]),
            "sets with pending fills": int((parts.pending != NONE).sum()),
            "SMs held": int(parts.sms["held"].sum()),
        }
    )


def memory_parts(memory: Any) -> Any:
    """The part of either hierarchy that holds its tables."""
    return memory.hierarchy if isinstance(memory, Bounded) else memory


def drain(built: machine.Machine) -> machine.Machine:
    """Let DRAM channels finish the writes that nobody waits for, which the end of a run leaves under way."""
    finish_writes(built.memory, built.queue)
    return built
