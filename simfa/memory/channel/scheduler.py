"""First ready, first come, first served, with row hits protected: which command a bus takes at this tick.

The column bus serves entries whose row has just been opened for them, then row hits, oldest first. The row bus
activates for the oldest ready entry of a closed bank, or precharges for the oldest ready miss of an open one. A
pick also says the earliest tick at which an offer that is not ready yet will be: the ticks between can be skipped.
"""

from simfa.engine.jit import inlined_kernel
from simfa.memory.channel.commands import ACT, PRE, RD, ROW_BUS
from simfa.memory.channel.queues import ACTIVATE, BANK_BITS, FAR, HIT, NONE, PRECHARGE, offered
from simfa.memory.channel.timing import ready_at


@inlined_kernel
def column_command(kind):
    """RD for the read queue, WR for the write queue."""
    return RD + kind


@inlined_kernel
def pick_active(timing, queues, now):
    """(place of the active entry to serve or NONE, earliest tick of one that is not ready)."""
    best, best_arrived, wake = NONE, FAR, FAR
    for place in range(queues.counts[0]["active"]):
        entry = queues.active[place]
        ready = ready_at(timing, column_command(entry["kind"]), entry["bank"])
        if ready > now:
            wake = min(wake, ready)
        elif entry["arrived"] < best_arrived:
            best, best_arrived = place, entry["arrived"]
    return best, wake


@inlined_kernel
def pick_hit(timing, queues, kind, now):
    """(slot of the row hit to serve or NONE, earliest tick of one that is not ready)."""
    key, wake = _oldest(timing, queues, kind, HIT, column_command(kind), now)
    return (NONE if key == FAR else offered(queues, kind, HIT, key)), wake


@inlined_kernel
def pick_row(timing, queues, kind, now):
    """(slot of the entry whose bank gets ACT or PRE, or NONE; earliest tick of one that is not ready)."""
    best, wake = _oldest(timing, queues, kind, PRECHARGE, PRE, now)
    key, later = _oldest(timing, queues, kind, ACTIVATE, ACT, now)
    wake = min(wake, later | 1)  # an activate starts on a rising edge
    if now & 1:
        best = min(best, key)
    elif key != FAR:
        wake = now + 1
    wake = max(wake, timing.bus_at[ROW_BUS])
    return (NONE if best == FAR else offered(queues, kind, ACTIVATE, best)), wake


@inlined_kernel
def _oldest(timing, queues, kind, offer, command, now):
    """(smallest key of a bank that is ready or FAR, earliest tick of a bank with a key that is not ready)."""
    best, wake = FAR, FAR
    keys, at = queues.keys[kind, offer], timing.at[command]
    for place in range(queues.offers[kind, offer]):
        ready = at[keys[place] & ((1 << BANK_BITS) - 1)]
        if ready > now:
            wake = min(wake, ready)
        else:
            best = min(best, keys[place])
    return best, wake
