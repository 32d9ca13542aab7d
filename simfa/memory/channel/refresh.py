"""All-bank refresh: when its interval ends, every pseudo-channel in turn is closed and refreshed."""

from simfa.engine.jit import inlined_kernel
from simfa.memory.channel import state
from simfa.memory.channel import timing as constraints
from simfa.memory.channel.commands import PREA, REFA
from simfa.memory.channel.queues import FAR


@inlined_kernel
def start(channel, now):
    """At the end of an interval all pseudo-channels wait for a refresh."""
    control = channel.control[0]
    if now == control["refresh_at"]:
        control["refresh_at"] += control["refresh_ticks"]
        control["refreshes_waiting"] += channel.timing.units.shape[0]
        control["row_wake"] = now


@inlined_kernel
def advance(channel, now):
    """Close the pseudo-channel whose refresh is due first, then refresh it; the next one follows."""
    timing, control = channel.timing, channel.control[0]
    number = control["refreshes_done"] % timing.units.shape[0]
    unit = timing.units[number]
    command = PREA if unit["open_banks"] else REFA
    ready = max(constraints.all_ready_at(timing, command, number), now)
    if command == REFA:
        ready |= 1
    if ready > now:
        control["row_wake"] = ready
        return
    if command == PREA and _has_active(channel, unit):
        control["row_wake"] = FAR  # woken by the column command
        return
    state.issue_all(channel, command, number, now)
    control["row_wake"] = now + 1
    if command == REFA:
        control["refreshes_done"] += 1
        control["refreshes_waiting"] -= 1
        control["column_wake"] = min(control["column_wake"], now + 1)
        control["resized"] = 1


@inlined_kernel
def _has_active(channel, unit):
    waiting = 0
    for bank in range(unit["first"], unit["end"]):
        waiting += channel.queues.active_in_bank[bank]
    return waiting > 0
