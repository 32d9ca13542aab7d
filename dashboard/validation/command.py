"""`python -m dashboard validate`: the rows behind the Validation page, as CSV or JSON."""

import argparse

from dashboard import export
from presets.errors import PresetError, unknown

DEFAULT = "overview"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which view, and in what form."""
    parser.add_argument(
        "--view", default=DEFAULT, help="a view by its name in the page's address; default: all errors"
    )
    parser.add_argument("--format", choices=("csv", "json"), default="csv")


def run(args: argparse.Namespace) -> int:
    """Print a view's rows. Raises PresetError on an unknown view or one that is not stored."""
    from dashboard.validation.catalog import VIEWS  # figures come along: loaded where views are asked for
    from dashboard.validation.view import NotStored

    if args.view not in VIEWS:
        raise PresetError(f"--view: {unknown('view', args.view, VIEWS)}")
    try:
        rows = list(VIEWS[args.view].build("#000000").rows)
    except NotStored as reason:
        raise PresetError(f"--view: {reason}") from None
    print(export.to_csv(rows) if args.format == "csv" else export.to_json(rows), end="")
    return 0
