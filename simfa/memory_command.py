"""`python -m simfa compare-memory`: what bounded queues and command-level DRAM change in a launch's cycles."""

import argparse
import resource
import statistics
import sys

from presets.arguments import add_experiment_options, experiments, print_json
from presets.errors import PresetError
from simfa.validation import queues
from simfa.validation.queues import MODELS, TITLES, Row


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which launches; by default the paper's fifteen."""
    add_experiment_options(parser, seq_required=False)
    parser.add_argument("--seed", type=int, default=0, help="deals SM pairs out to L2 partitions")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print a row as soon as its three runs are done, then the mean difference. Raises PresetError, NotModelled."""
    if args.seed < 0:
        raise PresetError(f"--seed: {args.seed} is out of range; allowed: 0 or more")
    if args.llm is None and args.heads_q is None:
        args.llm = ",".join(queues.LLMS)
    if args.seq is None:
        args.seq = ",".join(map(str, queues.LENGTHS))
    rows = []
    if not args.json:
        print(f"{'':22}" + "".join(f"{model:>14}{'':9}" for model in MODELS))
    for row in queues.compare(experiments(args), args.seed):
        rows.append(row)
        if not args.json:
            print(_line(row), flush=True)
    if args.json:
        print_json([row.record() for row in rows])
    else:
        print(_summary(rows))
    return 0


def _line(row: Row) -> str:
    cells = [f"{row.cycles('reservations'):>14,}{'':9}"]
    cells += [f"{row.cycles(model):>14,} {row.difference_pct(model):+7.2f}%" for model in list(MODELS)[1:]]
    return f"{row.llm or 'bare shape':14} {row.seq_q:>6,} " + "".join(cells)


def _summary(rows: list[Row]) -> str:
    lines = []
    for model in list(MODELS)[1:]:
        found = [row.difference_pct(model) for row in rows]
        lines.append(
            f"{TITLES[model]}: mean {statistics.fmean(found):+.2f} %, from {min(found):+.2f} to {max(found):+.2f} %"
        )
    unit = 1024 if sys.platform != "darwin" else 1
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return "\n".join([*lines, f"peak memory of the process: {peak / 1e6:.0f} MB"])
