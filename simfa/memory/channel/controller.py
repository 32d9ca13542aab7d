"""The channel's controller: accepts accesses, drains writes, refreshes, issues one command per bus and tick.

Column commands start on rising edges (odd ticks), precharges on either. While a refresh waits, only entries whose
row has already been opened for them are served. `column_wake` and `row_wake` are the earliest ticks at which the
buses can have work; between them nothing happens, so a caller may jump to `next_tick`.
"""

from typing import NamedTuple

import numpy as np

from simfa.engine.jit import inlined_kernel
from simfa.memory.channel import queues as store
from simfa.memory.channel import scheduler
from simfa.memory.channel import timing as state
from simfa.memory.channel.commands import ACT, PRE, PREA, REFA, ROW_BUS
from simfa.memory.channel.queues import FAR, NONE, READS, WRITES, Queues
from simfa.memory.channel.timing import Timing

REFUSED, ACCEPTED, FORWARDED, MERGED = range(4)

CONTROL = np.dtype(
    [
        ("drain_above", np.int64),
        ("drain_below", np.int64),
        ("read_ticks", np.int64),  # from RD to the end of its data
        ("refresh_ticks", np.int64),  # between refreshes; 0: none
        ("refresh_at", np.int64),
        ("refreshes_waiting", np.int64),
        ("refreshes_done", np.int64),
        ("mode", np.int64),  # the queue being served
        ("resized", np.int64),  # a queue has changed since the mode was chosen
        ("column_wake", np.int64),
        ("row_wake", np.int64),
        ("data_until", np.int64),  # read data leave in the order of their commands
        ("served", np.int64),  # slot of the entry whose column command issued at this tick, or NONE
        ("commands", np.int64),
    ]
)
TRACE = np.dtype(
    [("tick", np.int64), ("command", np.int64), ("unit", np.int64), ("bank", np.int64), ("row", np.int64)]
)


class Channel(NamedTuple):
    """Timing, queues, one CONTROL record, command counters and an optional command trace (empty: not kept)."""

    timing: Timing
    queues: Queues
    control: np.ndarray
    issued: np.ndarray  # [command]
    trace: np.ndarray


def make_channel(
    timing: Timing, queues: Queues, drain: tuple[int, int], read_ticks: int, refresh_ticks: int, trace: int = 0
) -> Channel:
    """An idle channel; `drain` is (start above, stop below) in entries, `trace` how many commands to keep."""
    control = np.zeros(1, CONTROL)
    control["drain_above"], control["drain_below"] = drain
    control["read_ticks"], control["refresh_ticks"] = read_ticks, refresh_ticks
    control["refresh_at"] = refresh_ticks or FAR
    control["column_wake"] = control["row_wake"] = FAR
    control["served"] = NONE
    return Channel(timing, queues, control, np.zeros(6, np.int64), np.zeros(trace, TRACE))


@inlined_kernel
def send(channel, kind, bank, row, block, request, order, now):
    """Offer an access between tick `now` and the next: REFUSED, ACCEPTED, FORWARDED (read) or MERGED (write)."""
    queues, control = channel.queues, channel.control[0]
    if queues.queues[WRITES]["entries"] and store.holds_write(queues, bank, block):
        return FORWARDED if kind == READS else MERGED
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
    control = channel.control[0]
    wake = min(control["column_wake"] | 1, control["row_wake"])
    return min(wake, control["refresh_at"])


@inlined_kernel
def tick(channel, now):
    """One tick: refresh timer, column bus, row bus. `control.served` names the entry that was served, or NONE."""
    control = channel.control[0]
    control["served"] = NONE
    if now == control["refresh_at"]:
        control["refresh_at"] += control["refresh_ticks"]
        control["refreshes_waiting"] += channel.timing.units.shape[0]
        control["row_wake"] = now
    _choose_queue(channel, now)
    if now & 1 and now >= control["column_wake"]:
        _column(channel, now)
        _choose_queue(channel, now)
    if now >= control["row_wake"]:
        if now < channel.timing.bus_at[ROW_BUS]:
            control["row_wake"] = channel.timing.bus_at[ROW_BUS]
        elif control["refreshes_waiting"]:
            _refresh(channel, now)
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
    _issue(channel, scheduler.column_command(entry["kind"]), bank, entry["row"], now)
    control["served"] = slot
    control["column_wake"] = now + 2
    if control["refreshes_waiting"]:
        control["row_wake"] = min(control["row_wake"], now + 1)
    elif queues.lists[control["mode"], bank]["miss"] != NONE:
        control["row_wake"] = min(control["row_wake"], timing.at[PRE, bank])


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
    if timing.open_row[bank] == state.CLOSED:
        _issue(channel, ACT, bank, row, now)
        store.activate(queues, slot)
        control["resized"] = 1
        ready = timing.at[scheduler.column_command(entry["kind"]), bank]
        control["column_wake"] = min(control["column_wake"], ready)
        control["row_wake"] = timing.bus_at[ROW_BUS]
        if _is_done_with(control, queues.queues):
            control["row_wake"] = now + 1
    else:
        _issue(channel, PRE, bank, row, now)
        store.reclassify(queues, bank, state.CLOSED)
        control["row_wake"] = now + 1


@inlined_kernel
def _refresh(channel, now):
    """Close the pseudo-channel whose refresh is due first, then refresh it; the next one follows."""
    timing, control = channel.timing, channel.control[0]
    number = control["refreshes_done"] % timing.units.shape[0]
    unit = timing.units[number]
    command = PREA if unit["open_banks"] else REFA
    ready = max(state.all_ready_at(timing, command, number), now)
    if command == REFA:
        ready |= 1
    if ready > now:
        control["row_wake"] = ready
        return
    if command == PREA and _has_active(channel, unit):
        control["row_wake"] = FAR  # woken by the column command
        return
    _issue_all(channel, command, number, now)
    control["row_wake"] = now + 1
    if command == REFA:
        control["refreshes_done"] += 1
        control["refreshes_waiting"] -= 1
        control["column_wake"] = min(control["column_wake"], now + 1)
        control["resized"] = 1


@inlined_kernel
def _has_active(channel, unit):
    for bank in range(unit["first"], unit["end"]):
        if channel.queues.active_in_bank[bank]:
            return True
    return False


@inlined_kernel
def _issue(channel, command, bank, row, now):
    state.issue(channel.timing, command, bank, row, now)
    _record(channel, command, channel.timing.unit_of[bank], bank, row, now)


@inlined_kernel
def _issue_all(channel, command, number, now):
    state.issue_all(channel.timing, command, number, now)
    unit = channel.timing.units[number]
    if command == PREA:
        for bank in range(unit["first"], unit["end"]):
            store.reclassify(channel.queues, bank, state.CLOSED)
    _record(channel, command, number, NONE, NONE, now)


@inlined_kernel
def _record(channel, command, number, bank, row, now):
    """Count the command, and keep it while the trace has room."""
    control = channel.control[0]
    channel.issued[command] += 1
    if control["commands"] < channel.trace.shape[0]:
        line = channel.trace[control["commands"]]
        line["tick"], line["command"], line["unit"], line["bank"], line["row"] = now, command, number, bank, row
    control["commands"] += 1
