"""Nsight UI raw export, transposed: one line per metric, one column per launch, units in [brackets]."""

from __future__ import annotations

from dashboard.measured.collector import Collector
from dashboard.measured.launch import RawLaunch
from dashboard.measured.metrics import WANTED, Counter
from dashboard.measured.ncu_raw import FACTS, KERNEL_COLUMNS, is_column_name, process_id
from dashboard.measured.table import Evidence, Header, pick, plain
from dashboard.measured.units import split_label


class NcuTransposed(Collector):
    """Lines of one transposed table; starts at the ID or the kernel name."""

    kind = "Nsight Compute UI export, transposed"

    @classmethod
    def start(cls, header: Header, evidence: Evidence, delimiter: str) -> NcuTransposed | None:
        first, rest = plain(header.labels[0]) if header.labels else "", header.labels[1:]
        while rest and not rest[-1]:
            rest.pop()
        if not rest or any(is_column_name(cell) for cell in rest):
            return None
        if (first == "id" and all(cell.isdigit() for cell in rest)) or first in KERNEL_COLUMNS:
            table = cls(header, evidence, delimiter)
            table.accept(header.labels)
            return table
        return None

    def __init__(self, header: Header, evidence: Evidence, delimiter: str) -> None:
        super().__init__(header, evidence, delimiter)
        self._facts: dict[str, list[str]] = {}
        self._counters: list[Counter] = []
        self._lines: list[list[str]] = []
        self._started = False

    def accept(self, row: list[str]) -> bool:
        if len(row) < 2:
            return False
        if self._started and (plain(row[0]) == "id" or any(is_column_name(cell) for cell in row[1:])):
            return False
        self._started = True
        name, unit = split_label(row[0])
        values = [cell.strip() for cell in row[1:]]
        if name in WANTED and not (plain(name) in ("grid size", "block size") and "," in values[0]):
            self._counters.append((name, unit))
            self._lines.append(values)
        else:
            self._facts.setdefault(plain(name), values)
        if ":" not in name and plain(name) not in KERNEL_COLUMNS and plain(name) != "id":
            self.evidence.add_all(values)
        return True

    def finish(self) -> None:
        kernels = next((self._facts[name] for name in KERNEL_COLUMNS if name in self._facts), [])
        for place, kernel in enumerate(kernels):
            if kernel and self._counters:
                self.launches.append(self._launch(place, kernel))

    def is_table(self) -> bool:
        return bool(self._counters)

    def _launch(self, place: int, kernel: str) -> RawLaunch:
        facts = {}
        for key, names in FACTS.items():
            found = next((self._facts[name] for name in names if name in self._facts), [])
            facts[key] = pick(found, place)
        facts["process_id"] = process_id(facts["process_id"])
        texts = tuple(pick(line, place) for line in self._lines)
        return RawLaunch(kernel, self.kind, counters=tuple(self._counters), texts=texts, **facts)
