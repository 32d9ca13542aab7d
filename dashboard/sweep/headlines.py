"""What a sweep's figures say in their titles, and how their bars are named."""

from collections.abc import Sequence

from dashboard.compare import digits
from dashboard.plain import brief
from dashboard.recipe import WORKLOAD
from dashboard.sweep import analysis
from dashboard.sweep.analysis import Bar, Metric
from dashboard.sweep.evaluate import DONE, FAILED, IMPOSSIBLE, Row
from dashboard.sweep.plan import Plan
from dashboard.sweep.views import shared
from presets import units
from presets.errors import PresetError

_SHOWN_BARS = 12


def lines(plan: Plan, rows: Sequence[Row], metric: Metric) -> str:
    """The range of the quantity, and where it is best."""
    known = [
        (value, row) for row in rows if row["state"] == DONE and (value := analysis.value(row, metric)) is not None
    ]
    if not known:
        return f"{metric.title}: no answers"
    low, high = min(known, key=lambda pair: pair[0]), max(known, key=lambda pair: pair[0])
    where = f" at {len(known)} of {len(rows)} points" if len(known) < len(rows) else ""
    if low[0] == high[0]:
        return f"{metric.title}{_to(metric)} is {metric.said(low[0])}{where or ' everywhere'}"
    span = f"{metric.title}{_to(metric)} from {_first(metric, low[0])} to {metric.said(high[0])}{where}"
    other_work = any(axis.key in WORKLOAD for axis in plan.axes)  # then no point is better than another
    best = low[0] if metric.lower_is_better or other_work else high[0]
    place = shared(plan, [row for value, row in known if value == best])
    return f"{span}, {'least' if other_work else 'best'} at {place}" if place else span


def unanswered(rows: Sequence[Row]) -> str:
    """How many points cannot be answered and why, as sentences; empty where all can."""
    said = []
    for state, became in ((IMPOSSIBLE, ("is impossible", "are impossible")), (FAILED, ("failed", "failed"))):
        reasons = [row["reason"] for row in rows if row["state"] == state]
        if reasons:
            what = became[0] if len(reasons) == 1 else became[1]
            said.append(f"{len(reasons)} of {len(rows)} points {what}: {_why(reasons)}.")
    return " ".join(said)


def _why(reasons: Sequence[str]) -> str:
    """The first reason, and how many points have others."""
    first = brief(PresetError(reasons[0])).rstrip(".")
    others = len(reasons) - reasons.count(reasons[0])
    if not others:
        return first
    return f"{first}; {others} of them for {'another reason' if others == 1 else 'other reasons'} (column Why)"


def _to(metric: Metric) -> str:
    """Whether a span is of values or of differences."""
    return "" if metric.base is None else " against the baseline"


def _first(metric: Metric, value: float) -> str:
    """The lower end of a span: its unit stands at the upper one."""
    return digits(value) if metric.base is None else metric.said(value)


def pareto(front: int, points: int, every: int) -> str:
    """How many of the answered points no other one beats; `every` counts those without an answer too."""
    if not points:
        return "No point has an answer"
    answered = "answered points" if points < every else "points"
    are = f"{front} of {points} {answered} {'is' if front == 1 else 'are'}"
    return f"{are} on the Pareto front: no other is as good in both and better in one"


def tornado(bars: Sequence[Bar], metric: Metric, change_pct: int) -> str:
    """The parameter that moves the quantity most."""
    return f"± {change_pct} % of {bars[0].key} moves the {metric.title.lower()} most: {bars[0].swing_pct:.3g} %"


def bars(found: Sequence[Bar]) -> list[tuple[str, str, str, float | None, float | None]]:
    """The largest bars with their two values in words."""
    return [
        (bar.key, units.shown(bar.key, bar.low), units.shown(bar.key, bar.high), bar.low_pct, bar.high_pct)
        for bar in found[:_SHOWN_BARS]
    ]


def numeric_axes(plan: Plan, rows: Sequence[Row]) -> list[str]:
    """Swept parameters that are numbers: they can be a side of a Pareto view."""
    return [axis.key for axis in plan.axes if all(isinstance(row.get(axis.key), (int, float)) for row in rows)]
