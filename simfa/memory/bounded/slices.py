"""An L2 slice: request queue, service in order at the slice's rate, tags, MSHRs."""

import numpy as np

from simfa.engine import events
from simfa.engine.jit import inlined_kernel
from simfa.memory import sets
from simfa.memory.bounded import dram, port, wires
from simfa.memory.bounded.dram import READ, WRITE
from simfa.memory.bounded.state import IDLE, NONE, ON_FILLS, ON_MSHR, TIMED
from simfa.memory.dram import TICKS

SERVED = NONE  # otherwise the state in which the slice waits


@inlined_kernel
def arrive(memory, queue, number, now):
    """A request reaches its slice; returns the slice if it can serve it at once, else NONE."""
    request = memory.requests[number]
    index = np.int64(request["slice"])
    unit = memory.cache.slices[index]
    request["next"] = NONE
    request["arrived"] = now
    if unit["tail"] >= 0:
        memory.requests[unit["tail"]]["next"] = number
    else:
        unit["head"] = number
    unit["tail"] = number
    if unit["queued"] == memory.limits[0]["request_entries"]:
        _hold_back(memory, unit, request["sm"], number, now)
        return NONE
    unit["queued"] += 1
    unit["request_most"] = max(unit["request_most"], unit["queued"])
    if unit["state"] != IDLE:
        return NONE
    unit["free_ticks"] = max(unit["free_ticks"], now * TICKS)
    if unit["free_ticks"] > now * TICKS:
        serve_at(queue, unit, index, unit["free_ticks"])
        return NONE
    return index


@inlined_kernel
def _hold_back(memory, unit, sm, number, now):
    """The queue is full: the request stands before it, and its SM sends nothing more."""
    unit["held_back"] += 1
    if unit["before"] < 0:
        unit["before"] = number
    sender = memory.sms[sm]
    if sender["held"] == 0:
        sender["since"] = now
    sender["held"] += 1


@inlined_kernel
def _move_up(memory, unit, now):
    """The first request before the queue enters its free place. Returns an SM that may send again, or NONE."""
    number = unit["before"]
    if number < 0:
        unit["queued"] -= 1
        return NONE
    request = memory.requests[number]
    request["arrived"] = now
    unit["before"] = request["next"]
    sender = memory.sms[request["sm"]]
    sender["held"] -= 1
    if sender["held"] > 0:
        return NONE
    sender["held_cycles"] += now - sender["since"]
    return np.int64(request["sm"])


@inlined_kernel
def serve_at(queue, unit, index, ticks):
    """Serve the head of the queue at a later time."""
    unit["state"] = TIMED
    events.push(queue, (ticks + TICKS - 1) // TICKS, events.SERVE, index)


@inlined_kernel
def serve(memory, queue, index, now):
    """Serve the head of a slice's queue, or note what it waits for; returns an SM that may send again, or NONE."""
    unit = memory.cache.slices[index]
    number = unit["head"]
    request = memory.requests[number]
    unit["state"] = IDLE
    if request["is_store"]:
        outcome = _store(memory, queue, unit, number, request, now)
    else:
        outcome = _load(memory, queue, unit, index, number, request, now)
    if outcome != SERVED:
        if outcome == TIMED:
            serve_at(queue, unit, index, unit["free_ticks"])
        unit["state"] = outcome
        return NONE
    return _advance(memory, queue, unit, index, now)


@inlined_kernel
def _advance(memory, queue, unit, index, now):
    """The head has been served and has left the queue's storage: the others move up."""
    unit["free_ticks"] += memory.cache.config[0]["slice_ticks"]
    if unit["head"] < 0:
        unit["tail"] = NONE
    else:
        serve_at(queue, unit, index, max(unit["free_ticks"], now * TICKS))
    return _move_up(memory, unit, now)


@inlined_kernel
def _take_head(unit, request, now):
    unit["head"] = request["next"]
    unit["request_cycles"] += now - request["arrived"]


@inlined_kernel
def _has_response_room(memory, unit, now):
    """Whether the response queue has room in this cycle; else the slice is free when it has."""
    limits, period = memory.limits[0], memory.cache.config[0]["slice_ticks"]
    room = port.room_at(unit["response_ticks"], limits["response_entries"], period)
    if room > unit["free_ticks"]:
        unit["free_ticks"] = room
        if room > now * TICKS:
            unit["response_waits"] += 1
            return False
    return True


@inlined_kernel
def _load(memory, queue, unit, index, number, request, now):
    tags, bits = memory.cache.tags[request["row"]], memory.cache.bits[request["row"]]
    way = sets.find(tags, request["line"])
    if way >= 0:
        if unit["fill_head"] >= 0:
            return ON_FILLS
        if not _has_response_room(memory, unit, now):
            return TIMED
        sets.promote(tags, bits, way)
        unit["accesses"] += 1
        unit["hits"] += 1
        if request["is_passing"]:
            unit["copy_hits"] += 1
            request["leaves_copy"] = 0
            request["response_cycles"] = memory.limits[0]["near_response_cycles"]
        _take_head(unit, request, now)
        wires.respond(memory, queue, unit, number, unit["free_ticks"])
        return SERVED
    if request["is_passing"]:
        _pass_on(memory, queue, unit, number, request, now)
        return SERVED
    return _miss(memory, queue, unit, index, number, request, now)


@inlined_kernel
def _pass_on(memory, queue, unit, number, request, now):
    """No near copy: on to the home slice in the other partition."""
    _take_head(unit, request, now)
    limits = memory.limits[0]
    request["row"] += (request["home"] - request["slice"]) * memory.cache.config[0]["sets"]
    request["slice"] = request["home"]
    request["is_passing"] = 0
    later = limits["far_request_cycles"] - limits["near_request_cycles"]
    events.push(queue, now + later, events.ARRIVE, number)


@inlined_kernel
def _miss(memory, queue, unit, index, number, request, now):
    """Join the MSHR that fetches the line, or take one and go to DRAM."""
    mshrs = memory.mshrs[index]
    place = memory.pending[request["row"]]
    while place >= 0 and mshrs[place]["line"] != request["line"]:
        place = mshrs[place]["next_in_set"]
    if place >= 0:
        unit["merges"] += 1
        _take_head(unit, request, now)
        memory.requests[mshrs[place]["last"]]["next"] = number
    else:
        place = unit["free_mshr"]
        if place < 0:
            unit["mshr_waits"] += 1
            return ON_MSHR
        waits = dram.waits(memory, queue, unit, index, READ, now)
        if waits != SERVED:
            return waits
        unit["misses"] += 1
        _take_head(unit, request, now)
        _track(memory, unit, mshrs[place], place, number, request, now)
        dram.read(memory, queue, index, place, request["line"], unit["free_ticks"], now)
    unit["accesses"] += 1
    mshrs[place]["last"] = number
    request["next"] = NONE
    return SERVED


@inlined_kernel
def _track(memory, unit, mshr, place, number, request, now):
    """Take an MSHR for a request's line."""
    unit["free_mshr"] = mshr["next"]
    unit["mshr_count"] += 1
    unit["mshr_most"] = max(unit["mshr_most"], unit["mshr_count"])
    mshr["line"] = request["line"]
    mshr["row"] = request["row"]
    mshr["since"] = now
    mshr["first"] = number
    mshr["inserted"] = 0
    mshr["next_in_set"] = memory.pending[request["row"]]
    memory.pending[request["row"]] = place


@inlined_kernel
def _store(memory, queue, unit, number, request, now):
    """Write a line: a way without fetching, dirty; on the way to another partition it drops the near copy."""
    tags, bits = memory.cache.tags[request["row"]], memory.cache.bits[request["row"]]
    way = sets.find(tags, request["line"])
    if request["is_passing"]:
        if way >= 0:
            sets.drop(tags, bits, way)
        _pass_on(memory, queue, unit, number, request, now)
        return SERVED
    if unit["fill_head"] >= 0:
        return ON_FILLS
    index = np.int64(request["slice"])
    writes_back = way < 0 and sets.evicts_dirty(tags, bits)
    if writes_back:
        waits = dram.waits(memory, queue, unit, index, WRITE, now)
        if waits != SERVED:
            return waits
    if not _has_response_room(memory, unit, now):
        return TIMED
    if way >= 0:
        sets.promote(tags, bits, way)
        unit["hits"] += 1
    else:
        victim = sets.oldest(tags)
        sets.insert(tags, bits, request["line"], 0)
        unit["misses"] += 1
        if writes_back:
            dram.write(memory, queue, index, victim, unit["free_ticks"], now)
    bits[0] |= sets.DIRTY
    unit["accesses"] += 1
    _take_head(unit, request, now)
    wires.respond(memory, queue, unit, number, unit["free_ticks"])
    return SERVED
