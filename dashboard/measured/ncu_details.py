"""Nsight Compute details page: one row per metric, several rows per launch, columns by name.

Reads every column set from the 12-column form of old versions to the 20 columns of 2025, rows that are
shorter than the header, rule rows without a metric, and per-kernel summaries (--print-summary).
"""

from __future__ import annotations

from operator import itemgetter
from typing import Any

from dashboard.measured.collector import Collector
from dashboard.measured.errors import Refused
from dashboard.measured.launch import RawLaunch
from dashboard.measured.metrics import WANTED, Counter
from dashboard.measured.table import UNQUOTED, Evidence, Header, pick

_KEYS = {
    "id": "id",
    "process_id": "process id",
    "context": "context",
    "stream": "stream",
    "device": "device",
    "cc": "cc",
    "block": "block size",
    "grid": "grid size",
    "instances": "invocations",
}


_NO_NAME = ("", *"0123456789")


class NcuDetails(Collector):
    """Rows of one details table, merged to launches by ID, process and launch columns."""

    kind = "Nsight Compute details page"

    @classmethod
    def start(cls, header: Header, evidence: Evidence, delimiter: str) -> NcuDetails | None:
        if header.has("kernel name", "metric name") and header.at("metric value", "average") is not None:
            return cls(header, evidence, delimiter)
        return None

    def __init__(self, header: Header, evidence: Evidence, delimiter: str) -> None:
        super().__init__(header, evidence, delimiter)
        self._kernel = header.at("kernel name") or 0
        self._metric = header.at("metric name") or 0
        self._unit = header.at("metric unit")
        self._value = header.at("metric value", "average") or 0
        self._id = header.at("id")
        self.summary = header.at("metric value") is None
        found = {key: header.at(column) for key, column in _KEYS.items()}
        self._places = {key: place for key, place in found.items() if place is not None}
        self._key_of = itemgetter(self._kernel, *self._places.values())
        self._need = max(self._metric, self._unit or 0, self._value, self._kernel, *self._places.values(), 0)
        behind = self._value + 1
        rules = behind >= len(header) or header.labels[behind].startswith("Rule")
        self._behind = behind if rules and not self.summary else None
        self._note = evidence.add
        self._pairs: dict[Counter, Counter] = {}
        self._known: dict[object, RawLaunch] = {}
        self._last: object = None
        self._current = RawLaunch("", self.kind)
        if self.summary:
            self.notes["summary"] = "average over the invocations of a kernel"

    def accept(self, row: list[str]) -> bool:
        if len(row) <= self._need:
            return self._is_short_row(row)
        key = self._key_of(row)
        if key != self._last or self._id is None:
            if not self._is_data(row):
                return False
            self._open(key, row)
        metric = row[self._metric].strip()
        if metric:
            self._note(row[self._value])
            if metric in WANTED:
                self._take(metric, row)
        return True

    def _is_short_row(self, row: list[str]) -> bool:
        """A cut row is this table's, but says nothing."""
        return len(row) > self._kernel > 0 and row[0][:1].isdigit()

    def _is_data(self, row: list[str]) -> bool:
        """True for rows with an ID and a kernel, whose name never starts with a digit."""
        kernel = row[self._kernel]
        return kernel[:1] not in _NO_NAME and (self._id is None or row[self._id][:1].isdigit())

    def _take(self, metric: str, row: list[str]) -> None:
        """Keep a cell that some rule reads; a cell behind it, where only rule rows have one, is its rest."""
        if self._behind is not None and self._behind < len(row) and row[self._behind].strip().isdigit():
            raise Refused(UNQUOTED)
        pair = (metric, pick(row, self._unit))
        self._current.counters.append(self._pairs.setdefault(pair, pair))  # type: ignore[union-attr]
        self._current.texts.append(row[self._value])  # type: ignore[union-attr]

    def _repeats(self, metric: str, row: list[str]) -> bool:
        """Without an ID column a metric seen again means the next launch."""
        return not self.summary and metric in WANTED and (metric, pick(row, self._unit)) in self._current.counters

    def _open(self, key: object, row: list[str]) -> None:
        if key == self._last and not self._repeats(row[self._metric], row):
            return
        self._last = key
        known = self._known.get(key) if self._id is not None or self.summary else None
        if known is None:
            values: dict[str, Any] = {name: row[place].strip() for name, place in self._places.items()}
            known = RawLaunch(row[self._kernel].strip(), self.kind, **values)
            self._known[key] = known
            self.launches.append(known)
        self._current = known
