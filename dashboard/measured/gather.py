"""One text to tables of raw launches: every row is offered to the current table, then to all formats."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from dashboard.measured.collector import Collector, TimeTable
from dashboard.measured.errors import Refused
from dashboard.measured.launch import RawLaunch
from dashboard.measured.lookalikes import Remarks
from dashboard.measured.ncu_details import NcuDetails
from dashboard.measured.ncu_raw import NcuRaw
from dashboard.measured.ncu_ui import NcuTransposed
from dashboard.measured.nsys_kernsum import NsysKernSum
from dashboard.measured.nsys_trace import NsysTrace
from dashboard.measured.numbers import is_number
from dashboard.measured.nvprof import NvprofMetrics, NvprofSummary, NvprofTrace
from dashboard.measured.table import DELIMITERS, Evidence, Feed, Header, split

# One line per format; the first whose `start` takes the header reads the table.
FORMATS: tuple[type[Collector], ...] = (
    NvprofMetrics,
    NcuDetails,
    NcuRaw,
    NsysTrace,
    NsysKernSum,
    NvprofTrace,
    NvprofSummary,
    NcuTransposed,
)
LAUNCH_LIMIT = 500_000
_TICK_LINES = 8192
# Program output without a line end, in front of a header or a row of ncu.
_GLUED = re.compile(r"[^\",;\t](?=\"(?:ID\"[,;\t]\"Process ID\"|[0-9]+\"[,;\t]\"[0-9]+\"[,;\t]))")
# A cell that every known header has; without it a line is text and need not be split.
_ANCHOR = re.compile(
    r"(?:^|[,;\t\"])[\w ]{0,30}(?:name|operation|range|source|latency_us)\s*(?:$|[,;\t\"])|^\W{0,3}id\W",
    re.IGNORECASE,
)


@dataclass(slots=True)
class Gathered:
    """All tables of one text, what their numbers prove, and the lines that belong to none."""

    evidence: Evidence = field(default_factory=Evidence)
    tables: list[Collector] = field(default_factory=list)
    remarks: Remarks = field(default_factory=Remarks)

    def launches(self) -> list[tuple[RawLaunch, Collector]]:
        """Every launch with its table, in file order; summaries give way to launches in the same file."""
        detailed = any(table.launches and not table.summary for table in self.tables)
        kept = [table for table in self.tables if not (detailed and table.summary)]
        return [(launch, table) for table in kept for launch in table.launches]


def gather(lines: Iterable[str], tick: Callable[[], None] | None = None) -> Gathered:
    """Read all tables of a text; `tick` is called every few thousand lines."""
    search = _Search(tick)
    feed = Feed(lines)
    stream = feed.stream()
    while search.rows(feed, stream):
        pass
    for table in search.result.tables:
        table.finish()
    search.check()
    return search.result


class _Search:
    """The current table and delimiter while a text is read."""

    def __init__(self, tick: Callable[[], None] | None) -> None:
        self.result = Gathered()
        self._tick = tick
        self._table: Collector | None = None
        self._delimiter = ","

    def rows(self, feed: Feed, stream: Iterator[str]) -> bool:
        """Read on until the delimiter changes or a row is unreadable; False at the end of the text."""
        delimiter = self._delimiter
        try:
            for row in csv.reader(stream, delimiter=delimiter, skipinitialspace=True):
                if feed.count % _TICK_LINES == 0:
                    self.check()
                if self._table is None or not self._table.accept(row):
                    self._other(feed.line)
                    if self._delimiter != delimiter:
                        return True
        except csv.Error:
            return True
        return False

    def check(self) -> None:
        """Report progress; refuse more launches than fit the memory."""
        if self._tick is not None:
            self._tick()
        if sum(len(table.launches) for table in self.result.tables) > LAUNCH_LIMIT:
            raise Refused(f"more than {LAUNCH_LIMIT:,} launches; profile fewer (ncu -c) or split the file")

    def _other(self, line: str) -> None:
        """A line that is not a row of the current table: the next header, the end of a table, or text."""
        line = line.lstrip("\ufeff")
        glued = _GLUED.search(line)
        if glued is not None:
            line = line[glued.end() :]
            if self._table is not None and self._table.accept(split(line, self._delimiter)):
                return
        started = self._start(line) if _ANCHOR.search(line) else None
        if started is not None:
            self._table, self._delimiter = started, started.delimiter
            self.result.tables.append(started)
            return
        if isinstance(self._table, TimeTable) and _ends_report(line, self._delimiter):
            self._table = None
        self.result.remarks.add(line)

    def _start(self, line: str) -> Collector | None:
        for delimiter in DELIMITERS:
            if delimiter not in line:
                continue
            header = Header(split(line, delimiter))
            for fmt in FORMATS:
                if fmt is NcuTransposed and self._in_other_table():
                    continue
                table = fmt.start(header, self.result.evidence, delimiter)
                if table is not None:
                    return table
            if self.result.remarks.add_table(header):
                self._table = None
                return None
        return None

    def _in_other_table(self) -> bool:
        return self._table is not None and not isinstance(self._table, NcuTransposed)


def _ends_report(line: str, delimiter: str) -> bool:
    """True for the title of the next nsys report or a header of names no format knows."""
    if line.lstrip().startswith(("** ", "Processing [", "SKIPPED")):
        return True
    cells = split(line, delimiter)
    return len(cells) > 3 and all(cell.strip() and not is_number(cell) for cell in cells)
