"""`python -m dashboard` starts the app; its commands give what the pages show without a browser."""

import argparse
import os
import sys
from pathlib import Path

from dashboard import compare, export, settings
from dashboard.catalog import ESTIMATORS
from dashboard.measured import command as measured
from dashboard.report import command as report
from dashboard.sweep import command as sweep
from dashboard.validation import command as validation
from presets.arguments import Parser, add_experiment_options, exit_with, experiments
from presets.errors import PresetError

_DEFAULT = "simfa-python,genz,sim-fa"


def main(argv: list[str] | None = None) -> int:
    """Run a command, or start the app without one. Exit status 2 with one sentence for bad input."""
    parser = Parser(prog="python -m dashboard", description=__doc__)
    parser.set_defaults(run=_start_app)
    commands = parser.add_subparsers()
    _add_compare(commands.add_parser("compare", help="records of several estimators side by side"))
    sweep.add_arguments(commands.add_parser("sweep", help="one estimator over up to three varied parameters"))
    reader = commands.add_parser("measured", help="read Nsight Compute, Nsight Systems and nvprof exports")
    measured.add_arguments(reader)
    reader.set_defaults(run=measured.run)
    validate = commands.add_parser("validate", help="the Validation page's table of errors, or one of its views")
    validation.add_arguments(validate)
    validate.set_defaults(run=validation.run)
    report.add_arguments(commands.add_parser("report", help="a page's answer as one HTML file"))
    example = commands.add_parser(
        "example", help="simulate and store the worked example and the validation studies"
    )
    example.add_argument(
        "--all", action="store_true", help="also what takes minutes: the studies on request, the paper's launches"
    )
    example.set_defaults(run=_example)
    shown = commands.add_parser("settings", help="what SIMFA_ variables set, for a shared machine")
    shown.set_defaults(run=_settings)
    try:
        args = parser.parse_args(argv)
        status: int = args.run(args)
    except PresetError as error:
        print(error, file=sys.stderr)
        return 2
    return status


def _add_compare(parser: argparse.ArgumentParser) -> None:
    add_experiment_options(parser, parameters=None)
    parser.add_argument(
        "--estimators", default=_DEFAULT, help=f"comma-separated: {', '.join(ESTIMATORS)}; default %(default)s"
    )
    parser.add_argument("--format", choices=("csv", "json"), default="csv")
    parser.set_defaults(run=_compare)


def _compare(args: argparse.Namespace) -> int:
    names = [name.strip() for name in args.estimators.split(",")]
    answers = [
        record
        for experiment in experiments(args)
        for record in compare.with_what_if(experiment, compare.records([experiment], names))
    ]
    print(export.to_csv(answers) if args.format == "csv" else export.to_json(answers), end="")
    return 0


def _example(args: argparse.Namespace) -> int:
    from dashboard import examples
    from dashboard.examples import long

    print(examples.write())
    print(examples.write_studies())
    if args.all:
        print(long.write())
    return 0


def _settings(_args: argparse.Namespace) -> int:
    _check_settings()
    print(settings.described())
    return 0


def _check_settings() -> None:
    problems = settings.problems()
    if problems:
        raise PresetError("\n".join(problems))


def _start_app(_args: argparse.Namespace) -> int:
    _check_settings()
    app = str(Path(__file__).with_name("app.py"))
    os.execv(sys.executable, [sys.executable, "-m", "streamlit", "run", app])


if __name__ == "__main__":
    exit_with(main)
