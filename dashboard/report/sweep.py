"""The Sweep page's answer as a report."""

from collections.abc import Mapping, Sequence
from typing import Any

from dashboard import citation
from dashboard.baseline import Baseline
from dashboard.catalog import ESTIMATORS
from dashboard.figures import sweep as figures
from dashboard.report import common
from dashboard.report.document import Figure, Link, Report, Section, Table
from dashboard.sweep import analysis, headlines, plan, views
from dashboard.sweep.analysis import METRICS, Metric
from dashboard.sweep.evaluate import Row
from dashboard.sweep.plan import Plan

TITLE = "Sweep"
SHOWN = ("latency_us", "tflops", "dram_bytes", "l2_bytes", "tensor_core_utilization")
PARETO = ("latency_us", "dram_bytes")
FEW_KEYS = 6  # that a citation names; as many as a study of the simulator starts with


def make(
    plan_: Plan,
    rows: Sequence[Row],
    estimator: str,
    metric: Metric,
    pinned: Baseline | None,
    link: Link,
    pareto: tuple[str, str] = PARETO,
    fixed: Mapping[str, Any] | None = None,
) -> Report:
    """Figures and every point; `fixed` is the value of a third parameter that the heat map is drawn for."""
    experiment = plan_.recipe.experiment()
    base = None if pinned is None else pinned.records.get(estimator)
    found = list(rows)
    sections = (
        _sensitivities(plan_, found, metric)
        if plan_.mode == plan.SENSITIVITY
        else _pictures(plan_, found, metric, base, pareto, dict(fixed or {}))
    )
    return Report(
        TITLE,
        f"{experiment.words()}: {len(found)} points by {ESTIMATORS[estimator].title}",
        [*sections, _table(plan_, found, base, pinned)],
        link,
        {"experiment in the middle": experiment} | dict(common.baseline_experiments(pinned)),
        subject(plan_, found, estimator),
        _open(found),
    )


def subject(plan_: Plan, rows: Sequence[Row], estimator: str) -> str:
    """What a citation says was computed."""
    points = f"{len(rows)} points" if len(rows) != 1 else "1 point"
    middle = citation.subject(plan_.recipe.experiment())
    return f"{ESTIMATORS[estimator].title} over {points} around {middle}; {varied(plan_)}"


def varied(plan_: Plan) -> str:
    """What a sweep varied: parameters with values as typed; of a study of preset values few keys, or how many."""
    if plan_.mode != plan.SENSITIVITY:
        return f"varied as a {plan_.mode}: {'; '.join(axis.text() for axis in plan_.axes)}"
    keys, every = len(plan_.axes), len(plan.numeric_values(plan_.recipe.experiment()))
    if not keys:
        return "nothing varied"
    if keys <= FEW_KEYS:
        return f"varied one at a time by ± {plan_.change_pct} %: {', '.join(axis.key for axis in plan_.axes)}"
    which = f"each of the {keys}" if keys == every else f"each of {keys} of the {every}"
    return f"varied one at a time: {which} preset values that are numbers, by ± {plan_.change_pct} %"


def _open(rows: Sequence[Row]) -> list[str]:
    """What a reader must know first: how many points have an answer, and why others have none."""
    done = analysis.counts(rows).get("done", 0)
    if done == len(rows):
        return []
    return list(filter(None, [f"{done} of {len(rows)} points have an answer.", headlines.unanswered(rows)]))


def _pictures(
    plan_: Plan,
    rows: list[Row],
    metric: Metric,
    base: Row | None,
    pareto: tuple[str, str],
    fixed: dict[str, Any],
) -> list[Section]:
    groups = views.groups(plan_, rows, metric)
    if not groups:
        return []
    height = analysis.value(base, metric) if base else None
    first = views.axis_title(plan_.axes[0].key)
    title = headlines.lines(plan_, rows, metric)
    found: list[Section] = [Figure(figures.lines(groups, first, metric.label, title, height))]
    if len(plan_.axes) > 1 and plan_.mode == plan.GRID:
        found.append(_heat(plan_, rows, metric, fixed))
    points, front, titles = views.pareto(plan_, rows, *pareto)
    said = headlines.pareto(len(front), len(points), len(rows))
    return [*found, Figure(figures.pareto(points, front, titles, said))]


def _heat(plan_: Plan, rows: list[Row], metric: Metric, fixed: dict[str, Any]) -> Figure:
    x, y, *rest = plan_.axes
    held = {axis.key: fixed.get(axis.key, rows[0][axis.key]) for axis in rest}
    columns, lines, cells = views.cells(plan_, rows, metric, x, y, held)
    note = ", ".join(f"{key} = {value}" for key, value in held.items())
    title = headlines.lines(plan_, [row for row in rows if held.items() <= row.items()], metric)
    return Figure(figures.heat(columns, lines, cells, (x.key, y.key, metric.label), title), note)


def _sensitivities(plan_: Plan, rows: list[Row], metric: Metric) -> list[Section]:
    bars, still = analysis.tornado(rows, metric)
    if not bars:
        return []
    chart = figures.tornado(
        headlines.bars(bars),
        f"Change of {metric.title.lower()} in percent",
        headlines.tornado(bars, metric, plan_.change_pct),
    )
    return [Figure(chart, f"Without effect: {', '.join(still)}." if still else "")]


def _table(plan_: Plan, rows: list[Row], base: Row | None, pinned: Baseline | None) -> Table:
    note = f"Differences to the baseline: {pinned.words()}." if base is not None and pinned is not None else ""
    return Table("Points", views.table(plan_, rows, [METRICS[key] for key in SHOWN], base), note, rows)
