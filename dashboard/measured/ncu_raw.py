"""Nsight Compute raw page and Nsight UI tables with one launch per row and one column per metric.

The row under the header holds the units and decides the scale of every column; a table without it is
refused unless its column names carry their units in brackets.
"""

from __future__ import annotations

import re
from functools import lru_cache
from operator import itemgetter

from dashboard.measured.collector import SAMPLE_ROWS, Collector
from dashboard.measured.errors import Refused
from dashboard.measured.launch import RawLaunch
from dashboard.measured.metrics import WANTED, Counter
from dashboard.measured.table import Evidence, Header, pick, plain, rejoin

KERNEL_COLUMNS = ("original demangled name", "kernel name", "demangled name", "function name", "mangled name")
FACTS = {
    "id": ("id",),
    "process_id": ("process id", "process"),
    "context": ("context", "context id"),
    "stream": ("stream", "stream id"),
    "device": ("device", "device id"),
    "device_name": ("device name",),
    "cc": ("cc", "compute capability"),
    "block": ("block size",),
    "grid": ("grid size",),
}
_METRIC = re.compile(r"[a-z0-9]+__[a-z0-9_]+\.[a-z0-9_.]+")
UNITS_GONE = (
    "the row of units under the header is missing, so no value can be scaled; export again with "
    "ncu -i report.ncu-rep --csv --page raw --print-units base and keep the second row"
)


@lru_cache(maxsize=256)
def process_id(text: str) -> str:
    """The number in "[3212] app.exe", or the text itself."""
    found = re.match(r"\s*\[(\d+)\]", text)
    return found[1] if found else text.strip()


class NcuRaw(Collector):
    """Rows of one raw table."""

    kind = "Nsight Compute raw page"

    @classmethod
    def start(cls, header: Header, evidence: Evidence, delimiter: str) -> NcuRaw | None:
        kernel = header.at(*KERNEL_COLUMNS)
        if kernel is None or header.at("metric name") is not None:
            return None
        if any(name in WANTED or _METRIC.fullmatch(name) for name in header.bases):
            return cls(header, evidence, delimiter)
        return None

    def __init__(self, header: Header, evidence: Evidence, delimiter: str) -> None:
        super().__init__(header, evidence, delimiter)
        self._kernel = header.at(*KERNEL_COLUMNS) or 0
        self._id = header.at("id")
        places = {key: header.at(*names) for key, names in FACTS.items()}
        dims = {places["grid"], places["block"]}
        self._wanted = [i for i, name in enumerate(header.bases) if name in WANTED and i not in dims]
        taken = {*places.values(), *(header.at(name) for name in KERNEL_COLUMNS)}
        self._sampled = [i for i, name in enumerate(header.bases) if i not in taken and ":" not in name]
        self._counters = self._named([header.units[i] for i in self._wanted])
        self._units_known = any(header.units)
        self._pick = itemgetter(*self._wanted, 0, 0)
        self._facts = itemgetter(*(len(header) if place is None else place for place in places.values()))

    def _named(self, units: list[str]) -> tuple[Counter, ...]:
        return tuple((self.header.bases[i], unit) for i, unit in zip(self._wanted, units, strict=True))

    def accept(self, row: list[str]) -> bool:
        if len(row) <= self._kernel:
            return False
        if len(row) > len(self.header):
            row = rejoin(row, len(self.header), self._kernel, self.delimiter)
        kernel = row[self._kernel].strip()
        if not kernel:
            return self._take_units(row)
        if kernel[0].isdigit() or (self._id is not None and not row[self._id][:1].isdigit()):
            return False
        if not self._units_known:
            raise Refused(UNITS_GONE)
        self._take(row, kernel)
        return True

    def _take_units(self, row: list[str]) -> bool:
        """The row under the header: no ID, no kernel, units in the columns of metrics."""
        if self._units_known or len(row) < 2 or (self._id is not None and row[self._id].strip()):
            return False
        self._counters = self._named([pick(row, place) for place in self._wanted])
        self._units_known = True
        return True

    def _take(self, row: list[str], kernel: str) -> None:
        row += [""] * (len(self.header) + 1 - len(row))
        texts = self._pick(row)[:-2]
        if len(self.launches) < SAMPLE_ROWS:
            self.evidence.add_all([row[place] for place in self._sampled])
        self.evidence.add_all(texts)
        id_, process, context, stream, device, device_name, cc, block, grid = self._facts(row)
        raw = RawLaunch(kernel, self.kind, grid, block, id_.strip(), process_id(process), context, stream)
        raw.device, raw.device_name, raw.cc = device.strip(), device_name.strip(), cc.strip()
        raw.counters, raw.texts = self._counters, texts
        self.launches.append(raw)


def is_column_name(cell: str) -> bool:
    """True for cells that name a metric or a launch column; used to tell a header from values."""
    return plain(cell) in ("kernel name", "metric name", "process id") or cell.strip() in WANTED
