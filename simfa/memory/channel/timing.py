"""When each command may issue next: the timing state of one channel's banks, pseudo-channels and buses.

`at[command, bank]` is the earliest tick of a bank's command. A command that issues raises the entries of all banks
that it concerns: banks are numbered pseudo-channel by pseudo-channel, SID by SID, group by group, so that each of
those is a range.
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
NOWHERE, IN_BANK, IN_UNIT = range(3)
NEVER = -(1 << 40)  # an activate before the first one

UNIT = np.dtype(
    [
        ("first", np.int64),  # banks of the pseudo-channel: first up to end
        ("end", np.int64),
        ("open_banks", np.int64),
        ("prea_at", np.int64),
        ("refa_at", np.int64),
        ("latest", np.int64),  # where the next activate goes in its window
    ]
)


class Timing(NamedTuple):
    """Constants (delays, geometry) and state (`*at`: earliest tick; open rows; recent activates)."""

    delays: np.ndarray  # [relation, earlier, later]
    reach: np.ndarray  # [earlier, later]: NOWHERE, IN_BANK or IN_UNIT
    spread: np.ndarray  # [earlier, later, bank, other bank of the pseudo-channel]
    unit_of: np.ndarray  # [bank]
    window: np.ndarray  # [activates, ticks]
    bus_ticks: np.ndarray  # [command]
    at: np.ndarray  # [command, bank]
    bus_at: np.ndarray  # [bus]
    open_row: np.ndarray
    units: np.ndarray  # pseudo-channels
    recent: np.ndarray  # [pseudo-channel, last activates]


def make_timing(clocks: Mapping[str, int], units: int, sids: int, groups: int, banks: int) -> Timing:
    """A channel with every bank closed; `groups` per SID, `banks` per group, `clocks` as `commands.PARAMETERS`."""
    size = sids * groups * banks
    state = np.zeros(units, UNIT)
    state["first"] = np.arange(units) * size
    state["end"] = state["first"] + size
    window = np.array(commands.activate_window(clocks))
    delays = commands.delays(clocks)
    single = delays[:, :BANK_COMMANDS, :BANK_COMMANDS]
    beyond = single[SAME_GROUP:].max(axis=0) > 0
    return Timing(
        delays=delays,
        reach=np.where(beyond, IN_UNIT, np.where(single[SAME_BANK] > 0, IN_BANK, NOWHERE)),
        spread=_spread(delays, sids, groups, banks),
        unit_of=np.arange(units * size) // size,
        window=window,
        bus_ticks=np.array([command.bus_ticks for command in commands.COMMANDS]),
        at=np.zeros((BANK_COMMANDS, units * size), np.int64),
        bus_at=np.zeros(2, np.int64),
        open_row=np.full(units * size, CLOSED),
        units=state,
        recent=np.full((units, window[0]), NEVER),
    )


def _spread(delays: np.ndarray, sids: int, groups: int, banks: int) -> np.ndarray:
    """The delays between two banks of a pseudo-channel, as [earlier, later, bank, other bank]."""
    bank = np.arange(sids * groups * banks)
    same = [bank[:, None] // size == bank[None, :] // size for size in (1, banks, groups * banks)]
    relation = np.select(same, (SAME_BANK, SAME_GROUP, SAME_SID), OTHER_SID)
    return np.moveaxis(delays[relation], (0, 1), (2, 3))[:BANK_COMMANDS, :BANK_COMMANDS].copy()


@inlined_kernel
def issue(timing, command, bank, row, now):
    """A command to one bank at tick `now`: what it delays, and the row it opens or closes."""
    number = timing.unit_of[bank]
    unit = timing.units[number]
    for later in range(BANK_COMMANDS):
        _delay(timing, command, later, bank, unit["first"], now)
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
def _delay(timing, command, later, bank, first, now):
    """Hold back one later command: in the bank alone, or in every bank of its pseudo-channel by its relation."""
    reach = timing.reach[command, later]
    if reach == IN_BANK:
        timing.at[later, bank] = max(timing.at[later, bank], now + timing.delays[SAME_BANK, command, later])
    elif reach == IN_UNIT:
        delays = timing.spread[command, later, bank - first]
        at = timing.at[later, first : first + delays.shape[0]]
        for other in range(delays.shape[0]):
            at[other] = max(at[other], now + delays[other])


@inlined_kernel
def _raise(at, bound):
    for bank in range(at.shape[0]):
        at[bank] = max(at[bank], bound)


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
    _raise(timing.at[ACT, unit["first"] : unit["end"]], bound)


@inlined_kernel
def issue_all(timing, command, number, now):
    """PREA or REFA to a whole pseudo-channel at tick `now`."""
    unit = timing.units[number]
    for later in range(BANK_COMMANDS):
        bound = now + timing.delays[OTHER_SID, command, later]
        _raise(timing.at[later, unit["first"] : unit["end"]], bound)
    _delay_all_bank_commands(timing, unit, command, now)
    if command == PREA:
        unit["open_banks"] = 0
        timing.open_row[unit["first"] : unit["end"]] = CLOSED
    timing.bus_at[ROW_BUS] = now + timing.bus_ticks[command]


@inlined_kernel
def all_ready_at(timing, command, number):
    """The earliest tick of PREA or REFA of a pseudo-channel, the bus aside."""
    return timing.units[number]["refa_at"] if command == REFA else timing.units[number]["prea_at"]
