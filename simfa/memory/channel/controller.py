"""The channel's controller: accepts accesses, drains writes, issues at most one command per bus and tick.

Column commands start on rising edges (odd ticks), precharges on either. While a refresh waits, only entries whose
row has already been opened for them are served. `column_wake` and `row_wake` are the earliest ticks at which the
buses can have work; between them nothing happens, so a caller may jump to `next_tick`.
"""

from simfa.engine.jit import inlined_kernel
from simfa.memory.channel import queues as store
from simfa.memory.channel import refresh, scheduler, state
from simfa.memory.channel import timing as constraints
from simfa.memory.channel.commands import ACT, PRE, ROW_BUS
from simfa.memory.channel.queues import NONE, PRECHARGE, READS, WRITES

REFUSED, ACCEPTED, FORWARDED, MERGED = range(4)


@inlined_kernel
def send(channel, kind, bank, row, block, request, order, now):
    """Offer an access between tick `now` and the next: REFUSED, ACCEPTED, FORWARDED (read) or MERGED (write)."""
    queues, control = channel.queues, channel.control[0]
    if queues.queues[WRITES]["entries"] and store.holds_write(queues, bank, block):
        if kind == READS:
            control["forwarded"] += 1
            return FORWARDED
        control["merged"] += 1
        return MERGED
    if store.is_full(queues, kind):
        return REFUSED
    store.push(queues, kind, bank, row, block, request, order, now, channel.timing.open_row[bank])
    control["resized"] = 1
    control["column_wake"] = min(control["column_wake"], now + 1)
    control["row_wake"] = min(control["row_wake"], now + 1)
    return ACCEPTED


@inlined_kernel
def data_at(channel, tick):
    """When data available at `tick` leave: not before those of earlier reads."""
    control = channel.control[0]
    control["data_until"] = max(control["data_until"], tick)
    return control["data_until"]


@inlined_kernel
def next_tick(channel):
    """The earliest tick at which the controller can have anything to do."""
    control, queues = channel.control[0], channel.queues
    row_wake = control["row_wake"]
    if not control["resized"] and not control["refreshes_waiting"]:
        row_wake |= queues.offers[control["mode"], PRECHARGE] == 0  # activates start on rising edges
    return min(min(control["column_wake"] | 1, row_wake), control["refresh_at"])


@inlined_kernel
def tick(channel, now):
    """One tick: refresh timer, column bus, row bus. `control.served` names the entry that was served, or NONE."""
    control = channel.control[0]
    control["served"] = NONE
    refresh.start(channel, now)
    _choose_queue(channel, now)
    if now & 1 and now >= control["column_wake"]:
        _column(channel, now)
        _choose_queue(channel, now)
    if now >= control["row_wake"]:
        if now < channel.timing.bus_at[ROW_BUS]:
            control["row_wake"] = channel.timing.bus_at[ROW_BUS]
        elif control["refreshes_waiting"]:
            refresh.advance(channel, now)
        else:
            _row(channel, now)


@inlined_kernel
def _choose_queue(channel, now):
    """Serve writes once they fill their queue or no read waits, until few are left and reads wait."""
    control, queues = channel.control[0], channel.queues.queues
    if not control["resized"] or control["refreshes_waiting"]:
        return
    control["resized"] = 0
    if _is_done_with(control, queues):
        control["mode"] = WRITES - control["mode"]
        control["column_wake"] = control["row_wake"] = now


@inlined_kernel
def _is_done_with(control, queues):
    """Whether the queue being served gives way to the other one."""
    reads, writes = queues[READS]["entries"], queues[WRITES]["entries"]
    if control["mode"] == READS:
        return writes > control["drain_above"] or reads == 0
    return writes < control["drain_below"] and reads > 0


@inlined_kernel
def _column(channel, now):
    """Serve an activated entry or a row hit on the column bus."""
    timing, queues, control = channel.timing, channel.queues, channel.control[0]
    place, wake = scheduler.pick_active(timing, queues, now)
    if place != NONE:
        slot = queues.active[place]["slot"]
        store.take_active(queues, place)
    elif control["refreshes_waiting"]:
        slot = NONE
    else:
        slot, later = scheduler.pick_hit(timing, queues, control["mode"], now)
        wake = min(wake, later)
        if slot != NONE:
            store.take_hit(queues, slot)
            control["resized"] = 1
    control["column_wake"] = wake
    if slot == NONE:
        return
    entry = queues.entries[slot]
    bank = entry["bank"]
    state.issue(channel, scheduler.column_command(entry["kind"]), bank, entry["row"], now)
    control["served"] = slot
    control["column_wake"] = now + 2
    if control["refreshes_waiting"]:
        control["row_wake"] = min(control["row_wake"], now + 1)
    elif queues.lists[bank, control["mode"]]["miss"] != NONE:
        control["row_wake"] = min(control["row_wake"], constraints.ready_at(timing, PRE, bank))


@inlined_kernel
def _row(channel, now):
    """Activate or precharge for an entry of the served queue on the row bus."""
    timing, queues, control = channel.timing, channel.queues, channel.control[0]
    slot, wake = scheduler.pick_row(timing, queues, control["mode"], now)
    control["row_wake"] = wake
    if slot == NONE:
        return
    entry = queues.entries[slot]
    bank, row = entry["bank"], entry["row"]
    if timing.open_row[bank] == constraints.CLOSED:
        state.issue(channel, ACT, bank, row, now)
        store.activate(queues, slot)
        control["resized"] = 1
        ready = constraints.ready_at(timing, scheduler.column_command(entry["kind"]), bank)
        control["column_wake"] = min(control["column_wake"], ready)
        control["row_wake"] = timing.bus_at[ROW_BUS]
        if _is_done_with(control, queues.queues):
            control["row_wake"] = now + 1
    else:
        state.issue(channel, PRE, bank, row, now)
        store.reclassify(queues, bank, constraints.CLOSED)
        control["row_wake"] = now + 1
