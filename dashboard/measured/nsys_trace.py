"""Nsight Systems cuda_gpu_trace (gputrace) and cuda_kern_exec_trace: one row per launch.

Rows of memory copies and sets have no grid and are dropped.
"""

from __future__ import annotations

import re
from typing import Any

from dashboard.measured.collector import TimeTable
from dashboard.measured.launch import RawLaunch
from dashboard.measured.numbers import is_number
from dashboard.measured.table import Evidence, Header, pick, rejoin

_DURATION = ("duration", "kernel dur")
_START = ("start", "kernel start")
_NAME = ("name", "kernel name")
NSYS_UNIT = "the header names no unit; nanoseconds, the default of nsys, assumed"


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
        self._name = header.at(*_NAME) or 0
        self._duration = columns["trace:Duration"]
        self._grid = [header.at(name) for name in ("gridxyz", "grdx", "grdy", "grdz")]
        self._block = [header.at(name) for name in ("blockxyz", "blkx", "blky", "blkz")]
        self._facts = {
            "id": header.at("corrid"),
            "process_id": header.at("pid"),
            "context": header.at("ctx"),
            "stream": header.at("strm"),
        }
        self._device = header.at("device", "devid")

    def accept(self, row: list[str]) -> bool:
        row = rejoin(row, len(self.header), self._name, self.delimiter)
        name = pick(row, self._name)
        if not name or not is_number(pick(row, self._duration)):
            return False
        grid = self._dims(row, self._grid)
        texts = self.texts(row)
        if grid:
            device_name, device = device_of(pick(row, self._device))
            facts: dict[str, Any] = {key: pick(row, place) for key, place in self._facts.items()}
            raw = RawLaunch(name, self.kind, grid, self._dims(row, self._block), device=device, **facts)
            raw.device_name, raw.counters, raw.texts = device_name, self.counters, texts
            self.launches.append(raw)
        return True

    @staticmethod
    def _dims(row: list[str], places: list[int | None]) -> str:
        cells = [pick(row, place) for place in places if place is not None]
        return " ".join(cells) if all(cells) else ""
