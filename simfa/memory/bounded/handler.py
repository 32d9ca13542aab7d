"""Every event of the bounded hierarchy, to the part that it concerns."""

from simfa.engine import events, prefetch
from simfa.engine.jit import inlined_kernel
from simfa.memory.bounded import commands, fills, mailbox, slices
from simfa.memory.bounded.dram import channel_of
from simfa.memory.bounded.state import NONE, ON_READS, TIMED
from simfa.memory.dram import TICKS


@inlined_kernel
def handle(memory, channels, queue, kind, argument, now):
    """One event; returns an SM that may send again, or NONE."""
    index = NONE  # a slice whose head can be served now
    if kind == events.ARRIVE:
        index = slices.arrive(memory, queue, argument, now)
    elif kind == events.SERVE:
        index = argument
    elif kind == events.FILL or kind == events.FILL_GOES_ON:
        filled = fills.arrived(memory, argument) if kind == events.FILL else argument
        if filled >= 0:
            index = fills.advance(memory, queue, filled, now)
    elif kind == events.DRAM_STEP:
        commands.step(memory, channels, queue, argument, now)
        _wake(memory, queue, argument, now)
    else:
        fills.leave_copy(memory, queue, argument, now)
    return NONE if index < 0 else slices.serve(memory, queue, index, now)


@inlined_kernel
def expect(memory, queue):
    """Fetch the request of the next event of this cycle, if that is an arrival."""
    node = queue.buckets[queue.header[0]["now"] & (events.WHEEL - 1)]["head"]
    if node >= 0:
        payload = queue.events[node]["payload"]
        if payload >> events.KIND_SHIFT == events.ARRIVE:
            prefetch.fetch(memory.requests, payload & events.ARGUMENT_MASK)


@inlined_kernel
def _wake(memory, queue, channel, now):
    """Slices and fills that waited for a queue of the channel go on in this cycle if it has room."""
    front = memory.fronts[channel]
    if front["waiting"] == 0:
        return
    front["waiting"] = 0
    config = memory.cache.config[0]
    for index in range(channel * config["slices"] // config["dram_channels"], config["slices"]):
        if channel_of(memory, index) > channel:
            return
        if channel_of(memory, index) < channel:
            continue
        unit = memory.cache.slices[index]
        if _has_room(memory, channel, unit["fill_state"]):
            unit["fill_state"] = TIMED
            events.push(queue, now, events.FILL_GOES_ON, index)
        if _has_room(memory, channel, unit["state"]):
            unit["free_ticks"] = max(unit["free_ticks"], now * TICKS)
            slices.serve_at(queue, unit, index, now * TICKS)


@inlined_kernel
def _has_room(memory, channel, state):
    """Whether something in this state waits for room that there is; what still waits the channel keeps in mind."""
    if state < ON_READS:
        return False
    if mailbox.has_room(memory.fronts[channel], state - ON_READS):
        return True
    memory.fronts[channel]["waiting"] |= 1 << (state - ON_READS)
    return False
