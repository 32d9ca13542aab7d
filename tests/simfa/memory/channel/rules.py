"""HBM3's rules once more, written apart from the simulator: what a command trace must obey.

Parameters are in clocks, from the last half clock of one command to the last half clock of the next. A place is
(pseudo-channel, SID, bank group, bank).
"""

from collections import defaultdict
from dataclasses import dataclass, field

from simfa.memory.channel.commands import NAMES

LENGTH = {"ACT": 3, "PRE": 1, "RD": 2, "WR": 2, "PREA": 1, "REFA": 1}  # half clocks on the bus
ROW = ("ACT", "PRE", "PREA", "REFA")
RISING = ("ACT", "RD", "WR", "REFA")

# first, second, how much of the place they share (1 pseudo-channel ... 4 bank), parameters
RULES = """
ACT  RD   4 RCDRD
ACT  WR   4 RCDWR
ACT  PRE  4 RAS
ACT  ACT  4 RC
ACT  ACT  3 RRDL
ACT  ACT  1 RRDS
RD   PRE  4 RTP
WR   PRE  4 CWL BL WR
PRE  ACT  4 RP
PRE  PRE  1 PPD
RD   RD   1 BL
RD   RD   2 CCDS
RD   RD   3 CCDL
WR   WR   1 BL
WR   WR   2 CCDS
WR   WR   3 CCDL
RD   WR   1 RTW
WR   RD   1 CWL BL WTRS
WR   RD   3 CWL BL WTRL
ACT  PREA 1 RAS
RD   PREA 1 RTP
WR   PREA 1 CWL BL WR
PRE  PREA 1 PPD
PREA PRE  1 PPD
PREA PREA 1 PPD
PREA ACT  1 RP
ACT  REFA 1 RC
PRE  REFA 1 RP
PREA REFA 1 RP
REFA ACT  1 RFC
REFA PREA 1 RFC
REFA REFA 1 RFC
"""


@dataclass
class Rules:
    """The commands so far, as the last tick of each kind at each place, and the open rows."""

    clocks: dict[str, int]
    last: dict[tuple, int] = field(default_factory=dict)
    activates: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    bus: dict[bool, int] = field(default_factory=lambda: {True: 0, False: 0})
    rows: dict[tuple, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.table = defaultdict(list)
        for line in RULES.strip().splitlines():
            first, second, shared, *names = line.split()
            self.table[second].append((first, int(shared), sum(self.clocks[f"n{name}"] for name in names)))

    def may_start(self, command: str, place: tuple[int, ...], tick: int) -> bool:
        """Whether the tick is late enough, and for most commands a rising clock edge."""
        return tick >= self.earliest(command, place) and (command not in RISING or tick % 2 == 1)

    def earliest(self, command: str, place: tuple[int, ...]) -> int:
        """The tick before which a command may not start."""
        ticks = [self.bus[command in ROW]]
        for first, shared, clocks in self.table[command]:
            if (first, place[:shared]) in self.last:
                ticks.append(self._after(self.last[first, place[:shared]], first, command, clocks))
        if command == "RD":
            for key, tick in self.last.items():
                if key[0] == "RD" and len(key[1]) == 2 and key[1][0] == place[0] and key[1] != place[:2]:
                    ticks.append(self._after(tick, "RD", "RD", self.clocks["nCCDR"]))
        if command == "ACT" and len(self.activates[place[0]]) >= 4:
            ticks.append(self._after(self.activates[place[0]][-4], "ACT", "ACT", self.clocks["nFAW"]))
        return max(ticks)

    @staticmethod
    def _after(tick: int, first: str, second: str, clocks: int) -> int:
        return tick + 2 * clocks + LENGTH[first] - LENGTH[second]

    def is_legal(self, command: str, place: tuple[int, ...], row: int) -> bool:
        """Whether the banks are in the state that the command needs."""
        if command == "ACT":
            return place not in self.rows
        if command in ("RD", "WR"):
            return self.rows.get(place) == row
        if command == "PRE":
            return place in self.rows
        return command == "PREA" or all(bank[0] != place[0] for bank in self.rows)

    def record(self, command: str, place: tuple[int, ...], row: int, tick: int) -> None:
        """The command starts at `tick`."""
        for shared in range(1, len(place) + 1):
            self.last[command, place[:shared]] = tick
        self.bus[command in ROW] = tick + LENGTH[command]
        if command == "ACT":
            self.activates[place[0]].append(tick)
            self.rows[place] = row
        elif command == "PRE":
            del self.rows[place]
        elif command == "PREA":
            self.rows = {bank: open_row for bank, open_row in self.rows.items() if bank[0] != place[0]}


def place_of(bank: int, shape) -> tuple[int, ...]:
    """A bank's number as (pseudo-channel, SID, bank group, bank)."""
    group, bank = divmod(bank, shape.banks)
    sid, group = divmod(group, shape.bank_groups)
    unit, sid = divmod(sid, shape.sids)
    return unit, sid, group, bank


def readable(trace, shape) -> list[tuple[int, str, tuple[int, ...], int]]:
    """A command trace as (tick, command, place, row)."""
    return [
        (
            int(line["tick"]),
            NAMES[line["command"]],
            place_of(int(line["bank"]), shape) if line["bank"] >= 0 else (int(line["unit"]),),
            int(line["row"]),
        )
        for line in trace
    ]


def check(lines, clocks: dict[str, int]) -> None:
    """Every command of the trace at a legal time, in a legal state, on a free data bus."""
    rules = Rules(clocks)
    data = defaultdict(list)
    for tick, command, place, row in lines:
        assert rules.is_legal(command, place, row), (tick, command, place, row)
        assert rules.may_start(command, place, tick), (tick, command, place, rules.earliest(command, place))
        rules.record(command, place, row, tick)
        if command in ("RD", "WR"):
            begin = tick + 2 * clocks["nCL" if command == "RD" else "nCWL"]
            data[place[0]].append((begin, begin + 2 * clocks["nBL"]))
    for bursts in data.values():
        bursts.sort()
        assert all(first[1] <= second[0] for first, second in zip(bursts, bursts[1:], strict=False))
