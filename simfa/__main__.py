"""`python -m simfa`: simulate experiments or traces, translate kernel logs, run validation studies."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from presets import loader
from presets.arguments import Parser, add_experiment_options, exit_with, experiments, gpu_options, print_json
from presets.errors import NotModelled, PresetError
from presets.experiment import Experiment
from presets.record import to_record
from presets.specs import GpuSpec
from simfa import columns, dram_command, memory_command, simulate, timeline, trace_launch, validate_command
from simfa.coverage import check
from simfa.kernel_log import format as kernel_log
from simfa.kernel_log import translate as log_translate
from simfa.kernel_log.generate import generate
from simfa.trace import text, writer
from simfa.trace.model import Trace


def main(argv: list[str] | None = None) -> int:
    """Exit status 0, 2 for bad input, 3 where the simulator cannot answer or the simulated kernel deadlocks."""
    parser = Parser(prog="python -m simfa", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    _add_run(commands.add_parser("run", help="simulate FlashAttention or a trace on a whole GPU"))
    _add_disassemble(commands.add_parser("disassemble", help="print a trace, or that of an experiment's kernel"))
    _add_translate(commands.add_parser("translate", help="a kernel log to a trace"))
    _add_log(commands.add_parser("log", help="write the kernel log that an instrumented kernel would"))
    studies = commands.add_parser("validate", help="the simulator's parts against public references")
    validate_command.add_arguments(studies)
    studies.set_defaults(run=validate_command.run)
    memory_command.add_arguments(
        commands.add_parser("compare-memory", help="cycles with reservations and with bounded queues")
    )
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
    _add_trace_or_experiment(parser)
    parser.add_argument("--seed", type=int, default=0, help="deals SM pairs out to L2 partitions")
    parser.add_argument("--timeline", type=Path, metavar="FILE", help="write one SM's timeline (Chrome trace)")
    parser.add_argument("--timeline-sm", type=int, default=0, help="the SM to observe (default 0)")
    parser.add_argument("--occupancy", type=Path, metavar="FILE", help="write queue levels over time (CSV)")
    parser.add_argument("--ctas", type=Path, metavar="FILE", help="write a row for every CTA (CSV)")
    parser.add_argument(
        "--sample",
        action="store_true",
        help="simulate a part of a long launch and extrapolate: adds latency_error_pct and sampled_fraction",
    )
    parser.add_argument("--json", action="store_true", help="print JSON records")
    parser.add_argument("--quiet", action="store_true", help="no progress on standard error")
    parser.set_defaults(run=run)


def _add_disassemble(parser: argparse.ArgumentParser) -> None:
    _add_trace_or_experiment(parser)
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write it to a file")
    parser.set_defaults(run=disassemble)


def _add_translate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("log", type=Path, metavar="LOG", help="a kernel log, as simfa_log.cuh writes it")
    parser.add_argument("-o", "--output", type=Path, metavar="TRACE", help="write the trace to a file")
    parser.add_argument("--gpu", default="h800", help="the GPU whose ALU rates give the softmax bubbles")
    parser.set_defaults(run=translate)


def _add_log(parser: argparse.ArgumentParser) -> None:
    add_experiment_options(parser)
    parser.add_argument("-o", "--output", type=Path, metavar="LOG", required=True)
    parser.add_argument("--entries", type=int, default=0, help="entries per warp (default: enough)")
    parser.set_defaults(run=log)


def _add_trace_or_experiment(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("trace", nargs="?", type=Path, metavar="TRACE", help="a trace file, in place of a model")
    add_experiment_options(parser, seq_required=False)


def _experiments(args: argparse.Namespace) -> list[Experiment]:
    if args.seq is None:
        raise PresetError(
            f"python -m simfa {args.command}: the following arguments are required: --seq, or a trace"
        )
    return experiments(args)


def run(args: argparse.Namespace) -> int:
    """Simulate a trace or every experiment the options describe; one JSON object, or a list of several."""
    if args.seed < 0:
        raise PresetError(f"--seed: {args.seed} is out of range; allowed: 0 or more")
    if args.sample:
        _check_sample(args)
    if args.trace is not None:
        return _run_trace(args)
    todo = [experiment.model_copy(update={"sample": args.sample}) for experiment in _experiments(args)]
    if len(todo) != 1 and (given := list(_files(args))):
        raise PresetError(f"{given[0]} takes one experiment, the options describe {len(todo)}")
    _check_files(args, todo[0].gpu)
    records = [_one(experiment, args) for experiment in todo]
    if args.json:
        print_json(records[0] if len(records) == 1 else records)
        return 0
    for record in records:
        print(_line(record, f"{record['llm'] or 'bare shape'}  L={record['seq_q']}"))
    return 0


def _check_sample(args: argparse.Namespace) -> None:
    """A sample is of an experiment, and nothing of it is observed. Raises PresetError."""
    if args.trace is not None:
        raise PresetError("--sample: a trace is simulated whole; a sample needs a model or a bare shape")
    if given := list(_files(args)):
        raise PresetError(f"{given[0]} needs the whole simulation: leave out --sample")


def _run_trace(args: argparse.Namespace) -> int:
    gpu = gpu_options(args)
    trace = text.read(args.trace)
    _check_files(args, gpu)
    record, seen = simulate.run_trace(trace, gpu, args.seed, _observed_sm(args), _progress(args))
    roles = max(len(cta.programs) for cta in trace.ctas)
    _write_files(args, seen, timeline.rows(seen.spans, roles, of_trace=True), gpu)
    record = {"trace": str(args.trace), **record}
    if args.json:
        print_json(record)
    else:
        print(_line(record, str(args.trace)))
    return 0


def disassemble(args: argparse.Namespace) -> int:
    """Print a trace in its canonical form, or the built-in kernel's trace for one experiment."""
    if args.trace is not None:
        gpu_options(args)
        trace = text.read(args.trace)
    else:
        todo = _experiments(args)
        if len(todo) != 1:
            raise PresetError(f"disassemble takes one experiment, the options describe {len(todo)}")
        trace = trace_launch.trace_of(todo[0])
    return _print_trace(trace, args.output)


def translate(args: argparse.Namespace) -> int:
    """A kernel log's trace, to a file or to standard output."""
    found = kernel_log.read(args.log)
    return _print_trace(log_translate.translate(found, loader.load(GpuSpec, args.gpu)), args.output)


def log(args: argparse.Namespace) -> int:
    """Write the log of one experiment's launch."""
    todo = experiments(args)
    if len(todo) != 1:
        raise PresetError(f"log takes one experiment, the options describe {len(todo)}")
    if not 0 <= args.entries < 2**24:
        raise PresetError(f"--entries: {args.entries} is out of range; allowed: 0 to {2**24 - 1}")
    check(todo[0])
    _write(args.output, generate(todo[0], args.entries), "--output")
    return 0


def _print_trace(trace: Trace, output: Path | None) -> int:
    if output is not None:
        _write(output, writer.write(trace).encode(), "--output")
        return 0
    try:
        sys.stdout.writelines(f"{line}\n" for line in writer.lines(trace))
    except BrokenPipeError:  # as with `| head`
        sys.stderr.close()
    return 0


def _line(record: dict[str, Any], name: str) -> str:
    tflops = record["tflops"] or 0.0
    parts = [
        name,
        f"{record['latency_us']:.1f} us  {tflops:.0f} TFLOPS  {record['cycles']:,} cycles",
        f"DRAM {record['dram_bytes'] / 1e6:.1f} MB  bottleneck {record['bottleneck']}",
        f"simulated in {record['wall_s']:.2f} s",
    ]
    if "sampled_fraction" in record:
        parts.append(
            f"sample of {record['sampled_fraction']:.2%}: time within about {record['latency_error_pct']:.1f} %, "
            f"DRAM traffic {record['dram_error_pct']:.1f} %"
        )
    return "  ".join(parts)


def _files(args: argparse.Namespace) -> dict[str, Path]:
    """The files to write beside the record, by option."""
    given = {"--timeline": args.timeline, "--occupancy": args.occupancy, "--ctas": args.ctas}
    return {option: path for option, path in given.items() if path is not None}


def _observed_sm(args: argparse.Namespace) -> int | None:
    return args.timeline_sm if args.timeline is not None or args.occupancy is not None else None


def _check_files(args: argparse.Namespace, gpu: GpuSpec) -> None:
    """Refuse, before anything is simulated, an SM the GPU lacks and files that could not be written."""
    if not 0 <= args.timeline_sm < gpu.sm.count:
        raise PresetError(f"--timeline-sm: {args.timeline_sm} is out of range; allowed: 0 to {gpu.sm.count - 1}")
    for option, path in _files(args).items():
        if not path.resolve().parent.is_dir():
            raise PresetError(f"{option}: no such folder: {path.resolve().parent}")
        if path.is_dir():
            raise PresetError(f"{option}: {path} is a folder; give the name of a file")


def _one(experiment: Experiment, args: argparse.Namespace) -> dict[str, Any]:
    answer = simulate.run(experiment, args.seed, _observed_sm(args), _progress(args))
    _write_files(args, answer.seen, timeline.of(experiment, answer.spans), experiment.gpu)
    return to_record(experiment, answer.result)


def _write_files(
    args: argparse.Namespace, seen: simulate.Observed, table: list[dict[str, Any]], gpu: GpuSpec
) -> None:
    if args.timeline is not None:
        trace = timeline.chrome_trace(table, gpu.sm.clock_hz, args.timeline_sm, seen.occupancy)
        _write(args.timeline, json.dumps(trace).encode(), "--timeline")
    if args.occupancy is not None:
        _write(args.occupancy, columns.to_csv(seen.occupancy).encode(), "--occupancy")
    if args.ctas is not None:
        _write(args.ctas, columns.to_csv(seen.ctas).encode(), "--ctas")


def _write(path: Path, content: bytes, option: str) -> None:
    try:
        path.write_bytes(content)
    except OSError as error:
        raise PresetError(f"{option}: cannot write {path}: {error.strerror}") from None


def _progress(args: argparse.Namespace) -> Any:
    return _show_progress if not args.quiet and sys.stderr.isatty() else None


def _show_progress(share: float) -> None:
    print(f"\r{share:6.1%}", end="" if share < 1 else "\n", file=sys.stderr, flush=True)


if __name__ == "__main__":
    exit_with(main)
