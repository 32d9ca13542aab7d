"""What every format reader shares: it is offered rows one by one and keeps launches as text."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from operator import itemgetter

from dashboard.measured.launch import RawLaunch
from dashboard.measured.metrics import Counter
from dashboard.measured.table import Evidence, Header, rejoin

# Rows of a table whose every number, used or not, helps to decide the separators of the file.
SAMPLE_ROWS = 256


class Collector(ABC):
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
    @abstractmethod
    def start(cls, header: Header, evidence: Evidence, delimiter: str) -> Collector | None:
        """A reader for the table under `header`, None where the names are not those of this format."""

    @abstractmethod
    def accept(self, row: list[str]) -> bool:
        """Take `row` if it belongs to this table."""

    def finish(self) -> None:  # noqa: B027 - most tables have nothing left to do
        """Called once after the last row."""

    def is_table(self) -> bool:
        """False where the rows taken turned out to be no table of this kind."""
        return True


class TimeTable(Collector):
    """A table with one launch or one kernel per row and its times in columns.

    `columns` maps counter names to places; `name_column` is where unquoted commas are joined again.
    """

    def __init__(self, header: Header, evidence: Evidence, delimiter: str, columns: dict[str, int]) -> None:
        super().__init__(header, evidence, delimiter)
        self.columns = columns
        self.counters: tuple[Counter, ...] = tuple((name, header.units[place]) for name, place in columns.items())
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
        self._pick = itemgetter(*columns.values(), 0, 0)
        self._numeric = [place for place in range(len(header)) if place not in named]

    def assume_unit(self, unit: str, why: str) -> None:
        """Give every time column without a unit the unit `unit`."""
        if any(not printed for _, printed in self.counters):
            self.counters = tuple((name, printed or unit) for name, printed in self.counters)
            self.notes["unit"] = why

    def fit(self, row: list[str], text_column: int) -> list[str]:
        """The row with exactly the header's width and one empty cell behind it."""
        width = len(self.header)
        if len(row) > width:
            row = rejoin(row, width, text_column, self.delimiter)
        return [*row, *[""] * (width + 1 - len(row))]

    def place(self, *names: str) -> int:
        """The column of the first of `names` that exists, else that of the empty cell `fit` adds."""
        found = self.header.at(*names)
        return len(self.header) if found is None else found

    def texts(self, row: Sequence[str]) -> tuple[str, ...]:
        """The cells of all counters of a fitted row; also shows numbers to the evidence."""
        if len(self.launches) < SAMPLE_ROWS:
            self.evidence.add_all([row[place] for place in self._numeric])
        texts = self._pick(row)[:-2]
        self.evidence.add_all(texts)
        return texts
