"""python -m dashboard COMMAND: the headless commands of the dashboard."""

from __future__ import annotations

import argparse
import sys

from dashboard.measured import command as measured


def main(argv: list[str] | None = None) -> int:
    """Run one subcommand and give its exit status."""
    parser = argparse.ArgumentParser(prog="python -m dashboard")
    commands = parser.add_subparsers(dest="command", required=True)
    reader = commands.add_parser("measured", help="read profiler exports")
    measured.add_arguments(reader)
    reader.set_defaults(run=measured.run)
    args = parser.parse_args(argv)
    status: int = args.run(args)
    return status


if __name__ == "__main__":
    sys.exit(main())
