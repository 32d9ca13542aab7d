"""First ready, first come, first served, with row hits protected: which command a bus takes at this tick.

The column bus serves entries whose row has just been opened for them, then row hits, oldest first. The row bus
activates for the oldest ready entry of a closed bank, or precharges for the oldest ready miss of an open one,
unless a row hit that came no later still waits there or an activated entry does. A pick also says the earliest
tick at which another pick could differ, so that the ticks between can be skipped.
"""

from simfa.engine.jit import inlined_kernel
from simfa.memory.channel import timing as state
from simfa.memory.channel.commands import ACT, PRE, RD, ROW_BUS
from simfa.memory.channel.queues import NONE

FAR = 1 << 60


@inlined_kernel
def column_command(kind):
    """RD for the read queue, WR for the write queue."""
    return RD + kind


@inlined_kernel
def pick_active(timing, queues, now):
    """(place of the active entry to serve or NONE, earliest tick of one that is not ready)."""
    best, best_arrived, wake = NONE, FAR, FAR
    for place in range(queues.counts[0]["count"]):
        entry = queues.entries[queues.active[place]]
        ready = state.ready_at(timing, entry["bank"], column_command(entry["kind"]))
        if ready > now:
            wake = min(wake, ready)
        elif entry["arrived"] < best_arrived:
            best, best_arrived = place, entry["arrived"]
    return best, wake


@inlined_kernel
def pick_hit(timing, queues, kind, now):
    """(slot of the row hit to serve or NONE, earliest tick of one that is not ready)."""
    best, best_order, wake = NONE, FAR, FAR
    command = column_command(kind)
    for place in range(queues.queues[kind]["busy"]):
        bank = queues.busy[kind, place]
        slot = queues.lists[kind, bank]["hit"]
        if slot == NONE:
            continue
        ready = state.ready_at(timing, bank, command)
        if ready > now:
            wake = min(wake, ready)
        elif queues.entries[slot]["order"] < best_order:
            best, best_order = slot, queues.entries[slot]["order"]
    return best, wake


@inlined_kernel
def pick_row(timing, queues, kind, now):
    """(slot of the entry whose bank gets ACT or PRE, or NONE; earliest tick of one that is not ready)."""
    best, best_order, wake = NONE, FAR, FAR
    for place in range(queues.queues[kind]["busy"]):
        bank = queues.busy[kind, place]
        chain = queues.lists[kind, bank]
        slot = chain["miss"]
        if slot == NONE:
            continue
        if timing.open_row[bank] == state.CLOSED:
            ready = max(state.ready_at(timing, bank, ACT), now) | 1  # on a rising edge
        elif _is_protected(queues, chain, slot, bank):
            continue
        else:
            ready = state.ready_at(timing, bank, PRE)
        if ready > now:
            wake = min(wake, ready)
        elif queues.entries[slot]["order"] < best_order:
            best, best_order = slot, queues.entries[slot]["order"]
    return best, max(wake, timing.bus_at[ROW_BUS])


@inlined_kernel
def _is_protected(queues, chain, miss, bank):
    """Whether the open row still has work that came before the miss, or was opened for an entry that waits."""
    if queues.active_in_bank[bank]:
        return True
    hit = chain["hit"]
    return hit != NONE and queues.entries[hit]["arrived"] <= queues.entries[miss]["arrived"]
