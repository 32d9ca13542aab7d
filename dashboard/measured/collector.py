"""What every format reader shares: it is offered rows one by one and keeps launches as text."""

from __future__ import annotations

from collections.abc import Sequence

from dashboard.measured.launch import RawLaunch
from dashboard.measured.metrics import Counter
from dashboard.measured.table import Evidence, Header, pick


class Collector:
    """One table of a file; subclasses take rows that belong to it and refuse all others.

    `summary` is True for tables that aggregate launches; they give way to a trace in the same file.
    `notes` are assumptions that go into the provenance of every launch of the table.
    """

    kind = ""
    summary = False

    def __init__(self, header: Header, evidence: Evidence, delimiter: str) -> None:
        self.header, self.evidence, self.delimiter = header, evidence, delimiter
        self.launches: list[RawLaunch] = []
        self.notes: dict[str, str] = {}

    @classmethod
    def start(cls, header: Header, evidence: Evidence, delimiter: str) -> Collector | None:
        """A reader for the table under `header`, None where the names are not those of this format."""
        raise NotImplementedError

    def accept(self, row: list[str]) -> bool:
        """Take `row` if it belongs to this table."""
        raise NotImplementedError

    def finish(self) -> None:
        """Called once after the last row."""


class TimeTable(Collector):
    """A table with one launch or one kernel per row and its times in columns.

    `columns` maps counter names to places; `name_column` is where unquoted commas are joined again.
    """

    def __init__(self, header: Header, evidence: Evidence, delimiter: str, columns: dict[str, int]) -> None:
        super().__init__(header, evidence, delimiter)
        self.columns = columns
        self.counters: tuple[Counter, ...] = tuple(
            (name, header.units[place]) for name, place in columns.items()
        )
        skip = (
            "name",
            "kernel name",
            "operation",
            "device",
            "strm",
            "stream",
            "ctx",
            "context",
            "id",
            "type",
        )
        named = {header.at(name) for name in skip}
        self._numeric = [place for place in range(len(header)) if place not in named]

    def assume_unit(self, unit: str, why: str) -> None:
        """Give every time column without a unit the unit `unit`."""
        if any(not printed for _, printed in self.counters):
            self.counters = tuple((name, printed or unit) for name, printed in self.counters)
            self.notes["unit"] = why

    def texts(self, row: Sequence[str]) -> tuple[str, ...]:
        """The cells of all counters; also shows the row's numbers to the evidence."""
        self.evidence.add_all([row[place] for place in self._numeric if place < len(row)])
        return tuple(pick(row, place) for place in self.columns.values())
