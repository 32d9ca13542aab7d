"""The DRAM commands and what must pass between two of them: one row per command, one row per constraint.

Time is counted in ticks of half a clock, because a row command may fall on either edge. A standard's parameters
are in clocks and run from the last tick of the earlier command to the last tick of the later one, so a pair of
commands of different length is corrected by the difference of their lengths. HBM3's rules on which precharge may
follow a row command on the falling edge need no rows of their own: nPPD, nRAS and the closed bank imply them.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

TICKS_PER_CLOCK = 2

ACT, PRE, RD, WR, PREA, REFA = range(6)
BANK_COMMANDS = 4  # the first four address one bank, the others a whole pseudo-channel
ROW_BUS, COLUMN_BUS = range(2)

# How two bank groups of one pseudo-channel stand to each other, from near to far; a bank is nearest to itself.
SAME_BANK, SAME_GROUP, SAME_SID, OTHER_SID = range(4)


@dataclass(frozen=True)
class Command:
    """A command, its bus, how long it occupies the bus, and whether it must start on a rising clock edge."""

    name: str
    code: int
    bus: int
    bus_ticks: int
    rising_edge: bool


@dataclass(frozen=True)
class Constraint:
    """`later` at least the sum of `parameters` after `earlier` (after the `window`-th last one) within `reach`."""

    earlier: int
    later: int
    reach: tuple[int, ...]
    parameters: tuple[str, ...]
    window: int = 1


COMMANDS = (
    Command("ACT", ACT, ROW_BUS, 3, True),
    Command("PRE", PRE, ROW_BUS, 1, False),
    Command("RD", RD, COLUMN_BUS, 2, True),
    Command("WR", WR, COLUMN_BUS, 2, True),
    Command("PREA", PREA, ROW_BUS, 1, False),
    Command("REFA", REFA, ROW_BUS, 1, True),
)
NAMES = tuple(command.name for command in COMMANDS)

_BANK = (SAME_BANK,)
_GROUP = (SAME_BANK, SAME_GROUP)
_SID = (SAME_BANK, SAME_GROUP, SAME_SID)
_PSEUDO_CHANNEL = (SAME_BANK, SAME_GROUP, SAME_SID, OTHER_SID)
_WRITE_DATA = ("nCWL", "nBL")

CONSTRAINTS = (
    # A row: open it, use it, close it.
    Constraint(ACT, RD, _BANK, ("nRCDRD",)),
    Constraint(ACT, WR, _BANK, ("nRCDWR",)),
    Constraint(ACT, PRE, _BANK, ("nRAS",)),
    Constraint(ACT, ACT, _BANK, ("nRC",)),
    Constraint(RD, PRE, _BANK, ("nRTP",)),
    Constraint(WR, PRE, _BANK, (*_WRITE_DATA, "nWR")),
    Constraint(PRE, ACT, _BANK, ("nRP",)),
    # Rows of different banks.
    Constraint(ACT, ACT, _GROUP, ("nRRDL",)),
    Constraint(ACT, ACT, _PSEUDO_CHANNEL, ("nRRDS",)),
    Constraint(ACT, ACT, _PSEUDO_CHANNEL, ("nFAW",), window=4),
    Constraint(PRE, PRE, _PSEUDO_CHANNEL, ("nPPD",)),
    # Columns: the data bus of a pseudo-channel and the slower paths inside a group and, for reads, between SIDs.
    Constraint(RD, RD, _PSEUDO_CHANNEL, ("nBL",)),
    Constraint(RD, RD, _SID, ("nCCDS",)),
    Constraint(RD, RD, _GROUP, ("nCCDL",)),
    Constraint(RD, RD, (OTHER_SID,), ("nCCDR",)),
    Constraint(WR, WR, _PSEUDO_CHANNEL, ("nBL",)),
    Constraint(WR, WR, _SID, ("nCCDS",)),
    Constraint(WR, WR, _GROUP, ("nCCDL",)),
    Constraint(RD, WR, _PSEUDO_CHANNEL, ("nRTW",)),
    Constraint(WR, RD, _PSEUDO_CHANNEL, (*_WRITE_DATA, "nWTRS")),
    Constraint(WR, RD, _GROUP, (*_WRITE_DATA, "nWTRL")),
    # All banks of a pseudo-channel at once.
    Constraint(ACT, PREA, _PSEUDO_CHANNEL, ("nRAS",)),
    Constraint(RD, PREA, _PSEUDO_CHANNEL, ("nRTP",)),
    Constraint(WR, PREA, _PSEUDO_CHANNEL, (*_WRITE_DATA, "nWR")),
    Constraint(PRE, PREA, _PSEUDO_CHANNEL, ("nPPD",)),
    Constraint(PREA, PRE, _PSEUDO_CHANNEL, ("nPPD",)),
    Constraint(PREA, PREA, _PSEUDO_CHANNEL, ("nPPD",)),
    Constraint(PREA, ACT, _PSEUDO_CHANNEL, ("nRP",)),
    Constraint(ACT, REFA, _PSEUDO_CHANNEL, ("nRC",)),
    Constraint(PRE, REFA, _PSEUDO_CHANNEL, ("nRP",)),
    Constraint(PREA, REFA, _PSEUDO_CHANNEL, ("nRP",)),
    Constraint(REFA, ACT, _PSEUDO_CHANNEL, ("nRFC",)),
    Constraint(REFA, PREA, _PSEUDO_CHANNEL, ("nRFC",)),
    Constraint(REFA, REFA, _PSEUDO_CHANNEL, ("nRFC",)),
)

# What the table names, and what the controller needs besides: CAS latency and refresh interval.
PARAMETERS = tuple(dict.fromkeys([*(name for row in CONSTRAINTS for name in row.parameters), "nCL", "nREFI"]))


def ticks(constraint: Constraint, clocks: Mapping[str, int]) -> int:
    """A constraint as ticks from start to start of its two commands, for parameters in clocks."""
    nominal = TICKS_PER_CLOCK * sum(clocks[name] for name in constraint.parameters)
    return nominal + COMMANDS[constraint.earlier].bus_ticks - COMMANDS[constraint.later].bus_ticks


def delays(clocks: Mapping[str, int]) -> np.ndarray:
    """Ticks that `later` must wait after `earlier`, as [relation, earlier, later]; 0 where nothing binds."""
    table = np.zeros((4, len(COMMANDS), len(COMMANDS)), np.int64)
    for row in CONSTRAINTS:
        if row.window == 1:
            for relation in row.reach:
                cell = (relation, row.earlier, row.later)
                table[cell] = max(table[cell], ticks(row, clocks))
    return table


def activate_window(clocks: Mapping[str, int]) -> tuple[int, int]:
    """The sliding window of activates: (how many, ticks)."""
    (row,) = (row for row in CONSTRAINTS if row.window > 1)
    return row.window, ticks(row, clocks)
