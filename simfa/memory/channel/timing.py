"""When each command may issue next: the timing state of one channel's banks, groups, pseudo-channels and buses.

The earliest tick of a bank's command is the maximum of the bank's own entry and of its bank group's entry; what
a whole pseudo-channel or SID imposes is written into the entries of all its groups when a command issues.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from simfa.engine.jit import inlined_kernel
from simfa.memory.channel import commands
from simfa.memory.channel.commands import ACT, BANK_COMMANDS, PREA, REFA, ROW_BUS

CLOSED = -1
NEVER = -(1 << 40)  # an activate before the first one

UNIT = np.dtype(
    [
        ("first_bank", np.int64),
        ("banks", np.int64),
        ("first_group", np.int64),
        ("groups", np.int64),
        ("open_banks", np.int64),
        ("prea_at", np.int64),
        ("refa_at", np.int64),
        ("activates", np.int64),
    ]
)


class Timing(NamedTuple):
    """Constants (delays, relations, geometry) and state (`*_at`: earliest tick; open rows; recent activates)."""

    bank_delays: np.ndarray  # [earlier, later]
    group_delays: np.ndarray  # [relation, earlier, later]
    unit_delays: np.ndarray  # [earlier, PREA or REFA]
    relations: np.ndarray  # [group, group]
    group_of: np.ndarray
    unit_of: np.ndarray
    window: np.ndarray  # [activates, ticks]
    bank_at: np.ndarray  # [bank, command]
    group_at: np.ndarray  # [group, command]
    bus_at: np.ndarray  # [bus]
    bus_ticks: np.ndarray  # [command]
    open_row: np.ndarray
    units: np.ndarray  # pseudo-channels
    recent: np.ndarray  # [pseudo-channel, last activates]


def make_timing(clocks: Mapping[str, int], units: int, sids: int, groups: int, banks: int) -> Timing:
    """A channel with every bank closed; `groups` per SID, `banks` per group, `clocks` as `commands.PARAMETERS`."""
    table = commands.delays(clocks)
    window, window_ticks = commands.activate_window(clocks)
    total_groups = units * sids * groups
    group_of = np.arange(total_groups * banks) // banks
    return Timing(
        bank_delays=table[commands.SAME_BANK, :, :BANK_COMMANDS].copy(),
        group_delays=table[:, :, :BANK_COMMANDS].copy(),
        unit_delays=table[commands.OTHER_SID, :, PREA:].copy(),
        relations=_relations(total_groups, groups),
        group_of=group_of,
        unit_of=group_of // (sids * groups),
        window=np.array([window, window_ticks]),
        bank_at=np.zeros((group_of.size, BANK_COMMANDS), np.int64),
        group_at=np.zeros((total_groups, BANK_COMMANDS), np.int64),
        bus_at=np.zeros(2, np.int64),
        bus_ticks=np.array([command.bus_ticks for command in commands.COMMANDS]),
        open_row=np.full(group_of.size, CLOSED),
        units=_units(units, sids * groups, banks),
        recent=np.full((units, window), NEVER),
    )


def _relations(total_groups: int, groups: int) -> np.ndarray:
    index = np.arange(total_groups)
    same_sid = index[:, None] // groups == index[None, :] // groups
    table = np.where(same_sid, commands.SAME_SID, commands.OTHER_SID)
    np.fill_diagonal(table, commands.SAME_GROUP)
    return table


def _units(units: int, groups: int, banks: int) -> np.ndarray:
    table = np.zeros(units, UNIT)
    table["groups"], table["banks"] = groups, groups * banks
    table["first_group"] = np.arange(units) * groups
    table["first_bank"] = table["first_group"] * banks
    return table


@inlined_kernel
def ready_at(timing, bank, command):
    """The earliest tick of a bank's command, its bus aside."""
    return max(timing.bank_at[bank, command], timing.group_at[timing.group_of[bank], command])


@inlined_kernel
def issue(timing, command, bank, row, now):
    """A command to one bank at tick `now`: what it delays, and the row it opens or closes."""
    group = timing.group_of[bank]
    unit = timing.units[timing.unit_of[bank]]
    first = unit["first_group"]
    for other in range(first, first + unit["groups"]):
        relation = timing.relations[group, other]
        for later in range(BANK_COMMANDS):
            tick = now + timing.group_delays[relation, command, later]
            timing.group_at[other, later] = max(timing.group_at[other, later], tick)
    for later in range(BANK_COMMANDS):
        tick = now + timing.bank_delays[command, later]
        timing.bank_at[bank, later] = max(timing.bank_at[bank, later], tick)
    unit["prea_at"] = max(unit["prea_at"], now + timing.unit_delays[command, 0])
    unit["refa_at"] = max(unit["refa_at"], now + timing.unit_delays[command, 1])
    if command == ACT:
        _activated(timing, timing.unit_of[bank], now)
        timing.open_row[bank] = row
        unit["open_banks"] += 1
    elif command == commands.PRE:
        timing.open_row[bank] = CLOSED
        unit["open_banks"] -= 1
    if command <= commands.PRE:
        timing.bus_at[ROW_BUS] = now + timing.bus_ticks[command]
    else:
        timing.bus_at[commands.COLUMN_BUS] = now + timing.bus_ticks[command]


@inlined_kernel
def _activated(timing, number, now):
    """The sliding window: no more than `window` activates of a pseudo-channel within its ticks."""
    unit = timing.units[number]
    window = timing.window[0]
    timing.recent[number, unit["activates"] % window] = now
    unit["activates"] += 1
    bound = timing.recent[number, unit["activates"] % window] + timing.window[1]
    for group in range(unit["first_group"], unit["first_group"] + unit["groups"]):
        timing.group_at[group, ACT] = max(timing.group_at[group, ACT], bound)


@inlined_kernel
def issue_all(timing, command, number, now):
    """PREA or REFA to a whole pseudo-channel at tick `now`."""
    unit = timing.units[number]
    for group in range(unit["first_group"], unit["first_group"] + unit["groups"]):
        for later in range(BANK_COMMANDS):
            tick = now + timing.group_delays[commands.OTHER_SID, command, later]
            timing.group_at[group, later] = max(timing.group_at[group, later], tick)
    unit["prea_at"] = max(unit["prea_at"], now + timing.unit_delays[command, 0])
    unit["refa_at"] = max(unit["refa_at"], now + timing.unit_delays[command, 1])
    if command == PREA:
        unit["open_banks"] = 0
        for bank in range(unit["first_bank"], unit["first_bank"] + unit["banks"]):
            timing.open_row[bank] = CLOSED
    timing.bus_at[ROW_BUS] = now + timing.bus_ticks[command]


@inlined_kernel
def all_ready_at(timing, command, number):
    """The earliest tick of PREA or REFA of a pseudo-channel, the bus aside."""
    return timing.units[number]["refa_at"] if command == REFA else timing.units[number]["prea_at"]
