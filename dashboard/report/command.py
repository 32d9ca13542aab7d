"""`python -m dashboard report PAGE ... -o FILE.html`: a page's report without a browser, by the page's own code."""

import argparse
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from dashboard import align, answers, baseline, compare, recipe, regimes, shown, spans, what_if
from dashboard.baseline import Baseline
from dashboard.catalog import ESTIMATORS, known, record_of
from dashboard.figures.style import INK
from dashboard.measured import compare_command
from dashboard.measured.comparison import QUANTITIES
from dashboard.recipe import Recipe
from dashboard.report import compare as compare_report
from dashboard.report import measured as measured_report
from dashboard.report import regimes as regimes_report
from dashboard.report import render
from dashboard.report import sweep as sweep_report
from dashboard.report import timeline as timeline_report
from dashboard.report import validation as validation_report
from dashboard.report.document import Link, Report
from dashboard.shown import Shown
from dashboard.sweep import command as sweep_command
from dashboard.sweep.analysis import METRICS
from dashboard.validation.catalog import VIEWS
from dashboard.validation.view import NotStored
from presets.arguments import add_experiment_options
from presets.errors import NotModelled, PresetError, unknown
from presets.experiment import Experiment
from simfa import coverage

TIMELINE_SM = 0
_COMPARED = "simfa-python,genz,sim-fa"
_FILE = "A preset, trace or profile that came from a file does not travel by URL; this report holds what it said."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """A subcommand per page, each with the options of its headless command."""
    parser.description = __doc__
    pages = parser.add_subparsers(metavar="PAGE", required=True)
    for name, (about, options, make) in _PAGES.items():
        page = pages.add_parser(name, help=about)
        options(page)
        page.add_argument("-o", "--output", type=Path, required=True, metavar="FILE.html", help="where to write")
        page.set_defaults(run=write, make=make)


def write(args: argparse.Namespace) -> int:
    """Make the report and write it; says where and how large. Raises PresetError."""
    made: Report = args.make(args)
    text = render.html(made).encode()
    try:
        args.output.write_bytes(text)
    except OSError as error:
        raise PresetError(f"--output: {args.output}: {error.strerror or error}") from None
    print(f"{args.output}: {made.page}, {made.title}; {len(text) / 1e6:.1f} MB")
    return 0


def _one(parser: argparse.ArgumentParser) -> None:
    add_experiment_options(parser, parameters=None)
    parser.add_argument("--baseline", metavar="QUERY", help="a pinned run, as the URL of a page names it: llm=...")


def _compare_options(parser: argparse.ArgumentParser) -> None:
    _one(parser)
    parser.add_argument("--estimators", default=_COMPARED, help=f"comma-separated: {', '.join(ESTIMATORS)}")


def _timeline_options(parser: argparse.ArgumentParser) -> None:
    _one(parser)
    parser.add_argument("--sm", type=int, default=0, help="the SM to show; default %(default)s")
    parser.add_argument("--second", default="", metavar="KEY=VALUE", help="a second run: what if")
    parser.add_argument("--align", choices=list(align.PLACES), default=align.START, help="place at cycle zero")
    parser.add_argument("--nth-cta", type=int, default=1)
    parser.add_argument("--nth-tile", type=int, default=1)


def _sweep_options(parser: argparse.ArgumentParser) -> None:
    sweep_command.add_points(parser)
    parser.add_argument("--metric", default="dram_bytes", help=f"{', '.join(METRICS)}; default %(default)s")
    parser.add_argument("--baseline", metavar="QUERY", help="a pinned run, as the URL of a page names it: llm=...")


def _measured_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="*", metavar="FILE", help="exports; without any, the public measurements")
    parser.add_argument("--decimal", choices=(".", ","), help="the separator, where a file is ambiguous")
    keys = [quantity.key for quantity in QUANTITIES]
    parser.add_argument("--quantity", choices=keys, default=keys[0])
    compare_command.add_arguments(parser)


def _compare(args: argparse.Namespace) -> Report:
    asked, experiment = _asked(args)
    names = [known(name.strip()).name for name in args.estimators.split(",")]
    answer, why_not = _simulated(experiment, TIMELINE_SM) if "sim-fa" in names else (None, "")
    records = [_record(name, experiment, answer, why_not) for name in names]
    pinned = _pinned(args)
    reference = baseline.NAME if pinned is not None else names[0]
    return compare_report.make(experiment, records, reference, pinned, answer, _link("", asked, args))


def _regimes(args: argparse.Namespace) -> Report:
    asked, experiment = _asked(args)
    names = [entry.name for entry in ESTIMATORS.values() if not entry.simulated and entry.name != "llm-viewer"]
    kept, _ = answers.look_up(answers.name_of(experiment, TIMELINE_SM))
    records = [record_of(name, experiment) for name in names]
    simulated = regimes.simulated_points(experiment.workload.seq_kv, kept["record"]) if kept else []
    pinned = _pinned(args)
    return regimes_report.make(
        regimes.curves(experiment),
        records + ([kept["record"]] if kept else []),
        regimes.measured_points(experiment),
        simulated,
        pinned,
        _link("regimes", asked, args),
        regimes.curves(pinned.experiment) if pinned else None,
    )


def _timeline(args: argparse.Namespace) -> Report:
    asked, experiment = _asked(args)
    if not 0 <= args.sm < experiment.gpu.sm.count:
        raise PresetError(f"--sm: {args.sm} is out of range; allowed: 0 to {experiment.gpu.sm.count - 1}")
    second = what_if.changed(experiment, args.second)
    wanted = {"This experiment": experiment} | ({" ".join(args.second.split()): second} if second else {})
    runs = [_run(name, each, args) for name, each in wanted.items()]
    extra = {key: getattr(args, key) for key in ("sm", "second", "align", "nth_cta", "nth_tile")}
    return timeline_report.make(
        runs,
        shown.view(runs, 0.0),
        None,
        align.words(args.align, args.nth_cta, args.nth_tile),
        _pinned(args),
        _link("timeline", asked, args, extra),
    )


def _run(name: str, experiment: Experiment, args: argparse.Namespace) -> Shown:
    answer, why_not = _simulated(experiment, args.sm)
    if answer is None:
        raise PresetError(f"no timeline of {name}: {why_not}")
    if answer["timeline"].empty:
        raise PresetError(f"no timeline: SM {args.sm} ran no CTA, the grid is smaller than the GPU; take SM 0")
    return Shown(experiment, answer, name).aligned(args.align, args.nth_cta, args.nth_tile)


def _sweep(args: argparse.Namespace) -> Report:
    estimator = known(args.estimator).name
    if args.metric not in METRICS:
        raise PresetError(f"--metric: {unknown('quantity', args.metric, METRICS)}")
    made = sweep_command.plan_of(args)
    rows = sweep_command.answered(made, estimator)
    extra: dict[str, Any] = {"by": made.mode, "estimator": estimator, "metric": args.metric}
    if args.sensitivity is None:
        extra["vary"] = "\n".join(args.vary)
    else:
        extra |= {"keys": args.sensitivity, "change": made.change_pct}
    link = _link("sweep", made.recipe, args, extra)
    return sweep_report.make(made, rows, estimator, METRICS[args.metric], _pinned(args), link)


def _measured(args: argparse.Namespace) -> Report:
    record, cases, found = compare_command.compared(args, args.decimal)
    query = {
        "measured_quantity": args.quantity,
        "measured_models": ",".join(record.estimators),
        "measured_clock": recipe.in_url(record.measured_clock),
    }
    link = Link("measured", urlencode(query))
    return measured_report.make(
        found, cases, record.estimators, args.quantity, record.measured_clock, link, bool(args.files)
    )


def _validation(_args: argparse.Namespace) -> Report:
    shown = []
    for view in VIEWS.values():
        with suppress(NotStored):
            shown.append((view, view.build(INK)))
    return validation_report.make(shown, Link("validation"))


def _asked(args: argparse.Namespace) -> tuple[Recipe, Experiment]:
    asked = recipe.from_options(args)
    return asked, asked.experiment()


def _record(name: str, experiment: Experiment, answer: dict[str, Any] | None, why_not: str) -> dict[str, Any]:
    if not ESTIMATORS[name].simulated:
        return compare.records([experiment], [name])[0]
    return answer["record"] if answer is not None else compare.unanswered(experiment, name, why_not)


def _simulated(experiment: Experiment, sm: int) -> tuple[dict[str, Any] | None, str]:
    """The simulator's answer, kept or computed here and now, or why there is none."""
    try:
        coverage.check(experiment)
    except NotModelled as reason:
        return None, str(reason)
    name = answers.name_of(experiment, sm)
    kept, _ = answers.look_up(name)
    if kept is None:
        from simfa import simulate  # compiled code: loaded only where it runs

        kept = spans.answer(experiment, simulate.run(experiment, timeline_sm=sm))
        answers.keep(name, kept)
    return kept, ""


def _pinned(args: argparse.Namespace) -> Baseline | None:
    if not args.baseline:
        return None
    try:
        return baseline.from_query(args.baseline.lstrip("?"))
    except PresetError as error:
        raise PresetError(f"--baseline: {error}") from None


def _link(page: str, asked: Recipe, args: argparse.Namespace, extra: Mapping[str, Any] | None = None) -> Link:
    """The page's state as its URL has it; none where a preset came from a file."""
    named = recipe.choices()
    if any(getattr(asked, key) not in named[key] for key in ("llm", "gpu", "kernel")):
        return Link(page, why_not=_FILE)
    more = {key: recipe.in_url(value) for key, value in (extra or {}).items()}
    more |= {"baseline": args.baseline.lstrip("?")} if args.baseline else {}
    query = asked.query()
    return Link(page, f"{query}&{urlencode(more)}" if more else query)


_Options = Callable[[argparse.ArgumentParser], None]
_PAGES: dict[str, tuple[str, _Options, Callable[[argparse.Namespace], Report]]] = {
    "compare": ("the answers side by side", _compare_options, _compare),
    "regimes": ("traffic against length", _one, _regimes),
    "timeline": ("the pipeline of an SM", _timeline_options, _timeline),
    "sweep": ("one estimator over varied parameters", _sweep_options, _sweep),
    "measured": ("measured against estimated", _measured_options, _measured),
    "validation": ("the stored validation studies", lambda _parser: None, _validation),
}
