"""Between SM and slice: the coalescer of an SM pair, the way there, and the way back."""

from simfa.engine import events, prefetch
from simfa.engine.jit import inlined_kernel
from simfa.memory import coalescer, hashing
from simfa.memory.bounded import port
from simfa.memory.bounded.state import NONE
from simfa.memory.dram import TICKS

IN_FLIGHT = 1 << 60  # a coalescer entry without a response yet: this plus the number of its request


@inlined_kernel
def send(memory, queue, sm, line, now, operation, is_store, later):
    """A read or write of one line leaves its SM; returns the latency if it is known already, else 0."""
    unit = -1 if is_store else memory.unit[sm]
    entry = NONE
    if unit >= 0:
        coalescer.expect(memory.inflight, unit, line + 1)
        found = coalescer.find(memory.inflight, unit, line, now)
        if found >= 0:
            memory.totals[0]["coalesced"] += 1
            return _join(memory, queue, coalescer.ready(memory.inflight, found), sm, now, operation, later)
        if found == coalescer.NO_ENTRY:
            memory.totals[0]["coalescer_full"] += 1
        else:
            entry = -2 - found
    number = _take(memory, sm, now, operation, later)
    if entry >= 0:
        coalescer.keep(memory.inflight, entry, line, IN_FLIGHT + number)
    request = memory.requests[number]
    request["line"] = line
    request["entry"] = entry
    request["is_store"] = is_store
    events.push(queue, now + _address(memory, request, line, memory.partition[sm]), events.ARRIVE, number)
    return 0


@inlined_kernel
def _take(memory, sm, now, operation, later):
    """A free request record."""
    totals = memory.totals[0]
    number = totals["free"]
    request = memory.requests[number]
    totals["free"] = request["next"]
    totals["in_use"] += 1
    request["sm"] = sm
    request["issued"] = now
    request["operation"] = operation
    request["joined"] = NONE
    request["later"] = later
    return number


@inlined_kernel
def release(memory, number):
    """Give a request record back."""
    totals = memory.totals[0]
    memory.requests[number]["next"] = totals["free"]
    totals["free"] = number
    totals["in_use"] -= 1


@inlined_kernel
def _join(memory, queue, ready, sm, now, operation, later):
    """Wait for a request of the pair; its response may be on its way already."""
    if ready < IN_FLIGHT:
        events.push(queue, ready + later, events.LINE_ARRIVED, operation)
        return ready + later - now
    first = memory.requests[ready - IN_FLIGHT]
    number = _take(memory, sm, now, operation, later)
    memory.requests[number]["next"] = first["joined"]
    first["joined"] = number
    return 0


@inlined_kernel
def _address(memory, request, line, partition):
    """Where a request goes first, and how it comes back; returns the cycles of its way there."""
    config, limits = memory.cache.config[0], memory.limits[0]
    folded = hashing.fold(line, config["slice_hash"])
    home = folded % config["slices"]
    set_index = hashing.chosen_set(folded, config["slices"], config["sets"], config["set_hash"])
    per_partition = config["slices_per_partition"]
    is_near = home // per_partition == partition
    passes = config["copy_share"] > 0 and not is_near
    first = home % per_partition + partition * per_partition if passes else home
    request["home"] = home
    request["slice"] = first
    request["row"] = row = first * config["sets"] + set_index
    prefetch.fetch(memory.cache.tags, row)  # wanted when the request has arrived
    prefetch.fetch(memory.cache.bits, row)
    request["is_passing"] = passes
    request["leaves_copy"] = passes and not request["is_store"]
    near = is_near or passes
    request["response_cycles"] = limits["near_response_cycles"] if is_near else limits["far_response_cycles"]
    return limits["near_request_cycles"] if near else limits["far_request_cycles"]


@inlined_kernel
def respond(memory, queue, unit, number, data_ticks):
    """Put a response into the slice's queue: it leaves in its turn and reaches the SMs that wait for it."""
    request = memory.requests[number]
    period = memory.cache.config[0]["slice_ticks"]
    leaves = max(data_ticks, unit["response_ticks"])
    unit["response_ticks"] = leaves + period
    if leaves > data_ticks:
        unit["response_wait_ticks"] += leaves - data_ticks
        unit["response_most"] = max(unit["response_most"], port.waiting(unit["response_ticks"], data_ticks, period))
    left = (leaves + TICKS - 1) // TICKS
    arrival = left + request["response_cycles"]
    events.push(queue, arrival + request["later"], events.LINE_ARRIVED, request["operation"])
    totals = memory.totals[0]
    if request["is_store"] == 0:
        totals["latency_cycles"] += arrival + request["later"] - request["issued"]
    entry = request["entry"]
    if entry >= 0:
        coalescer.answer(memory.inflight, entry, arrival)
    joined = request["joined"]
    while joined >= 0:
        other = memory.requests[joined]
        following = other["next"]
        events.push(queue, arrival + other["later"], events.LINE_ARRIVED, other["operation"])
        totals["latency_cycles"] += arrival + other["later"] - other["issued"]
        release(memory, joined)
        joined = following
    if request["leaves_copy"]:
        limits = memory.limits[0]
        passes = left + limits["far_response_cycles"] - limits["near_response_cycles"]
        events.push(queue, passes, events.COPY, number)
    else:
        release(memory, number)
