"""`python -m analytical`: closed-form estimates without Streamlit, as JSON or as a short table."""

import sys
from collections.abc import Callable
from typing import Any

from analytical import genz, launch_order, llm_viewer, simfa_python
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
    try:
        args = parser.parse_args(argv)
        names = [_known(name.strip()) for name in args.estimator.split(",")]
        records = [to_record(e, ESTIMATORS[name](e)) for e in experiments(args) for name in names]
    except PresetError as error:
        print(error, file=sys.stderr)
        return 2
    if args.json:
        print_json(records[0] if len(records) == 1 else records)
    else:
        print("\n".join(_line(record) for record in records))
    return 0


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
