"""Writes the same launches as any tool, version and locale would, for tests that know the right values."""

from __future__ import annotations

import gzip
import io
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

SCALES = {
    "time": {"ns": 1.0, "nsecond": 1.0, "us": 1e3, "usecond": 1e3, "ms": 1e6, "msecond": 1e6},
    "bytes": {"byte": 1.0, "bytes": 1.0, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9},
    "clock": {"hz": 1.0, "cycle/second": 1.0, "Mhz": 1e6, "Ghz": 1e9, "cycle/nsecond": 1e9},
    "sectors": {"sector": 1.0, "sectors": 1.0, "": 1.0},
    "percent": {"%": 1.0},
}
# counter, quantity, field of the launch, factor from counter to field
COUNTERS = (
    ("gpu__time_duration.sum", "time", "duration_ns", 1.0),
    ("dram__bytes_read.sum", "bytes", "dram_read_bytes", 1.0),
    ("dram__bytes_write.sum", "bytes", "dram_write_bytes", 1.0),
    ("lts__t_sectors.sum", "sectors", "l2_bytes", 32.0),
    ("lts__t_sectors_srcunit_tex.sum", "sectors", "l2_bytes_sm_side", 32.0),
    ("lts__t_sector_hit_rate.pct", "percent", "l2_hit_rate_pct", 1.0),
    ("sm__cycles_elapsed.avg.per_second", "clock", "sm_clock_hz", 1.0),
)
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252")


@dataclass(frozen=True)
class Truth:
    """What one launch did, as whole base units; the hit rate in hundredths of a percent."""

    kernel: str
    grid: tuple[int, int, int]
    values: tuple[int, ...]


@dataclass(frozen=True)
class Layout:
    """How a file is written; `units` picks a spelling per counter, `digits` the decimals of scaled values."""

    page: str
    delimiter: str
    decimal: str
    group: str
    lakh: bool
    digits: int
    units: tuple[int, ...]
    encoding: str
    newline: str
    noise: tuple[str, ...]
    pack: str


def number(value: float, digits: int, layout: Layout) -> str:
    """`value` rounded to `digits` decimals with the separators of the layout."""
    whole, _, rest = f"{value:.{digits}f}".partition(".")
    head, tail = whole[:-3], whole[-3:]
    size, parts = (2 if layout.lakh else 3), []
    while head:
        parts.insert(0, head[-size:])
        head = head[:-size]
    return layout.group.join([*parts, tail]) + (layout.decimal + rest if rest else "")


def cell(place: int, truth: Truth, layout: Layout) -> tuple[str, str, float]:
    """Unit and text of one counter, and by how much the text may differ from the truth, in field units."""
    _, quantity, _, factor = COUNTERS[place]
    spellings = list(SCALES[quantity].items())
    unit, scale = spellings[layout.units[place] % len(spellings)]
    value = truth.values[place] / (100 if quantity == "percent" else 1)
    digits = layout.digits if scale > 1 or quantity == "percent" else 0
    slack = 0.5 * 10.0**-digits * scale if digits or quantity == "percent" else 0.0
    return unit, number(value / scale, digits, layout), slack * factor


def expected(place: int, truth: Truth) -> float:
    """The right value of the field that counter `place` gives."""
    _, quantity, _, factor = COUNTERS[place]
    return truth.values[place] * factor / (100 if quantity == "percent" else 1)


def _row(cells: list[str], layout: Layout) -> str:
    return layout.delimiter.join('"' + text.replace('"', '""') + '"' for text in cells)


def _details(truths: list[Truth], layout: Layout) -> list[str]:
    head = ["ID", "Process ID", "Kernel Name", "Block Size", "Grid Size", "CC", "Section Name"]
    lines = [_row([*head, "Metric Name", "Metric Unit", "Metric Value", "Rule Name"], layout)]
    for id_, truth in enumerate(truths):
        launch = [str(id_), "7", truth.kernel, "(128, 1, 1)", str(truth.grid), "9.0", "Command line"]
        for place, (name, *_) in enumerate(COUNTERS):
            unit, text, _ = cell(place, truth, layout)
            lines.append(_row([*launch, name, unit, text], layout))
        lines.append(_row([*launch, "", "", "", "LaunchConfiguration"], layout))
    return lines


def _raw(truths: list[Truth], layout: Layout) -> list[str]:
    head = ["ID", "Process ID", "Kernel Name", "Block Size", "Grid Size", "CC"]
    cells = [[cell(place, truth, layout) for place in range(len(COUNTERS))] for truth in truths]
    lines = [_row([*head, *(name for name, *_ in COUNTERS)], layout)]
    lines.append(_row([*[""] * len(head), *(unit for unit, _, _ in cells[0])], layout))
    for id_, (truth, texts) in enumerate(zip(truths, cells, strict=True)):
        launch = [str(id_), "7", truth.kernel, "(128, 1, 1)", str(truth.grid), "9.0"]
        lines.append(_row([*launch, *(text for _, text, _ in texts)], layout))
    return lines


def _ui(truths: list[Truth], layout: Layout) -> list[str]:
    lines = [_row(["ID", *(str(id_) for id_ in range(len(truths)))], layout)]
    lines.append(_row(["Function Name", *(truth.kernel for truth in truths)], layout))
    lines.append(_row(["Grid Size", *(", ".join(map(str, truth.grid)) for truth in truths)], layout))
    for place, (name, *_) in enumerate(COUNTERS):
        cells = [cell(place, truth, layout) for truth in truths]
        label = f"{name} [{cells[0][0]}]" if cells[0][0] else name
        lines.append(_row([label, *(text for _, text, _ in cells)], layout))
    return lines


def _trace(truths: list[Truth], layout: Layout) -> list[str]:
    unit = cell(0, truths[0], layout)[0]
    head = [f"Start ({unit})", f"Duration ({unit})", "CorrId", "GrdX", "GrdY", "GrdZ"]
    lines = [_row([*head, "BlkX", "BlkY", "BlkZ", "Device", "Strm", "Name"], layout)]
    for id_, truth in enumerate(truths):
        text = cell(0, truth, layout)[1]
        grid = [str(count) for count in truth.grid]
        lines.append(_row([text, text, str(id_), *grid, "128", "1", "1", "A100 (0)", "7", truth.kernel], layout))
        lines.append(_row([text, text, "9", *[""] * 6, "A100 (0)", "7", "[CUDA memset]"], layout))
    return lines


def _summary(truths: list[Truth], layout: Layout) -> list[str]:
    unit = cell(0, truths[0], layout)[0]
    times = [f"{name} ({unit})" for name in ("Total Time", "Avg", "Med", "Min", "Max", "StdDev")]
    lines = [_row(["Time (%)", times[0], "Instances", *times[1:], "Name"], layout)]
    for truth in truths:
        text = cell(0, truth, layout)[1]
        lines.append(_row(["50", text, "3", *[text] * 5, truth.kernel], layout))
    return lines


PAGES: dict[str, Callable[[list[Truth], Layout], list[str]]] = {
    "details": _details,
    "raw": _raw,
    "ui": _ui,
    "trace": _trace,
    "summary": _summary,
}


def render(truths: list[Truth], layout: Layout) -> bytes:
    """The file: preamble, table with noise between its lines, encoded and packed."""
    lines = PAGES[layout.page](truths, layout)
    for place, text in enumerate(layout.noise):
        lines.insert((place * 5) % (len(lines) + 1) if layout.page in ("details", "raw") else 0, text)
    data = (layout.newline.join(lines) + layout.newline).encode(layout.encoding)
    if layout.pack == "gzip":
        return gzip.compress(data, 1)
    if layout.pack == "zip":
        store = io.BytesIO()
        with zipfile.ZipFile(store, "w") as archive:
            archive.writestr("a.csv", data)
        return store.getvalue()
    return data


def wrong_values(launches: list[Any], truths: list[Truth], layout: Layout) -> list[tuple[str, Any, float]]:
    """Fields that differ from the truth by more than the rounding of the printed text."""
    timed = layout.page in ("trace", "summary")
    wrong = []
    for launch, truth in zip(launches, truths, strict=True):
        if launch.kernel != truth.kernel:
            wrong.append((launch.kernel, truth.kernel, 0.0))
        if layout.page != "summary" and launch.grid != truth.grid:
            wrong.append(("grid", launch.grid, 0.0))
        for place, (_, _, field, _) in enumerate(COUNTERS[:1] if timed else COUNTERS):
            right, value = expected(place, truth), getattr(launch, field)
            slack = cell(place, truth, layout)[2] + 1e-9 * right
            if value is None or abs(value - right) > slack:
                wrong.append((field, value, right))
    return wrong
