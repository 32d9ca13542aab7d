"""HBM3-5200 as a timing diagram: short streams, and the half clock at which each command falls.

One tick is half a clock of 1.3 GHz. ACT, RD, WR and REFA start on odd ticks (rising edges), PRE and PREA on any.
"""

import numpy as np
import pytest

from presets import loader
from presets.dram_specs import DramChannelSpec
from simfa import dram_channel
from simfa.dram_channel import Requests
from simfa.memory.channel import commands, timing
from simfa.memory.channel.commands import COMMANDS, CONSTRAINTS
from tests.simfa.memory.channel.rules import RULES, readable

SPEC = loader.load(DramChannelSpec, "hbm3-5200")
CLOCKS = SPEC.timing.by_name()
ROW = 1 << 16  # M1: the next row of the same bank
GROUP, SID, UNIT, COLUMN, BANK = 1 << 7, 1 << 15, 1 << 6, 1 << 9, 1 << 13


def drive(*accesses: str | int, refresh: str = "none", arrivals: list[int] | None = None) -> list[tuple[int, str]]:
    """The commands of 32-byte accesses that enter together, or at `arrivals`; an address, or `"w" + address`."""
    writes = np.array([isinstance(access, str) for access in accesses], np.int64)
    address = np.array([int(str(access).removeprefix("w")) for access in accesses])
    ticks = np.array(arrivals or [0] * len(accesses))
    result = dram_channel.run(SPEC, Requests(address, writes, 32, ticks), refresh=refresh, trace=1000)
    return [(tick, command) for tick, command, _, _ in readable(result.trace, SPEC.organisation)]


def gap(first: str, second: str, lines: list[tuple[int, str]]) -> int:
    """Ticks from the first `first` to the next `second`."""
    begin = next(tick for tick, command in lines if command == first)
    return next(tick for tick, command in lines if command == second and tick > begin) - begin


def test_a_read_of_a_closed_bank() -> None:
    # ACT's last half clock is tick 3, RD's last one 26 clocks later is tick 55, so RD could start at 54: at 55.
    assert drive(0) == [(1, "ACT"), (55, "RD")]
    result = dram_channel.run(SPEC, Requests(np.zeros(1, np.int64), np.zeros(1, np.int64), 32))
    assert result.done_ticks[0] == 55 + 2 * (17 + 2)  # nCL and nBL
    assert result.latency_ns()[0] == pytest.approx(93 / 2.6)


def test_a_write_of_a_closed_bank() -> None:
    assert drive("w0") == [(1, "ACT"), (29, "WR")]  # nRCDWR = 13: half as long as for a read


def test_a_row_conflict() -> None:
    assert drive(0, ROW, arrivals=[0, 200]) == [(1, "ACT"), (55, "RD"), (201, "PRE"), (243, "ACT"), (297, "RD")]


def test_a_conflict_at_once_waits_for_ras_rtp_and_rc() -> None:
    lines = drive(0, ROW)
    assert gap("ACT", "PRE", lines) == 2 * 37 + 2  # nRAS; an ACT is two half clocks longer than a PRE
    assert gap("ACT", "ACT", lines) == 2 * 59  # nRC = nRAS + nRP
    assert gap("RD", "PRE", lines) >= 2 * 8 + 1  # nRTP


def test_a_precharge_may_fall_on_a_falling_edge() -> None:
    assert (202, "PRE") in drive(0, ROW, arrivals=[0, 201])


@pytest.mark.parametrize(
    ("other", "clocks", "why"),
    [
        (COLUMN, 4, "nCCDL: same bank group"),
        (BANK, 4, "nCCDL: same bank group, another bank"),
        (GROUP, 2, "nCCDS: another bank group"),
        (SID, 3, "nCCDR: the other SID"),
        (UNIT, 1, "the column bus: the other pseudo-channel has its own data bus"),
    ],
)
def test_read_to_read(other: int, clocks: int, why: str) -> None:
    rows_open = [0, other]
    lines = drive(*rows_open, 0, other, arrivals=[0, 0, 300, 300])
    reads = [tick for tick, command in lines if command == "RD"]
    assert reads[3] - reads[2] == 2 * clocks, why


@pytest.mark.parametrize(
    ("other", "clocks", "why"),
    [
        (COLUMN, 4, "nCCDL"),
        (GROUP, 2, "nCCDS"),
        (SID, 2, "nBL: writes of two SIDs only share the bus"),
        (UNIT, 1, "column bus"),
    ],
)
def test_write_to_write(other: int, clocks: int, why: str) -> None:
    lines = drive("w0", f"w{other}", "w0", f"w{other}", arrivals=[0, 0, 300, 300])
    writes = [tick for tick, command in lines if command == "WR"]
    assert writes[3] - writes[2] == 2 * clocks, why


def test_read_to_write_turnaround() -> None:
    # The write is posted; it goes once no read waits, 17 clocks (nRTW) after the last RD.
    lines = drive(0, 0, f"w{COLUMN}", arrivals=[0, 300, 301])
    assert lines[-2:] == [(301, "RD"), (301 + 2 * 17, "WR")]


@pytest.mark.parametrize(
    ("other", "clocks"), [(COLUMN, 9 + 2 + 9), (GROUP, 9 + 2 + 6), (SID, 9 + 2 + 6)]
)  # nCWL + nBL + nWTRL in the group, + nWTRS elsewhere
def test_write_to_read_turnaround(other: int, clocks: int) -> None:
    lines = drive(0, other, "w0", other, arrivals=[0, 0, 300, 301])
    assert lines[-2:] == [(301, "WR"), (301 + 2 * clocks, "RD")]


def test_a_written_row_closes_after_write_recovery() -> None:
    lines = drive("w0", ROW, arrivals=[0, 29])
    assert gap("WR", "PRE", lines) == 2 * (9 + 2 + 27) + 1  # nCWL + nBL + nWR


def test_five_activates_of_one_pseudo_channel() -> None:
    # Four bank groups at nRRDS = 4; the fifth, in the first group's next bank, waits for nFAW = 20.
    lines = drive(0, GROUP, 2 * GROUP, 3 * GROUP, BANK)
    assert [tick for tick, command in lines if command == "ACT"] == [1, 9, 17, 25, 41]


def test_activates_of_one_bank_group() -> None:
    lines = drive(0, BANK)
    assert gap("ACT", "ACT", lines) == 2 * 5  # nRRDL


def test_activates_of_two_pseudo_channels_share_only_the_row_bus() -> None:
    assert gap("ACT", "ACT", drive(0, UNIT)) == 4  # three half clocks on the bus, then the next rising edge


def test_all_bank_refresh() -> None:
    due = 2 * 5070  # nREFI
    lines = drive(0, 0, UNIT, arrivals=[0, due + 3, due + 4], refresh="all-bank")
    assert lines[2:4] == [(due, "PREA"), (due + 2 * 22 + 1, "REFA")]  # nRP, and on to a rising edge
    assert lines[4] == (due + 2 * 22 + 3, "REFA")  # the closed pseudo-channel needs no PREA
    first_act, second_act = (tick for tick, command in lines[5:] if command == "ACT")
    assert first_act == lines[3][0] + 2 * 455 - 2  # nRFC; an ACT is two half clocks longer than a REFA
    assert second_act == first_act + 4  # its own nRFC is over two ticks earlier, but the row bus is not free


def test_the_table_has_the_rules_written_apart_from_it() -> None:
    apart = [line.split() for line in RULES.strip().splitlines()]
    table = []
    for row in CONSTRAINTS:
        names = [name.removeprefix("n") for name in row.parameters]
        shared = str(5 - len(row.reach))  # bank 4, bank group 3, SID 2, pseudo-channel 1
        table.append([COMMANDS[row.earlier].name, COMMANDS[row.later].name, shared, *names])
    others = [["ACT", "ACT", "1", "FAW"], ["RD", "RD", "4", "CCDR"]]  # a window; across SIDs
    assert sorted(table) == sorted(apart + others)


def test_a_new_timing_state_forbids_nothing() -> None:
    fresh = timing.make_timing(CLOCKS, 2, 2, 4, 4)
    assert fresh.at.max() == 0 and (fresh.open_row == timing.CLOSED).all()
    assert set(commands.PARAMETERS) == set(CLOCKS)
