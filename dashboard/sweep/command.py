"""`python -m dashboard sweep`: the Sweep page's rows without a browser."""

import argparse
import contextlib
import sys
from pathlib import Path

from dashboard import export
from dashboard.catalog import ESTIMATORS, known
from dashboard.recipe import from_options
from dashboard.sweep import evaluate, run
from dashboard.sweep.plan import CHANGES_PCT, GRID, LIST, SENSITIVITY, Plan, make
from dashboard.sweep.workers import connect
from presets.arguments import add_experiment_options
from presets.errors import PresetError

FORMATS = ("csv", "json", "parquet")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The experiment in the middle, what is varied, the estimator, and the format."""
    add_points(parser)
    parser.add_argument("--format", choices=FORMATS, default="csv")
    parser.add_argument("--csv", action="store_const", const="csv", dest="format", help="as --format csv")
    parser.add_argument("-o", "--output", type=Path, help="write to a file (needed for parquet)")
    parser.set_defaults(run=sweep)


def add_points(parser: argparse.ArgumentParser) -> None:
    """The experiment in the middle, what is varied, and the estimator."""
    add_experiment_options(parser, seq_required=False, parameters=None)
    parser.add_argument(
        "--vary",
        action="append",
        default=[],
        metavar="KEY=V1,V2,...",
        help="a parameter and its values, up to three times: l2.bytes=25MiB,50MiB or seq=1024..131072*2 or "
        "tma.inflight_lines=32..128+32; also llm, gpu, kernel, batch, seq_kv, causal, dtype, tp",
    )
    parser.add_argument("--list", action="store_true", help="first values together, then second ones, ...; no grid")
    parser.add_argument(
        "--sensitivity", metavar="KEY,KEY,...", help="one value at a time, lower and higher, in place of --vary"
    )
    parser.add_argument("--change", type=int, default=10, help="percent for --sensitivity; default %(default)s")
    parser.add_argument("--estimator", default="simfa-python", help=f"{', '.join(ESTIMATORS)}; default %(default)s")


def sweep(args: argparse.Namespace) -> int:
    """Rows in the order of the plan; status 1 if points failed, 130 when interrupted. Raises PresetError."""
    estimator = known(args.estimator)
    if args.format == "parquet" and args.output is None:
        raise PresetError("--format parquet is no text: name a file with --output")
    rows = answered(plan_of(args), estimator.name)
    if args.output is None:
        print(export.to_csv(rows) if args.format == "csv" else export.to_json(rows), end="")
    else:
        args.output.write_bytes(written(rows, args.format))
    states = {row["state"] for row in rows}
    return 130 if evaluate.CANCELLED in states else 1 if evaluate.FAILED in states else 0


def written(rows: list[evaluate.Row], form: str) -> bytes:
    """Rows in one of FORMATS."""
    if form == "parquet":
        return export.to_parquet(rows)
    return (export.to_csv(rows) if form == "csv" else export.to_json(rows)).encode()


def answered(plan: Plan, estimator: str) -> list[evaluate.Row]:
    """Every point's row, simulated here and now where the estimator asks for it."""
    return _simulated(plan, estimator) if ESTIMATORS[estimator].simulated else evaluate.instant(plan, estimator)


def plan_of(args: argparse.Namespace) -> Plan:
    """The points that the options describe. Raises PresetError."""
    recipe = from_options(args)
    if args.sensitivity is not None:
        if args.vary or args.list:
            raise PresetError("--sensitivity goes one value at a time; it excludes --vary and --list")
        if args.change not in CHANGES_PCT:
            raise PresetError(
                f"--change: {args.change} is not allowed; allowed: {', '.join(map(str, CHANGES_PCT))}"
            )
        return make(recipe, SENSITIVITY, args.sensitivity, args.change)
    if not args.vary:
        raise PresetError("give --vary KEY=V1,V2,... (up to three times) or --sensitivity KEY,KEY,...")
    return make(recipe, LIST if args.list else GRID, "\n".join(args.vary))


def _simulated(plan: Plan, estimator: str) -> list[evaluate.Row]:
    todo = run.Sweep(plan.key(estimator), plan, estimator)
    run.recall(todo)
    if todo.open():
        with contextlib.closing(connect()) as workers:
            print(f"{len(todo.open())} of {len(todo.rows)} points on {workers.words}", file=sys.stderr)
            try:
                run.run(todo, workers, lambda: _progress(todo))
            except KeyboardInterrupt:
                todo.cancel()
                run.settle_open(todo)
    for remark in sorted(todo.remarks):
        print(remark, file=sys.stderr)
    return todo.rows


def _progress(todo: run.Sweep) -> None:
    left = len(todo.open())
    print(f"\r{len(todo.rows) - left} of {len(todo.rows)} points ", end="" if left else "\n", file=sys.stderr)
