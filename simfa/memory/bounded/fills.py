"""Fills: lines that come from DRAM take a way, push out what was there, and answer all who wait for them."""

import numpy as np

from simfa.engine import events
from simfa.engine.jit import inlined_kernel, kernel
from simfa.memory import remote_copy, sets
from simfa.memory.bounded import dram, port, wires
from simfa.memory.bounded.dram import MSHR_BITS, WRITE
from simfa.memory.bounded.state import IDLE, NONE, ON_FILLS, ON_MSHR, TIMED
from simfa.memory.dram import TICKS


@inlined_kernel
def arrived(memory, argument):
    """A line is there. Returns its slice if no fill before it waits for room, else NONE."""
    index, place = argument >> MSHR_BITS, argument & ((1 << MSHR_BITS) - 1)
    unit = memory.cache.slices[index]
    memory.mshrs[index, place]["next"] = NONE
    if unit["fill_head"] >= 0:  # behind others that wait for room
        memory.mshrs[index, unit["fill_tail"]]["next"] = place
        unit["fill_tail"] = place
        return NONE
    unit["fill_head"] = unit["fill_tail"] = place
    return index


@inlined_kernel
def advance(memory, queue, index, now):
    """Work off the slice's fills as far as its queues have room. Returns the slice if it can go on, else NONE."""
    unit = memory.cache.slices[index]
    mshrs = memory.mshrs[index]
    unit["fill_state"] = IDLE
    while unit["fill_head"] >= 0:
        place = unit["fill_head"]
        mshr = mshrs[place]
        waits = _finish(memory, queue, unit, index, mshr, now)
        if waits != NONE:
            unit["fill_state"] = waits
            return NONE
        unit["fill_head"] = mshr["next"]
        _release(memory, unit, mshrs, place, now)
    if unit["state"] == ON_MSHR or unit["state"] == ON_FILLS:
        unit["free_ticks"] = max(unit["free_ticks"], now * TICKS)
        return index
    return NONE


@inlined_kernel
def _finish(memory, queue, unit, index, mshr, now):
    """Insert the line and answer; NONE when done, else what the fill waits for."""
    if not mshr["inserted"]:
        tags, bits = memory.cache.tags[mshr["row"]], memory.cache.bits[mshr["row"]]
        if sets.find(tags, mshr["line"]) < 0:  # else a store has written the whole line meanwhile
            writes_back = sets.evicts_dirty(tags, bits)
            if writes_back:
                waits = _write_room(memory, queue, unit, index, now)
                if waits != NONE:
                    return waits
            victim = sets.oldest(tags)
            sets.insert(tags, bits, mshr["line"], 0)
            if writes_back:
                dram.write(memory, queue, index, victim, now * TICKS, now)
        mshr["inserted"] = 1
    limits, period = memory.limits[0], memory.cache.config[0]["slice_ticks"]
    while mshr["first"] >= 0:
        room = port.room_at(unit["response_ticks"], limits["response_entries"], period)
        if room > now * TICKS:
            unit["response_waits"] += 1
            events.push(queue, (room + TICKS - 1) // TICKS, events.FILL_GOES_ON, index)
            return TIMED
        number = mshr["first"]
        mshr["first"] = memory.requests[number]["next"]
        wires.respond(memory, queue, unit, number, now * TICKS)
    return NONE


@inlined_kernel
def _write_room(memory, queue, unit, index, now):
    """NONE if the DRAM channel takes a write, else what the fill waits for."""
    waits, room = dram.room(memory, queue, index, WRITE, now * TICKS, now)
    if waits == NONE:
        return NONE
    unit["dram_waits"] += 1
    if waits == TIMED:
        events.push(queue, (room + TICKS - 1) // TICKS, events.FILL_GOES_ON, index)
    return waits


@inlined_kernel
def _release(memory, unit, mshrs, place, now):
    """The MSHR is free."""
    mshr = mshrs[place]
    row = mshr["row"]
    if memory.pending[row] == place:
        memory.pending[row] = mshr["next_in_set"]
    else:
        before = memory.pending[row]
        while mshrs[before]["next_in_set"] != place:
            before = mshrs[before]["next_in_set"]
        mshrs[before]["next_in_set"] = mshr["next_in_set"]
    mshr["next"] = unit["free_mshr"]
    unit["free_mshr"] = place
    unit["mshr_count"] -= 1
    unit["mshr_cycles"] += now - mshr["since"]


@kernel
def leave_copy(memory, queue, number, now):
    """A response from the other partition passes the near slice and may leave a copy, if no queue is in the way."""
    config = memory.cache.config[0]
    request = memory.requests[number]
    per_partition = config["slices_per_partition"]
    near = np.int64(request["home"]) % per_partition + memory.partition[request["sm"]] * per_partition
    row = request["row"] + (near - np.int64(request["home"])) * config["sets"]
    tags, bits = memory.cache.tags[row], memory.cache.bits[row]
    line = request["line"]
    wires.release(memory, number)
    if sets.find(tags, line) >= 0 or not remote_copy.inserts(config, bits, sets.COPY):
        return
    writes_back = sets.evicts_dirty(tags, bits)
    if writes_back and dram.room(memory, queue, near, WRITE, now * TICKS, now)[0] != NONE:
        memory.totals[0]["copies_dropped"] += 1
        return
    victim = sets.oldest(tags)
    sets.insert(tags, bits, line, sets.COPY)
    if writes_back:
        dram.write(memory, queue, near, victim, now * TICKS, now)
