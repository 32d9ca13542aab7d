"""When each command may issue next: the timing state of one channel's banks, pseudo-channels and buses.

The earliest tick of a bank's command is the latest of what its bank, its group and its SID (of a pseudo-channel)
are held back to, `ready_at`. A command that issues raises these bounds for its own bank, group and SID and for the
other SIDs of its pseudo-channel: delays only fall with distance, except between SIDs, which share no bound. Banks
are numbered pseudo-channel by pseudo-channel, SID by SID, group by group, so that each of those is a range.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from simfa.engine.jit import inlined_kernel
from simfa.memory.channel import commands
from simfa.memory.channel.commands import (
    ACT,
    BANK_COMMANDS,
    COLUMN_BUS,
    OTHER_SID,
    PRE,
    PREA,
    REFA,
    ROW_BUS,
    SAME_BANK,
    SAME_GROUP,
    SAME_SID,
)

CLOSED = -1
NEVER = -(1 << 40)  # an activate before the first one

UNIT = np.dtype(
    [
        ("first", np.int64),  # banks of the pseudo-channel: first up to end
        ("end", np.int64),
        ("first_sid", np.int64),
        ("end_sid", np.int64),
        ("open_banks", np.int64),
        ("prea_at", np.int64),
        ("refa_at", np.int64),
        ("latest", np.int64),  # where the next activate goes in its window
    ]
)


class Timing(NamedTuple):
    """Constants (delays, geometry) and state (`*at`: earliest tick; open rows; recent activates)."""

    delays: np.ndarray  # [relation, earlier, later]
    unit_of: np.ndarray  # [bank]
    group_of: np.ndarray
    sid_of: np.ndarray
    window: np.ndarray  # [activates, ticks]
    bus_ticks: np.ndarray  # [command]
    bank_at: np.ndarray  # [bank, command]
    group_at: np.ndarray
    sid_at: np.ndarray
    bus_at: np.ndarray  # [bus]
    open_row: np.ndarray
    units: np.ndarray  # pseudo-channels
    recent: np.ndarray  # [pseudo-channel, last activates]


def make_timing(clocks: Mapping[str, int], units: int, sids: int, groups: int, banks: int) -> Timing:
    """A channel with every bank closed; `groups` per SID, `banks` per group, `clocks` as `commands.PARAMETERS`."""
    size = sids * groups * banks
    state = np.zeros(units, UNIT)
    for first, end, each in (("first", "end", size), ("first_sid", "end_sid", sids)):
        state[first] = np.arange(units) * each
        state[end] = state[first] + each
    window = np.array(commands.activate_window(clocks))
    bank = np.arange(units * size)

    def bounds(count: int) -> np.ndarray:
        return np.zeros((count, BANK_COMMANDS), np.int64)

    return Timing(
        delays=commands.delays(clocks),
        unit_of=(bank // size).astype(np.int16),
        group_of=(bank // banks).astype(np.int16),
        sid_of=(bank // (groups * banks)).astype(np.int16),
        window=window,
        bus_ticks=np.array([command.bus_ticks for command in commands.COMMANDS]),
        bank_at=bounds(units * size),
        group_at=bounds(units * sids * groups),
        sid_at=bounds(units * sids),
        bus_at=np.zeros(2, np.int64),
        open_row=np.full(units * size, CLOSED, np.int32),
        units=state,
        recent=np.full((units, window[0]), NEVER),
    )


@inlined_kernel
def ready_at(timing, command, bank):
    """The earliest tick of a bank's command, the bus aside."""
    near = max(timing.bank_at[bank, command], timing.group_at[timing.group_of[bank], command])
    return max(near, timing.sid_at[timing.sid_of[bank], command])


@inlined_kernel
def issue(timing, command, bank, row, now):
    """A command to one bank at tick `now`: what it delays, and the row it opens or closes."""
    number = timing.unit_of[bank]
    unit = timing.units[number]
    _delay(timing, command, bank, unit, now)
    _delay_all_bank_commands(timing, unit, command, now)
    if command == ACT:
        _activated(timing, number, now)
        timing.open_row[bank] = row
        unit["open_banks"] += 1
    elif command == PRE:
        timing.open_row[bank] = CLOSED
        unit["open_banks"] -= 1
    bus = ROW_BUS if command <= PRE else COLUMN_BUS
    timing.bus_at[bus] = now + timing.bus_ticks[command]


@inlined_kernel
def _delay(timing, command, bank, unit, now):
    """Hold back later commands of the bank, of its group, of its SID, and of the other SIDs."""
    own = timing.sid_of[bank]
    _raise(timing.bank_at[bank], timing.delays[SAME_BANK, command], now)
    _raise(timing.group_at[timing.group_of[bank]], timing.delays[SAME_GROUP, command], now)
    for sid in range(unit["first_sid"], unit["end_sid"]):
        _raise(timing.sid_at[sid], timing.delays[SAME_SID if sid == own else OTHER_SID, command], now)


@inlined_kernel
def _raise(at, delays, now):
    for later in range(BANK_COMMANDS):
        at[later] = max(at[later], now + delays[later])


@inlined_kernel
def _delay_all_bank_commands(timing, unit, command, now):
    delays = timing.delays[OTHER_SID, command]
    unit["prea_at"] = max(unit["prea_at"], now + delays[PREA])
    unit["refa_at"] = max(unit["refa_at"], now + delays[REFA])


@inlined_kernel
def _activated(timing, number, now):
    """The sliding window: no more than `window` activates of a pseudo-channel within its ticks."""
    unit = timing.units[number]
    timing.recent[number, unit["latest"]] = now
    unit["latest"] += 1
    if unit["latest"] == timing.window[0]:
        unit["latest"] = 0
    bound = timing.recent[number, unit["latest"]] + timing.window[1]
    for sid in range(unit["first_sid"], unit["end_sid"]):
        timing.sid_at[sid, ACT] = max(timing.sid_at[sid, ACT], bound)


@inlined_kernel
def issue_all(timing, command, number, now):
    """PREA or REFA to a whole pseudo-channel at tick `now`."""
    unit = timing.units[number]
    for sid in range(unit["first_sid"], unit["end_sid"]):
        _raise(timing.sid_at[sid], timing.delays[OTHER_SID, command], now)
    _delay_all_bank_commands(timing, unit, command, now)
    if command == PREA:
        unit["open_banks"] = 0
        timing.open_row[unit["first"] : unit["end"]] = CLOSED
    timing.bus_at[ROW_BUS] = now + timing.bus_ticks[command]


@inlined_kernel
def all_ready_at(timing, command, number):
    """The earliest tick of PREA or REFA of a pseudo-channel, the bus aside."""
    return timing.units[number]["refa_at"] if command == REFA else timing.units[number]["prea_at"]
