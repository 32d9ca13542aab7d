"""One DRAM channel alone: requests in, latencies and bandwidth out."""

import math
import time
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from presets.dram_specs import DramChannelSpec
from presets.errors import PresetError, unknown
from simfa.memory.channel import commands, driver, queues, state, timing
from simfa.memory.channel.mapping import COORDINATES, MAPPINGS, AddressMapping

Refresh = Literal["none", "all-bank"]
REFRESHES: tuple[Refresh, ...] = get_args(Refresh)
MAX_OUTSTANDING = 1 << 16


@dataclass(frozen=True)
class Requests:
    """A stream of requests of equal size. Without arrivals it is a closed loop; arrivals are in ticks."""

    address: np.ndarray
    is_write: np.ndarray
    size_bytes: int
    arrival_ticks: np.ndarray | None = None


@dataclass(frozen=True)
class ChannelResult:
    """When each request entered the FIFO and when it was done (ticks), commands by name, and the time it took.

    Reads of what a queued write holds are `forwarded`, writes to it `merged`: accesses without a command.
    """

    spec: DramChannelSpec
    requests: Requests
    entered_ticks: np.ndarray
    done_ticks: np.ndarray
    commands: dict[str, int]
    forwarded: int
    merged: int
    trace: np.ndarray
    wall_s: float

    def latency_ns(self) -> np.ndarray:
        """From the FIFO to the last data, per request, ns."""
        return (self.done_ticks - self.entered_ticks) * tick_ns(self.spec)


def tick_ns(spec: DramChannelSpec) -> float:
    """Half a command clock, ns."""
    return 1e9 / (commands.TICKS_PER_CLOCK * spec.clock.frequency_hz)


def accesses(spec: DramChannelSpec, requests: Requests) -> np.ndarray:
    """The byte address of every access of every request, in the order in which they enter the channel."""
    offsets = spec.organisation.access_bytes * np.arange(requests.size_bytes // spec.organisation.access_bytes)
    return (requests.address.astype(np.int64)[:, None] + offsets).reshape(-1)


def mapping_for(spec: DramChannelSpec, name: str) -> AddressMapping:
    """The mapping of that name, if it fits the channel's organisation. Raises PresetError."""
    if name not in MAPPINGS:
        raise PresetError(f"--mapping: {unknown('mapping', name, MAPPINGS)}")
    shape = spec.organisation
    columns = shape.row_bytes // shape.access_bytes
    sizes = (shape.pseudo_channels, shape.sids, shape.bank_groups, shape.banks, shape.rows, columns)
    for coordinate, size in zip(COORDINATES, sizes, strict=True):
        bits = len(MAPPINGS[name].bits[coordinate])
        if size != 1 << bits:
            raise PresetError(
                f"--mapping {name} addresses {1 << bits} {coordinate.replace('_', ' ')}s, {spec.name} has {size}"
            )
    return MAPPINGS[name]


def run(
    spec: DramChannelSpec,
    requests: Requests,
    *,
    outstanding: int = 32,
    mapping: str | None = None,
    refresh: Refresh = "none",
    trace: int = 0,
) -> ChannelResult:
    """Simulate the stream; `trace` is how many DRAM commands to keep. Raises PresetError on a bad option.

    `wall_s` is the time of the simulation alone: compiling, or loading what was compiled, comes before it.
    """
    if not 1 <= outstanding <= MAX_OUTSTANDING:
        raise PresetError(f"--outstanding: {outstanding} is out of range; allowed: 1 to {MAX_OUTSTANDING}")
    mapping = mapping or spec.controller.mapping
    _compile(spec, mapping)
    channel = make_channel(spec, refresh, trace)
    stream = _stream(spec, requests, mapping, outstanding)
    begin = time.perf_counter()
    outcome = driver.run(channel, stream, outstanding)
    wall_s = time.perf_counter() - begin
    if outcome != driver.FINISHED:
        raise RuntimeError(f"the DRAM channel stopped after {stream.progress[0]['complete']} requests")
    control = channel.control[0]
    return ChannelResult(
        spec=spec,
        requests=requests,
        entered_ticks=stream.entered,
        done_ticks=stream.done,
        commands={name: int(count) for name, count in zip(commands.NAMES, channel.issued, strict=True)},
        forwarded=int(control["forwarded"]),
        merged=int(control["merged"]),
        trace=channel.trace[: control["commands"]],
        wall_s=wall_s,
    )


def _compile(spec: DramChannelSpec, mapping: str) -> None:
    """Have the kernel compiled, or loaded, by one request; microseconds where it already is."""
    one = Requests(np.zeros(1, np.int64), np.zeros(1, np.int64), spec.organisation.access_bytes)
    driver.run(make_channel(spec, "none", 0), _stream(spec, one, mapping, 1), 1)


def make_channel(spec: DramChannelSpec, refresh: Refresh, trace: int = 0) -> state.Channel:
    """An idle channel of a preset; `trace` is how many DRAM commands to keep."""
    clocks, shape, settings = spec.timing.by_name(), spec.organisation, spec.controller
    constraints = timing.make_timing(clocks, shape.pseudo_channels, shape.sids, shape.bank_groups, shape.banks)
    store = queues.make_queues(settings.read_queue_entries, settings.write_queue_entries, constraints.open_row.size)
    drain = (
        math.floor(settings.drain_above * settings.write_queue_entries),
        math.ceil(settings.drain_below * settings.write_queue_entries),
    )
    ticks = commands.TICKS_PER_CLOCK
    interval = ticks * clocks["nREFI"] if refresh == "all-bank" else 0
    return state.make_channel(constraints, store, drain, ticks * (clocks["nCL"] + clocks["nBL"]), interval, trace)


def _stream(spec: DramChannelSpec, requests: Requests, mapping: str, outstanding: int) -> driver.Stream:
    addresses = accesses(spec, requests)
    at = mapping_for(spec, mapping)(addresses)
    shape = spec.organisation
    group = (at["pseudo_channel"] * shape.sids + at["sid"]) * shape.bank_groups + at["bank_group"]
    bank = group * shape.banks + at["bank"]
    block = addresses % spec.capacity_bytes() // shape.access_bytes
    arrival = np.zeros(0, np.int64) if requests.arrival_ticks is None else requests.arrival_ticks
    return driver.make_stream(requests.is_write.astype(np.int64), arrival, bank, at["row"], block, outstanding)


def statistics(result: ChannelResult) -> dict[str, Any]:
    """Read latency after a warm-up of a twentieth of the requests; bandwidth between 5 % and 98 % of completions.

    Of forty thousand requests the first 2,000 are dropped. None where there is no read, or too little to time.
    """
    requests = result.requests
    count = requests.is_write.size
    reads = ~requests.is_write.astype(bool)
    measured = result.latency_ns()[reads & (np.arange(count) >= count // 20)]
    latency = dict.fromkeys(("mean", "p50", "p95", "p99", "max"))
    if measured.size:
        p50, p95, p99 = np.percentile(measured, (50, 95, 99))
        latency = {"mean": measured.mean(), "p50": p50, "p95": p95, "p99": p99, "max": measured.max()}
    named = {f"latency_{name}_ns": None if value is None else float(value) for name, value in latency.items()}
    return named | {"bandwidth_gbs": _bandwidth_gbs(result), "requests": count, "reads": int(reads.sum())}


def _bandwidth_gbs(result: ChannelResult) -> float | None:
    done = np.sort(result.done_ticks)
    first, last = int(0.05 * done.size), int(0.98 * done.size) - 1
    if last <= first or done[last] == done[first]:
        return None
    seconds = (done[last] - done[first]) * tick_ns(result.spec) * 1e-9
    return float(result.requests.size_bytes * (last - first) / seconds / 1e9)
