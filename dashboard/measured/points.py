"""The plain table of measured points: `llm` or a shape, `gpu`, `seq`, and what was measured, as CSV.

    llm,gpu,seq,latency_us,l2_bytes,dram_bytes
    llama3-8b,h100-sxm,4096,412.5,,98000000

In place of `llm` stand `heads_q`, `heads_kv` and `head_dim`. Errors name file, line, column, the value and what
is allowed, as for presets.
"""

from __future__ import annotations

import csv
import hashlib
import io
import itertools
import math
from collections.abc import Iterator, Mapping

from dashboard.measured import gpus
from dashboard.measured.case import MASKS, NEEDED, Case, Match, Reading, dtypes
from dashboard.measured.errors import Refused
from dashboard.measured.sniff import text_lines
from presets import loader
from presets.arguments import bare_shape
from presets.errors import PresetError, unknown
from presets.experiment import MAX_LENGTH
from presets.specs import GpuSpec, KernelSpec, LlmSpec

VALUES = ("latency_us", "l2_bytes", "dram_bytes")
SHAPE = ("heads_q", "heads_kv", "head_dim")
OPTIONAL = ("seq_kv", "batch", "mask", "dtype", "kernel", "clock_mhz", "label", "source", "set")
COLUMNS = ("llm", *SHAPE, "gpu", "seq", *OPTIONAL[:6], *VALUES, *OPTIONAL[6:])
TEMPLATE = (
    ",".join(COLUMNS)
    + """
llama3-8b,,,,h100-sxm,4096,,1,none,fp16,,1500,412.5,,98000000,an example: replace it,where the numbers are from,
,16,16,128,gb10,2048,2048,4,causal,fp16,cutile-fa-64x64,2128,1710,,,a bare shape,where the numbers are from,
"""
)
MAX_ROWS = 10_000
SHOWN_ERRORS = 5
_HEAD_BYTES = 2**16
_LARGEST = {"heads_q": 2**31 - 1, "heads_kv": 2**31 - 1, "head_dim": 1024, "batch": 65_536}

Cells = Mapping[str, str]


def recognise(data: bytes) -> bool:
    """Whether the first row is that of a plain table: `seq`, and a measured column, `llm` or part of a shape."""
    try:
        header = _header(_lines(data[:_HEAD_BYTES], "")[:1])[0]
    except (Refused, csv.Error):
        return False
    return "seq" in header and any(name in header for name in (*VALUES, "llm", *SHAPE))


def read(data: bytes, name: str) -> list[Case]:
    """The cases of a plain table. Raises Refused with one line per error, the first few of them."""
    lines = _lines(data, name)
    try:
        header, delimiter = _header(lines)
    except csv.Error as error:
        raise Refused(f"{name}, line 1: cannot be read: {error}") from None
    unknown_columns = [column for column in header if column not in COLUMNS]
    errors = [f"{name}, line 1: {unknown('column', column, COLUMNS)}" for column in unknown_columns]
    errors += [f"{name}, line 1: column '{n}' occurs twice" for n in sorted(set(header)) if header.count(n) > 1]
    if "gpu" not in header:
        errors.append(f"{name}, line 1: column 'gpu' is missing; it holds a preset name: {_gpu_names()}")
    cases: list[Case] = []
    for number, row in () if errors else _rows(lines, delimiter, name):
        if len(cases) + len(errors) > MAX_ROWS:
            raise Refused(f"{name}: more than {MAX_ROWS:,} rows; split the table.")
        if len(row) > len(header):
            errors.append(f"{name}, line {number}: {len(row)} cells under {len(header)} columns")
            continue
        cells = {key: text.strip() for key, text in itertools.zip_longest(header, row, fillvalue="")}
        try:
            cases.append(_case(cells, name, number))
        except PresetError as error:
            errors += [f"{name}, line {number}: {line}" for line in str(error).splitlines()]
    if errors:
        more = len(errors) - SHOWN_ERRORS
        raise Refused("\n".join([*errors[:SHOWN_ERRORS], *([f"and {more} more"] if more > 0 else [])]))
    if not cases:
        raise Refused(f"{name}: the table has a header but no rows.")
    return cases


def _lines(data: bytes, name: str) -> list[str]:
    with text_lines(io.BufferedReader(io.BytesIO(data)), name) as text:
        return list(itertools.islice(text, MAX_ROWS * 2))


def _header(lines: list[str]) -> tuple[list[str], str]:
    first = lines[0] if lines else ""
    delimiter = max(",;\t", key=first.count)
    return [cell.strip().lower() for cell in next(csv.reader([first], delimiter=delimiter), [])], delimiter


def _rows(lines: list[str], delimiter: str, name: str) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(lines[1:], delimiter=delimiter)
    try:
        for row in reader:
            if any(cell.strip() for cell in row) and not row[0].lstrip().startswith("#"):
                yield reader.line_num + 1, row
    except csv.Error as error:
        raise Refused(f"{name}, line {reader.line_num + 1}: cannot be read: {error}") from None


def _case(cells: Cells, name: str, number: int) -> Case:
    gpu, reason = _gpu(cells)
    heads_q, heads_kv, head_dim = _shape(cells)
    match = Match(
        gpu=gpu,
        kernel=_one_of(cells, "kernel", loader.names(KernelSpec)),
        batch=_whole(cells, "batch"),
        heads_q=heads_q,
        heads_kv=heads_kv,
        head_dim=head_dim,
        seq_q=_whole(cells, "seq", needed=True),
        seq_kv=_whole(cells, "seq_kv"),
        mask=_one_of(cells, "mask", MASKS),  # type: ignore[arg-type]
        dtype=_one_of(cells, "dtype", dtypes()),  # type: ignore[arg-type]
        settings=cells.get("set", "")[:2000],
    )
    values = {field: _reading(cells, field) for field in VALUES}
    if all(reading.value is None for reading in values.values()):
        raise PresetError(f"nothing measured: give at least one of {', '.join(VALUES)}")
    clock_mhz = _number(cells, "clock_mhz")
    case = Case(
        id=hashlib.sha256(f"{name}|{number}|{sorted(cells.items())}".encode()).hexdigest()[:16],
        file=name[:2000],
        kernel_name=cells.get("label", "")[:10_000],
        title=(cells.get("label") or cells.get("llm") or f"line {number}")[:200],
        match=match,
        reasons=(f"as line {number} of {name} says", *([reason] if reason else [])),
        clock_hz=clock_mhz * 1e6 if clock_mhz else None,
        conditions=cells.get("source", "")[:10_000],
        device=cells["gpu"][:200],
        latency_us=values["latency_us"],
        l2_bytes=values["l2_bytes"],
        dram_bytes=values["dram_bytes"],
    )
    case.experiment(measured_clock=True)  # a wrong setting or shape is an error of this line
    return case


def _gpu(cells: Cells) -> tuple[str, str]:
    text = cells["gpu"]
    if text in loader.names(GpuSpec):
        return text, ""
    if not text:
        raise PresetError(f"gpu is empty; allowed: {_gpu_names()}, or a device name of one of them")
    found, why = gpus.find(text)
    if not found:
        raise PresetError(f"gpu: {unknown('gpu', text, loader.names(GpuSpec))}, or a device name of one of them")
    return found, why


def _shape(cells: Cells) -> tuple[int | None, ...]:
    given = [name for name in SHAPE if cells.get(name)]
    if cells.get("llm"):
        if given:
            raise PresetError(f"llm and {', '.join(given)} exclude each other; leave one of them empty")
        llm = loader.load(LlmSpec, _one_of(cells, "llm", loader.names(LlmSpec)))
        return llm.heads_q, llm.heads_kv, llm.head_dim
    if not cells.get("heads_q") or not cells.get("head_dim"):
        allowed = ", ".join(loader.names(LlmSpec))
        raise PresetError(
            f"llm is empty; give llm ({allowed}), or {NEEDED['heads_q']} and head dimension as heads_q, head_dim"
        )
    heads_q, heads_kv, head_dim = (_whole(cells, name) for name in SHAPE)
    bare_shape(heads_q or 0, heads_kv, head_dim or 0, where="shape")  # heads that do not divide are this table's
    return heads_q, heads_kv, head_dim


def _one_of(cells: Cells, column: str, allowed: tuple[str, ...] | list[str]) -> str:
    text = cells.get(column, "")
    if text and text not in allowed:
        raise PresetError(f"{column}: {unknown(column, text, allowed)}")
    return text


def _whole(cells: Cells, column: str, needed: bool = False) -> int | None:
    text, high = cells.get(column, ""), _LARGEST.get(column, MAX_LENGTH)
    if not text and not needed:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 12 and 1 <= int(text) <= high):
        raise PresetError(f"{column}: {text!r} is not allowed; allowed: a whole number from 1 to {high:,}")
    return int(text)


def _number(cells: Cells, column: str) -> float | None:
    text = cells.get(column, "")
    if not text:
        return None
    try:
        value = float(text) if "_" not in text else math.nan
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        hint = "; write the decimal separator as a point and group no thousands" if "," in text else ""
        raise PresetError(f"{column}: {text!r} is not allowed; allowed: a number above 0, or nothing{hint}")
    return value


def _reading(cells: Cells, column: str) -> Reading:
    value = _number(cells, column)
    if value is None:
        return Reading(source="missing: empty in the table")
    return Reading(value=value, source=f"column {column} of the table", kind="counter")


def _gpu_names() -> str:
    return ", ".join(loader.names(GpuSpec))
