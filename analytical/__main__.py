"""`python -m analytical`: closed-form estimates without Streamlit, as JSON or as a short table."""

import sys
from collections.abc import Callable
from typing import Any

from analytical import explain, explain_text, genz, launch_order, llm_viewer, simfa_python
from presets.arguments import Parser, add_experiment_options, exit_with, experiments, print_json
from presets.errors import PresetError, unknown
from presets.experiment import Experiment
from presets.record import Result, to_record

ESTIMATORS: dict[str, Callable[[Experiment], Result]] = {
    module.NAME: module.run for module in (simfa_python, launch_order, genz, llm_viewer)
}


def main(argv: list[str] | None = None) -> int:
    """Print one record (a JSON object), or a JSON list where several lengths, models or estimators are asked."""
    parser = Parser(prog="python -m analytical", description=__doc__)
    add_experiment_options(parser)
    parser.add_argument(
        "--estimator",
        default=simfa_python.NAME,
        help=f"comma-separated: {', '.join(ESTIMATORS)}; default %(default)s",
    )
    parser.add_argument("--json", action="store_true", help="print JSON records")
    parser.add_argument(
        "--explain",
        nargs="?",
        const="all",
        metavar="NUMBER",
        help="the equations behind a number of the record (dram_bytes, latency_us, ...), or behind all of them",
    )
    try:
        args = parser.parse_args(argv)
        names = [_known(name.strip()) for name in args.estimator.split(",")]
        answers = [_answer(e, name, args.explain) for e in experiments(args) for name in names]
    except PresetError as error:
        print(error, file=sys.stderr)
        return 2
    if args.json:
        records = [record for record, _ in answers]
        print_json(records[0] if len(records) == 1 else records)
    else:
        print("\n".join("\n".join([_line(record), *said]) for record, said in answers))
    return 0


def _answer(experiment: Experiment, name: str, explained: str | None) -> tuple[dict[str, Any], list[str]]:
    """The record, and the lines that explain it where that is asked for."""
    if explained is None:
        return to_record(experiment, ESTIMATORS[name](experiment)), []
    found = explain.derive(experiment, name)
    record = {**found.record, "explanation": explain_text.rows(found, explained)}
    return record, explain_text.lines(found, explained)


def _line(record: dict[str, Any]) -> str:
    parts = [record["estimator"], record["llm"] or "bare shape", f"L={record['seq_q']}"]
    parts += [f"{record['latency_us']:,.1f} us", f"{record['tflops']:.0f} TFLOPS"]
    parts += [] if record["l2_bytes"] is None else [f"L2 {record['l2_bytes'] / 1e6:,.1f} MB"]
    parts += [f"DRAM {record['dram_bytes'] / 1e6:,.1f} MB", f"regime {record['regime'] or 'none'}"]
    parts += [] if record["waves"] is None else [f"waves {record['waves']}"]
    return "  ".join([*parts, f"bottleneck {record['bottleneck']}"])


def _known(name: str) -> str:
    if name not in ESTIMATORS:
        raise PresetError(f"--estimator: {unknown('estimator', name, ESTIMATORS)}")
    return name


if __name__ == "__main__":
    exit_with(main)
