"""python -m dashboard measured FILE... [--json] [--decimal point|comma]"""

from __future__ import annotations

import argparse
import json
import sys

from dashboard.measured.errors import MeasuredError
from dashboard.measured.launch import Launch
from dashboard.measured.reader import read

_DECIMALS = {"point": ".", "comma": ",", ".": ".", ",": ","}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the subcommand."""
    parser.description = "Read profiler exports and print one launch per entry, in base units."
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="exports of ncu, nsys or nvprof, plain, .gz or .zip"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON list of all launches")
    parser.add_argument(
        "--decimal", choices=sorted(_DECIMALS), help="the decimal separator, where a file is ambiguous"
    )


def run(args: argparse.Namespace) -> int:
    """Print the launches of all files; 1 where a file was refused, its sentence on standard error."""
    launches: list[Launch] = []
    status = 0
    for file in args.files:
        try:
            launches += read(file, decimal=_DECIMALS.get(args.decimal))
        except MeasuredError as error:
            print(error, file=sys.stderr)
            status = 1
    if args.json:
        print("[" + ",\n ".join(json.dumps(launch.record(), allow_nan=False) for launch in launches) + "]")
    else:
        _print_table(launches)
    return status


_COLUMNS = ("duration_ns", "dram_bytes", "l2_bytes", "l2_bytes_sm_side")


def _print_table(launches: list[Launch]) -> None:
    print("  ".join(("file", "kernel", "grid", *_COLUMNS)))
    for launch in launches:
        values = [getattr(launch, name) for name in _COLUMNS]
        cells = ["-" if value is None else f"{value:,.0f}" for value in values]
        grid = "x".join(map(str, launch.grid)) if launch.grid else "-"
        print("  ".join((_printable(launch.file), _printable(launch.kernel), grid, *cells)))


def _printable(text: str) -> str:
    """The name shortened, without control characters, which a terminal would obey, and in ASCII."""
    return "".join(c if c.isprintable() else "?" for c in text)[:60].encode("ascii", "replace").decode()
