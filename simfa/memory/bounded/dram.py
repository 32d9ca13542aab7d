"""What a slice sees of its DRAM channel: whether there is room, a read, a write-back."""

from simfa.engine import events
from simfa.engine.jit import inlined_kernel
from simfa.memory import hashing
from simfa.memory.bounded import mailbox, port
from simfa.memory.bounded.mailbox import READ, WRITE
from simfa.memory.bounded.state import IN_ORDER, NONE, ON_READS, TIMED
from simfa.memory.dram import TICKS

MSHR_BITS = 9  # of a FILL event's argument


@inlined_kernel
def channel_of(memory, index):
    """The channel behind a slice."""
    config = memory.cache.config[0]
    return index * config["dram_channels"] // config["slices"]


@inlined_kernel
def room(memory, queue, index, kind, ticks, now):
    """(NONE, tick) if the channel takes a line in this cycle, (TIMED, tick) if from a tick on, else what for."""
    limits, channel = memory.limits[0], channel_of(memory, index)
    if limits["dram"] == IN_ORDER:
        period = memory.cache.config[0]["dram_line_ticks"]
        at = port.room_at(memory.cache.channels[channel]["free_ticks"], limits["dram_entries"], period)
        return (TIMED if at > max(ticks, now * TICKS) else NONE), at
    front = memory.fronts[channel]
    if mailbox.has_room(front, kind):
        return NONE, ticks
    front["waiting"] |= 1 << kind
    mailbox.step_by(memory, queue, channel, now)  # by what is known here; the channel may be further
    return ON_READS + kind, ticks


@inlined_kernel
def waits(memory, queue, unit, index, kind, now):
    """NONE if the channel takes a line of the slice's head, else what the slice waits for."""
    state, at = room(memory, queue, index, kind, unit["free_ticks"], now)
    if state != NONE:
        unit["dram_waits"] += 1
    if state in (NONE, TIMED):
        unit["free_ticks"] = max(unit["free_ticks"], at)
    return state


@inlined_kernel
def read(memory, queue, index, place, line, ticks, now):
    """Fetch a line into MSHR `place` of a slice; there is room."""
    config, number = memory.cache.config[0], channel_of(memory, index)
    channel = memory.cache.channels[number]
    channel["reads"] += 1
    argument = index << MSHR_BITS | place
    if memory.limits[0]["dram"] == IN_ORDER:
        begin = _occupy(channel, ticks, config["dram_line_ticks"])
        there = (begin + config["dram_latency_ticks"] + TICKS - 1) // TICKS
        events.push(queue, there, events.FILL, argument)
        return
    memory.mshrs[index, place]["left"] = memory.fronts[number]["accesses"]
    mailbox.post(memory, queue, number, READ, local_line(config, index, number, line), argument, now)


@inlined_kernel
def write(memory, queue, index, line, ticks, now):
    """Write an evicted line back; there is room, and nobody waits for it."""
    config, number = memory.cache.config[0], channel_of(memory, index)
    channel = memory.cache.channels[number]
    channel["writes"] += 1
    if memory.limits[0]["dram"] == IN_ORDER:
        _occupy(channel, ticks, config["dram_line_ticks"])
        return
    mailbox.post(memory, queue, number, WRITE, local_line(config, index, number, line), NONE, now)


@inlined_kernel
def _occupy(channel, ticks, period):
    """One line's transfer in its turn; returns when it begins."""
    begin = max(ticks, channel["free_ticks"])
    channel["free_ticks"] = begin + period
    channel["wait_ticks"] += begin - ticks
    channel["most"] = max(channel["most"], port.waiting(begin + period, ticks, period))
    return begin


@inlined_kernel
def local_line(config, index, channel, line):
    """The line's number within its channel: its slice's lines in order, those of sister slices between."""
    slices, channels = config["slices"], config["dram_channels"]
    first = (channel * slices + channels - 1) // channels
    sisters = ((channel + 1) * slices + channels - 1) // channels - first
    return hashing.fold(line, config["slice_hash"]) // slices * sisters + index - first
