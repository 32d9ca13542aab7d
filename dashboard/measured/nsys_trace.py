"""Nsight Systems cuda_gpu_trace (gputrace) and cuda_kern_exec_trace: one row per launch.

Rows of memory copies and sets have no grid and are dropped.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from operator import itemgetter

from dashboard.measured.collector import TimeTable
from dashboard.measured.launch import RawLaunch
from dashboard.measured.numbers import is_number
from dashboard.measured.table import Evidence, Header

_DURATION = ("duration", "kernel dur")
_START = ("start", "kernel start")
_NAME = ("name", "kernel name")
NSYS_UNIT = "the header names no unit; nanoseconds, the default of nsys, assumed"


@lru_cache(maxsize=256)
def device_of(text: str) -> tuple[str, str]:
    """("NVIDIA A100", "0") from "NVIDIA A100 (0)"; a bare ordinal has no name."""
    found = re.fullmatch(r"(.*?)\s*\((\d+)\)", text.strip())
    if found:
        return found[1], found[2]
    return ("", text.strip()) if text.strip().isdigit() else (text.strip(), "")


class NsysTrace(TimeTable):
    """Rows of one GPU trace."""

    kind = "Nsight Systems GPU trace"

    @classmethod
    def start(cls, header: Header, evidence: Evidence, delimiter: str) -> NsysTrace | None:
        duration, start, name = header.at(*_DURATION), header.at(*_START), header.at(*_NAME)
        if duration is None or name is None or header.at("grdx", "gridxyz") is None:
            return None
        columns = {"trace:Duration": duration} | ({} if start is None else {"trace:Start": start})
        return cls(header, evidence, delimiter, columns)

    def __init__(self, header: Header, evidence: Evidence, delimiter: str, columns: dict[str, int]) -> None:
        super().__init__(header, evidence, delimiter, columns)
        self.assume_unit("ns", NSYS_UNIT)
        self._name = self.place(*_NAME)
        self._duration = columns["trace:Duration"]
        self._grid = self._shape("gridxyz", "grdx", "grdy", "grdz")
        self._block = self._shape("blockxyz", "blkx", "blky", "blkz")
        facts = (("corrid",), ("pid",), ("ctx",), ("strm",), ("device", "devid"))
        self._facts = itemgetter(*(self.place(*names) for names in facts))

    def _shape(self, whole: str, *axes: str) -> Callable[[list[str]], tuple[str, ...]]:
        """Takes the cells of a shape, which stand in one column or in three."""
        names = (whole, whole) if self.header.at(whole) is not None else axes
        return itemgetter(*(self.place(name) for name in names))

    def accept(self, row: list[str]) -> bool:
        if len(row) <= self._duration or not is_number(row[self._duration]):
            return False
        row = self.fit(row, self._name)
        name = row[self._name].strip()
        if not name:
            return False
        grid = _joined(self._grid(row))
        texts = self.texts(row)
        if grid:
            id_, process, context, stream, device = self._facts(row)
            device_name, ordinal = device_of(device)
            raw = RawLaunch(name, self.kind, grid, _joined(self._block(row)), id_, process, context, stream)
            raw.device, raw.device_name = ordinal, device_name
            raw.counters, raw.texts = self.counters, texts
            self.launches.append(raw)
        return True


def _joined(cells: tuple[str, ...]) -> str:
    """ "8 64 1" from its three cells or from one cell seen twice; empty where a cell is."""
    if not all(cells):
        return ""
    return cells[0] if len(cells) == 2 else " ".join(cells)
