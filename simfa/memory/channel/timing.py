"""When each command may issue next: the timing state of one channel's banks, pseudo-channels and buses.

`at` holds, for each command, every bank's earliest tick. A command that issues raises these bounds for its own
bank, its group, its SID and the other SIDs of its pseudo-channel: delays only fall with distance, except between
SIDs. Banks are numbered pseudo-channel by pseudo-channel, SID by SID, group by group, so that each of those is a
range. Far more bounds are looked up than raised, which is why they are kept for banks and not for groups and SIDs.
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
    group: np.ndarray  # [bank, first and end]: the banks of its group, and of its SID
    sid: np.ndarray
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
    bank = np.arange(units * size)

    def ranges(each: int) -> np.ndarray:
        first = bank // each * each
        return np.stack([first, first + each], axis=1)

    return Timing(
        delays=commands.delays(clocks),
        unit_of=(bank // size).astype(np.int16),
        group=ranges(banks),
        sid=ranges(groups * banks),
        window=window,
        bus_ticks=np.array([command.bus_ticks for command in commands.COMMANDS]),
        at=np.zeros((BANK_COMMANDS, units * size), np.int64),
        bus_at=np.zeros(2, np.int64),
        open_row=np.full(units * size, CLOSED, np.int32),
        units=state,
        recent=np.full((units, window[0]), NEVER),
    )


@inlined_kernel
def ready_at(timing, command, bank):
    """The earliest tick of a bank's command, the bus aside."""
    return timing.at[command, bank]


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
    group, sid = timing.group[bank], timing.sid[bank]
    for later in range(BANK_COMMANDS):
        at = timing.at[later]
        at[bank] = max(at[bank], now + timing.delays[SAME_BANK, command, later])
        _raise(at, group[0], group[1], now, timing.delays[SAME_GROUP, command, later])
        _raise(at, sid[0], sid[1], now, timing.delays[SAME_SID, command, later])
        _raise(at, unit["first"], sid[0], now, timing.delays[OTHER_SID, command, later])
        _raise(at, sid[1], unit["end"], now, timing.delays[OTHER_SID, command, later])


@inlined_kernel
def _raise(at, first, end, now, delay):
    """Hold a range of banks back by `delay` ticks, if anything binds them."""
    if delay > 0:
        for bank in range(np.uint64(first), np.uint64(end)):  # unsigned: no index counts from the end
            at[bank] = max(at[bank], now + delay)


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
    oldest = timing.recent[number, unit["latest"]]
    _raise(timing.at[ACT], unit["first"], unit["end"], oldest, timing.window[1])


@inlined_kernel
def issue_all(timing, command, number, now):
    """PREA or REFA to a whole pseudo-channel at tick `now`."""
    unit = timing.units[number]
    for later in range(BANK_COMMANDS):
        _raise(timing.at[later], unit["first"], unit["end"], now, timing.delays[OTHER_SID, command, later])
    _delay_all_bank_commands(timing, unit, command, now)
    if command == PREA:
        unit["open_banks"] = 0
        timing.open_row[unit["first"] : unit["end"]] = CLOSED
    timing.bus_at[ROW_BUS] = now + timing.bus_ticks[command]


@inlined_kernel
def all_ready_at(timing, command, number):
    """The earliest tick of PREA or REFA of a pseudo-channel, the bus aside."""
    return timing.units[number]["refa_at"] if command == REFA else timing.units[number]["prea_at"]
