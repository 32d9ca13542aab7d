"""Nsight Systems kernel summaries: cuda_gpu_kern_sum, gpukernsum, cuda_gpu_kern_gb_sum, cuda_gpu_sum.

The median is the duration; where a version prints none it is the average. Names of columns changed in
2020, 2021 and 2022, their units stand in parentheses.
"""

from __future__ import annotations

from dashboard.measured.collector import TimeTable
from dashboard.measured.launch import RawLaunch
from dashboard.measured.nsys_trace import NSYS_UNIT
from dashboard.measured.numbers import is_number
from dashboard.measured.table import Evidence, Header

_COLUMNS = {
    "summary:Med": ("med", "median", "kmed"),
    "summary:Avg": ("avg", "average", "kavg"),
    "summary:Min": ("min", "minimum", "kmin"),
    "summary:Max": ("max", "maximum", "kmax"),
    "summary:StdDev": ("stddev", "std dev", "kstddev"),
    "summary:Total": ("total time",),
}
_NAMES = ("name", "kernel name", "operation")


class NsysKernSum(TimeTable):
    """Rows of one summary: one kernel name, or one kernel name and grid, per row."""

    kind = "Nsight Systems kernel summary"
    summary = True

    @classmethod
    def start(cls, header: Header, evidence: Evidence, delimiter: str) -> NsysKernSum | None:
        name, instances = header.at(*_NAMES), header.at("instances", "kern inst")
        plain_report = header.at("name", "kernel name") is not None or header.has("category", "operation")
        if name is None or instances is None or not plain_report or header.at("total time") is None:
            return None
        found = {counter: header.at(*names) for counter, names in _COLUMNS.items()}
        return cls(header, evidence, delimiter, {key: place for key, place in found.items() if place is not None})

    def __init__(self, header: Header, evidence: Evidence, delimiter: str, columns: dict[str, int]) -> None:
        super().__init__(header, evidence, delimiter, columns)
        total = header.units[columns["summary:Total"]]
        why = "columns without a unit have that of the total time" if total else NSYS_UNIT
        self.assume_unit(total or "ns", why)
        self._name = self.place(*_NAMES)
        self._category = header.at("category")
        self._total = columns["summary:Total"]
        self._facts = [self.place(*names) for names in (("gridxyz",), ("blockxyz",), ("instances", "kern inst"))]

    def accept(self, row: list[str]) -> bool:
        if len(row) <= self._total or not is_number(row[self._total]):
            return False
        row = self.fit(row, self._name)
        name = row[self._name].strip()
        if not name:
            return False
        if self._is_kernel(row, name):
            texts = self.texts(row)
            grid, block, instances = (row[place].strip() for place in self._facts)
            raw = RawLaunch(name, self.kind, grid, block, instances=instances)
            raw.counters, raw.texts = self.counters, texts
            self.launches.append(raw)
        return True

    def _is_kernel(self, row: list[str], name: str) -> bool:
        if self._category is not None and "kernel" not in row[self._category].casefold():
            return False
        return not name.startswith(("[CUDA mem", "[CUDA Unified"))
