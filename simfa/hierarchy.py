"""The bounded memory hierarchy of a GPU preset, cold: queues, latencies split around the slice, DRAM channels."""

from fractions import Fraction

import numpy as np

from presets import loader
from presets.dram_specs import DramChannelSpec
from presets.errors import NotModelled, PresetError
from presets.specs import DramSpec, GpuSpec, L2TimingSpec
from simfa import dram_channel
from simfa.memory.bounded import commands
from simfa.memory.bounded.state import COMMANDS, IN_ORDER, LIMITS, Bounded, make_bounded
from simfa.memory.channel.mapping import AddressMapping


def is_bounded(timing: L2TimingSpec) -> bool:
    """Whether the preset asks for bounded queues."""
    return timing.queues == "bounded"


def bounded(
    gpu: GpuSpec,
    timing: L2TimingSpec,
    config: np.ndarray,
    coalescer: tuple[np.ndarray, np.ndarray],
    partition: np.ndarray,
    lines_per_sm: int,
) -> Bounded:
    """The hierarchy for an `l2.CONFIG` record, coalescer tables with the unit of each SM, and SMs by partition."""
    limits = _limits(gpu, timing)

    def cold(channels: commands.CommandChannels) -> Bounded:
        return make_bounded(config, limits, *coalescer, partition, lines_per_sm, channels)

    if limits[0]["dram"] == IN_ORDER:
        return cold(commands.no_channels())
    within = commands.unloaded_ticks(*cold(_channels(gpu)))
    channels = _channels(gpu)
    commands.set_path(channels, max(round(gpu.dram.latency_s * _ticks_per_s(channel_spec(gpu))) - within, 0))
    return cold(channels)


def _limits(gpu: GpuSpec, timing: L2TimingSpec) -> np.ndarray:
    assert timing.request_latency_share is not None and gpu.dram.queue_lines is not None
    near, far = timing.near_latency_cycles, timing.far_latency_cycles
    near_there, far_there = (round(timing.request_latency_share * latency) for latency in (near, far))
    limits = np.zeros(1, LIMITS)
    limits[0] = (
        timing.request_queue_entries,
        timing.response_queue_entries,
        near_there,
        far_there,
        near - near_there,
        far - far_there,
        COMMANDS if gpu.dram.channel_model == "commands" else IN_ORDER,
        gpu.dram.queue_lines,
    )
    return limits


def channel_spec(gpu: GpuSpec) -> DramChannelSpec:
    """The preset of one command-level channel, or NotModelled where it does not fit the GPU."""
    dram = gpu.dram
    if dram.channel_preset is None:
        raise NotModelled(f"{gpu.name}: dram.channel_model commands needs dram.channel_preset")
    try:
        spec = loader.load(DramChannelSpec, dram.channel_preset)
        _mapping(spec, dram)
    except PresetError as error:
        raise NotModelled(f"dram.channel_preset: {error}") from None
    entries = gpu.l2.line_bytes // spec.organisation.access_bytes
    queues = spec.controller
    if min(queues.read_queue_entries, queues.write_queue_entries) < entries:
        raise NotModelled(f"{spec.name}: a queue of less than {entries} entries does not hold a line")
    return spec


def _mapping(spec: DramChannelSpec, dram: DramSpec) -> AddressMapping:
    return dram_channel.mapping_for(spec, dram.mapping or spec.controller.mapping)


def _ticks_per_s(spec: DramChannelSpec) -> float:
    return 1e9 / dram_channel.tick_ns(spec)


def _channels(gpu: GpuSpec) -> commands.CommandChannels:
    """All DRAM channels, idle; ticks and SM cycles as a ratio of whole numbers."""
    spec = channel_spec(gpu)
    shape = spec.organisation
    ratio = Fraction(round(_ticks_per_s(spec)), round(gpu.sm.clock_hz))
    config = np.zeros(1, commands.CONFIG)
    config[0] = (
        ratio.numerator,
        ratio.denominator,
        0,
        gpu.l2.line_bytes // shape.access_bytes,
        gpu.l2.line_bytes,
        shape.access_bytes,
        spec.capacity_bytes() // shape.access_bytes,
        shape.sids,
        shape.bank_groups,
        shape.banks,
        0,
    )
    one = dram_channel.make_channel(spec, gpu.dram.refresh or "all-bank")
    return commands.make_channels(config, _mapping(spec, gpu.dram).table(), one, gpu.dram.channels)
