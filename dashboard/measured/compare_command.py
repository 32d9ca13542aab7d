"""python -m dashboard measured [FILE...] --compare: the error table of the Measured page, without a browser.

Without files it compares the shipped public measurements. What a file does not say is given once for all of its
kernels: --head-dim 128 --heads-q 8 --seq 4096 ...
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dashboard.catalog import ESTIMATORS, known
from dashboard.compare import digits
from dashboard.measured import comparison, gallery, intake, matching, recording
from dashboard.measured.case import MASKS, Case, dtypes, preset, settings_of
from dashboard.measured.comparison import QUANTITIES
from dashboard.measured.errors import MeasuredError
from dashboard.measured.recording import Record
from dashboard.measured.sniff import UPLOAD_LIMIT_BYTES, too_large
from presets.arguments import LastOfKey
from presets.errors import PresetError
from presets.specs import GpuSpec, KernelSpec

DEFAULT = "simfa-python,genz"
_WHOLE = ("batch", "heads_q", "heads_kv", "head_dim", "seq", "seq_kv")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of --compare; they have no effect without it."""
    group = parser.add_argument_group("comparison with the estimators (--compare)")
    group.add_argument("--compare", action="store_true", help="print the error table instead of the launches")
    group.add_argument("--estimators", default=DEFAULT, help=f"comma-separated: {', '.join(ESTIMATORS)}")
    group.add_argument("--select", metavar="REGEX", help="kernels by name; default: attention kernels")
    group.add_argument("--warm-up", type=int, default=matching.WARM_UP, help="first launches of each to leave out")
    group.add_argument("--preset-clock", action="store_true", help="run models at the preset's clock")
    group.add_argument("--record", type=Path, metavar="OUT", help="also write the full record, which reads back")
    for name in _WHOLE:
        group.add_argument(f"--{name.replace('_', '-')}", type=int, help="for every kernel selected")
    group.add_argument("--gpu", help="GPU preset for every kernel selected")
    group.add_argument("--kernel", help="kernel preset")
    group.add_argument("--mask", choices=MASKS)
    group.add_argument("--dtype", choices=dtypes())
    group.add_argument("--set", action=LastOfKey, default=[], metavar="KEY=VALUE", help="change a preset value")


def run(args: argparse.Namespace, decimal: str | None) -> int:
    """Print the comparison; 1 where a file was refused, its sentence on standard error."""
    record, status = _recorded(args, decimal)
    text = recording.report(record)
    if args.record is not None:
        _write(args.record, recording.to_json(record))
    print(json.dumps(text, indent=1, allow_nan=False) if args.json else _table(text))
    return status


def compared(args: argparse.Namespace, decimal: str | None) -> tuple[Record, list[Case], comparison.Comparison]:
    """The record, its cases and their comparison. Raises PresetError where a file is refused or nothing is left."""
    record, status = _recorded(args, decimal)
    found = recording.compared(record)
    if status or not found.rows:
        raise PresetError("no report: " + ("a file was refused" if status else "there is nothing to compare"))
    return record, list(record.cases), found


def _recorded(args: argparse.Namespace, decimal: str | None) -> tuple[Record, int]:
    """The record of the files or of the shipped measurements; 1 where a file was refused."""
    names = [known(name.strip()).name for name in args.estimators.split(",")]
    changes = _changes(args)
    cases: list[Case] = [] if args.files else list(gallery.cases())
    records: list[Record] = []
    status = 0
    for file in args.files:
        try:
            loaded = _load(Path(file), decimal)
        except MeasuredError as error:
            print(error, file=sys.stderr)
            status = 1
            continue
        if loaded.record is not None:
            records.append(loaded.record)
        else:
            cases += _cases(loaded, args, changes)
    return (records[0] if records and not cases else _record(cases, names, args)), status


def _load(path: Path, decimal: str | None) -> intake.Loaded:
    try:
        if path.stat().st_size > UPLOAD_LIMIT_BYTES:
            raise too_large(path.name, UPLOAD_LIMIT_BYTES)
        data = path.read_bytes()
    except OSError as error:
        raise MeasuredError(f"{path.name}: cannot be opened: {error.strerror or error}.") from error
    return intake.load(data, path.name, decimal)


def _cases(loaded: intake.Loaded, args: argparse.Namespace, changes: dict[str, Any]) -> list[Case]:
    if args.select is not None:
        pattern = _pattern(args.select)
        groups = [group for group in loaded.groups if pattern.search(group.kernel)]
    else:
        groups = [group for group in loaded.groups if group.attention]
    made = loaded.cases + [matching.case(group, max(0, args.warm_up)) for group in groups]
    return [case.model_copy(update={"match": case.match.model_copy(update=changes)}) for case in made]


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text, re.IGNORECASE)
    except re.error as error:
        raise PresetError(f"--select: {text!r} is not a regular expression: {error}") from None


def _changes(args: argparse.Namespace) -> dict[str, Any]:
    found = {name: getattr(args, name) for name in _WHOLE if getattr(args, name) is not None}
    for name, value in found.items():
        if value < 1:
            raise PresetError(f"--{name.replace('_', '-')}: {value} is out of range; allowed: 1 and above")
    if "seq" in found:
        found["seq_q"] = found.pop("seq")
    if args.gpu:
        found["gpu"] = preset(GpuSpec, args.gpu, "gpu").name
    if args.kernel:
        found["kernel"] = preset(KernelSpec, args.kernel, "kernel").name
    found |= {name: getattr(args, name) for name in ("mask", "dtype") if getattr(args, name)}
    if args.set:
        found["settings"] = "; ".join(args.set)
        settings_of(found["settings"])
    return found


def _record(cases: Sequence[Case], names: Sequence[str], args: argparse.Namespace) -> Record:
    clock = not args.preset_clock
    answers = comparison.simulate_all(cases, clock) if "sim-fa" in names else {}
    return recording.make(cases, names, clock, answers)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise PresetError(f"--record: {path}: {error.strerror or error}") from None


def _table(report: dict[str, Any]) -> str:
    """The summary, the rows and the reading as plain text, without control characters."""
    lines = ["quantity  estimator  values  MAPE %  mean error %  worst error %  worst case"]
    for row in report["summary"]:
        numbers = [_pct(row[key]) for key in ("mape_pct", "mean_error_pct", "worst_error_pct")]
        numbers[0] = numbers[0].lstrip("+")
        head = (row["quantity"], row["estimator"], f"{row['values']} of {row['of']}")
        lines.append("  ".join((*head, *numbers, row["worst_case"] or "-")))
    lines += ["", "kernel  estimator  quantity  measured  estimated  error %  remark"]
    units = {quantity.key: quantity for quantity in QUANTITIES}
    for row in report["rows"]:
        unit = units[row["quantity"]]
        values = [_amount(row[key], unit) for key in ("measured", "estimated")]
        cells = (row["label"], row["estimator"], row["quantity"], *values, _pct(row["error_pct"]), row["remark"])
        lines.append("  ".join(cells).rstrip())
    lines += [f"not compared: {item['label']}: {item['reason']}" for item in report["not_compared"]]
    lines += ["", *report["reading"]]
    return "\n".join("".join(c if c.isprintable() else "?" for c in line) for line in lines)


def _amount(value: float | None, unit: comparison.Quantity) -> str:
    return "-" if value is None else f"{digits(value * unit.scale)} {unit.unit}"


def _pct(value: float | None) -> str:
    return "-" if value is None else f"{value:+.2f}"
