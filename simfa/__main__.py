"""`python -m simfa`: simulate experiments and run validation studies, without Streamlit."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from presets.arguments import Parser, add_experiment_options, exit_with, experiments, print_json
from presets.errors import NotModelled, PresetError
from presets.experiment import Experiment
from presets.record import to_record
from simfa import dram_command, simulate, timeline, validate_command


def main(argv: list[str] | None = None) -> int:
    """Exit status 0, 2 for bad input, 3 where the simulator cannot answer."""
    parser = Parser(prog="python -m simfa", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    _add_run(commands.add_parser("run", help="simulate FlashAttention on a whole GPU"))
    studies = commands.add_parser("validate", help="the simulator's parts against public references")
    validate_command.add_arguments(studies)
    studies.set_defaults(run=validate_command.run)
    dram = commands.add_parser("dram", help="drive one DRAM channel alone")
    dram_command.add_arguments(dram)
    dram.set_defaults(run=dram_command.run)
    try:
        args = parser.parse_args(argv)
        status: int = args.run(args)
        return status
    except PresetError as error:
        print(error, file=sys.stderr)
        return 2
    except (NotModelled, simulate.SimulationError) as error:
        print(error, file=sys.stderr)
        return 3


def _add_run(parser: argparse.ArgumentParser) -> None:
    add_experiment_options(parser)
    parser.add_argument("--seed", type=int, default=0, help="deals SM pairs out to L2 partitions")
    parser.add_argument("--timeline", type=Path, metavar="FILE", help="write one SM's timeline (Chrome trace)")
    parser.add_argument("--timeline-sm", type=int, default=0, help="the SM to observe (default 0)")
    parser.add_argument("--json", action="store_true", help="print JSON records")
    parser.add_argument("--quiet", action="store_true", help="no progress on standard error")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Simulate every experiment the options describe; one JSON object, or a list where there are several."""
    todo = experiments(args)
    if args.seed < 0:
        raise PresetError(f"--seed: {args.seed} is out of range; allowed: 0 or more")
    if args.timeline is not None:
        _check_timeline(args, todo)
    records = [_one(experiment, args) for experiment in todo]
    if args.json:
        print_json(records[0] if len(records) == 1 else records)
        return 0
    for record in records:
        print(_line(record))
    return 0


def _line(record: dict[str, Any]) -> str:
    parts = (
        f"{record['llm'] or 'bare shape'}  L={record['seq_q']}",
        f"{record['latency_us']:.1f} us  {record['tflops']:.0f} TFLOPS  {record['cycles']:,} cycles",
        f"DRAM {record['dram_bytes'] / 1e6:.1f} MB  bottleneck {record['bottleneck']}",
        f"simulated in {record['wall_s']:.2f} s",
    )
    return "  ".join(parts)


def _check_timeline(args: argparse.Namespace, todo: list[Experiment]) -> None:
    if len(todo) != 1:
        raise PresetError(f"--timeline takes one experiment, the options describe {len(todo)}")
    sms = todo[0].gpu.sm.count
    if not 0 <= args.timeline_sm < sms:
        raise PresetError(f"--timeline-sm: {args.timeline_sm} is out of range; allowed: 0 to {sms - 1}")
    if not args.timeline.resolve().parent.is_dir():
        raise PresetError(f"--timeline: no such folder: {args.timeline.resolve().parent}")
    if args.timeline.is_dir():
        raise PresetError(f"--timeline: {args.timeline} is a folder; give the name of a file")


def _one(experiment: Experiment, args: argparse.Namespace) -> dict[str, Any]:
    observed = args.timeline_sm if args.timeline is not None else None
    shown = not args.quiet and sys.stderr.isatty()
    answer = simulate.run(experiment, args.seed, observed, _show_progress if shown else None)
    if args.timeline is not None:
        table = timeline.rows(answer.spans, 1 + experiment.kernel.pipeline.consumer_warpgroups)
        trace = timeline.chrome_trace(table, experiment.gpu.sm.clock_hz, args.timeline_sm)
        _write(args.timeline, json.dumps(trace))
    return to_record(experiment, answer.result)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise PresetError(f"--timeline: cannot write {path}: {error.strerror}") from None


def _show_progress(share: float) -> None:
    print(f"\r{share:6.1%}", end="" if share < 1 else "\n", file=sys.stderr, flush=True)


if __name__ == "__main__":
    exit_with(main)
