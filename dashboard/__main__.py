"""`python -m dashboard` starts the app; `compare` gives the Compare page's records without a browser."""

import argparse
import os
import sys
from pathlib import Path

from dashboard import compare, export
from dashboard.catalog import ESTIMATORS
from presets.arguments import Parser, add_experiment_options, experiments
from presets.errors import PresetError

_DEFAULT = "simfa-python,genz,sim-fa"


def main(argv: list[str] | None = None) -> int:
    """Exit status 0, or 2 with one sentence on standard error for bad input."""
    parser = Parser(prog="python -m dashboard", description=__doc__)
    commands = parser.add_subparsers(dest="command")
    _add_compare(commands.add_parser("compare", help="records of several estimators side by side"))
    commands.add_parser("example", help="simulate and store the worked example of the first screen")
    try:
        args = parser.parse_args(argv)
        if args.command == "compare":
            return _compare(args)
        return _example() if args.command == "example" else _start_app()
    except PresetError as error:
        print(error, file=sys.stderr)
        return 2


def _add_compare(parser: argparse.ArgumentParser) -> None:
    add_experiment_options(parser)
    parser.add_argument(
        "--estimators", default=_DEFAULT, help=f"comma-separated: {', '.join(ESTIMATORS)}; default %(default)s"
    )
    parser.add_argument("--format", choices=("csv", "json"), default="csv")


def _compare(args: argparse.Namespace) -> int:
    names = [name.strip() for name in args.estimators.split(",")]
    answers = compare.records(experiments(args), names)
    print(export.to_csv(answers) if args.format == "csv" else export.to_json(answers), end="")
    return 0


def _example() -> int:
    from dashboard import examples

    print(examples.write())
    return 0


def _start_app() -> int:
    app = str(Path(__file__).with_name("app.py"))
    os.execv(sys.executable, [sys.executable, "-m", "streamlit", "run", app])


if __name__ == "__main__":
    sys.exit(main())
