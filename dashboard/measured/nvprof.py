"""nvprof --csv: GPU trace, summary and metrics; the row under the header holds the units.

Copies have no grid or a name in brackets and are dropped, API calls are not kernels, and the
"[123]" that nvprof appends to a kernel's name in a trace is its correlation ID, not part of the name.
"""

from __future__ import annotations

import re
from abc import abstractmethod

from dashboard.measured import units
from dashboard.measured.collector import Collector, TimeTable
from dashboard.measured.launch import RawLaunch
from dashboard.measured.metrics import NUMERIC
from dashboard.measured.nsys_trace import device_of
from dashboard.measured.numbers import is_number
from dashboard.measured.table import Evidence, Header, pick

_SUMMARY = {"summary:Avg": "avg", "summary:Min": "min", "summary:Max": "max", "summary:Total": "time"}
_CORRELATED = re.compile(r"(.*\S)\s+\[(\d+)\]")
_EMBEDDED = re.compile(r"([-+0-9.,eE]*[0-9])\s*([A-Za-z%/]*)")


class _NvprofTimes(TimeTable):
    """Shared by trace and summary: the units row."""

    def __init__(self, header: Header, evidence: Evidence, delimiter: str, columns: dict[str, int]) -> None:
        super().__init__(header, evidence, delimiter, columns)
        self._name = header.at("name") or 0
        self._first = next(iter(columns.values()))

    def accept(self, row: list[str]) -> bool:
        row = self.fit(row, self._name)
        name, first = pick(row, self._name), pick(row, self._first)
        if not name and units.parse(first).dimension == units.TIME:
            self.counters = tuple((key, pick(row, place)) for key, place in self.columns.items())
            return True
        if not name or not is_number(first):
            return False
        self.take(row, name)
        return True

    @abstractmethod
    def take(self, row: list[str], name: str) -> None:
        """Keep the row of the kernel `name`."""


class NvprofTrace(_NvprofTimes):
    """Rows of nvprof --print-gpu-trace --csv."""

    kind = "nvprof GPU trace"

    @classmethod
    def start(cls, header: Header, evidence: Evidence, delimiter: str) -> NvprofTrace | None:
        duration, start = header.at("duration"), header.at("start")
        if duration is None or start is None or not header.has("name") or header.at("grid x", "grid size") is None:
            return None
        return cls(header, evidence, delimiter, {"trace:Duration": duration, "trace:Start": start})

    def take(self, row: list[str], name: str) -> None:
        grid, block = (self._shape(row, what) for what in ("grid", "block"))
        texts = self.texts(row)
        if not grid.strip():
            return
        found = _CORRELATED.fullmatch(name)
        device_name, device = device_of(pick(row, self.header.at("device")))
        raw = RawLaunch(found[1] if found else name, self.kind, grid, block, device=device)
        raw.id = found[2] if found else pick(row, self.header.at("correlation_id", "correlation id"))
        raw.device_name, raw.counters, raw.texts = device_name, self.counters, texts
        raw.context, raw.stream = (pick(row, self.header.at(key)) for key in ("context", "stream"))
        self.launches.append(raw)

    def _shape(self, row: list[str], what: str) -> str:
        """The cells of a shape, in one column or three, depending on the version."""
        whole = pick(row, self.header.at(f"{what} size"))
        return whole or " ".join(pick(row, self.header.at(f"{what} {axis}")) for axis in "xyz")


class NvprofSummary(_NvprofTimes):
    """Rows of nvprof --csv: one kernel per row, its average as the duration."""

    kind = "nvprof summary"
    summary = True

    @classmethod
    def start(cls, header: Header, evidence: Evidence, delimiter: str) -> NvprofSummary | None:
        if not header.has("time(%)", "time", "calls", "avg", "name") and not header.has(
            "time (%)", "time", "calls", "avg", "name"
        ):
            return None
        places = {key: header.labels.index(label) for key, label in _labels(header).items()}
        return cls(header, evidence, delimiter, places) if places else None

    def take(self, row: list[str], name: str) -> None:
        kind = pick(row, self.header.at("type")).casefold()
        texts = self.texts(row)
        api = kind.startswith("api") or (not kind and re.match(r"cu(da)?[A-Z]\w*$", name) is not None)
        if api or name.startswith("[CUDA mem") or (kind and not kind.startswith("gpu")):
            return
        calls = pick(row, self.header.at("calls"))
        self.launches.append(RawLaunch(name, self.kind, instances=calls, counters=self.counters, texts=texts))


def _labels(header: Header) -> dict[str, str]:
    """Counter to column label; "Time" must not be mistaken for "Time(%)"."""
    lower = {label.casefold(): label for label in reversed(header.labels)}
    return {key: lower[name] for key, name in _SUMMARY.items() if name in lower}


class NvprofMetrics(Collector):
    """Rows of nvprof --metrics --csv: one metric per row, minimum, maximum and average over invocations."""

    kind = "nvprof metrics"
    summary = True

    @classmethod
    def start(cls, header: Header, evidence: Evidence, delimiter: str) -> NvprofMetrics | None:
        if header.has("kernel", "invocations", "metric name", "avg"):
            return cls(header, evidence, delimiter)
        return None

    def __init__(self, header: Header, evidence: Evidence, delimiter: str) -> None:
        super().__init__(header, evidence, delimiter)
        self._known: dict[tuple[str, str], RawLaunch] = {}

    def accept(self, row: list[str]) -> bool:
        kernel, metric = (pick(row, self.header.at(name)) for name in ("kernel", "metric name"))
        found = _EMBEDDED.fullmatch(pick(row, self.header.at("avg")))
        if not kernel or not metric or found is None or len(row) < len(self.header):
            return False
        device = pick(row, self.header.at("device"))
        raw = self._known.get((device, kernel))
        if raw is None:
            device_name, ordinal = device_of(device)
            raw = RawLaunch(kernel, self.kind, device=ordinal, device_name=device_name)
            raw.instances = pick(row, self.header.at("invocations"))
            self._known[device, kernel] = raw
            self.launches.append(raw)
        self.evidence.add(found[1])
        if f"nvprof:{metric}" in NUMERIC:
            unit = found[2] or ("byte" if metric.endswith("_bytes") else "")
            raw.counters.append((f"nvprof:{metric}", unit))  # type: ignore[union-attr]
            raw.texts.append(found[1])  # type: ignore[union-attr]
        return True
