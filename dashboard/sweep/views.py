"""Rows of a sweep arranged for figures and the table: pure, values in the units of the titles."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from dashboard import standing
from dashboard.catalog import ESTIMATORS
from dashboard.compare import digits
from dashboard.sweep import analysis
from dashboard.sweep.analysis import Cost, Metric
from dashboard.sweep.axes import Axis
from dashboard.sweep.evaluate import DONE, WAITING, Row
from dashboard.sweep.plan import Plan
from presets import units

Group = tuple[list[Any], list[Any]]
_MIB = 2**20


def scaled(key: str, value: Any) -> Any:
    """A coordinate for an axis: bytes as MiB; everything else as it is."""
    in_bytes = units.unit(key) == "B" and isinstance(value, (int, float))
    return value / _MIB if in_bytes else value


def axis_title(key: str) -> str:
    """A parameter's name with the unit that `scaled` gives it."""
    unit = "MiB" if units.unit(key) == "B" else units.unit(key)
    return f"{key} ({unit})" if unit else key


def groups(plan: Plan, rows: Sequence[Row], metric: Metric) -> dict[str, Group]:
    """Lines over the first parameter, one per combination of the others; none before there is a point.

    A line whose points all wait is there without any, so that the others keep their colours when they come.
    """
    first, *others = plan.axes
    found: dict[str, Group] = {}
    for row in rows:
        if row["state"] not in (DONE, WAITING):
            continue
        name = ", ".join(f"{axis.key} {units.shown(axis.key, row[axis.key])}" for axis in others) or first.key
        xs, ys = found.setdefault(name, ([], []))
        if row["state"] == DONE:
            xs.append(scaled(first.key, row[first.key]))
            ys.append(analysis.value(row, metric))
    return found if any(xs for xs, _ in found.values()) else {}


def cells(
    plan: Plan, rows: Sequence[Row], metric: Metric, x: Axis, y: Axis, fixed: dict[str, Any]
) -> tuple[list[str], list[str], list[list[float | None]]]:
    """A heat map's columns, rows and cells; `fixed` holds the value of a third parameter."""
    chosen = [row for row in rows if all(row[key] == value for key, value in fixed.items())]
    by_place = {(row[x.key], row[y.key]): row for row in chosen if row["state"] == DONE}
    columns = list(dict.fromkeys(row[x.key] for row in rows))
    lines = list(dict.fromkeys(row[y.key] for row in rows))
    values = [
        [analysis.value(by_place[c, r], metric) if (c, r) in by_place else None for c in columns] for r in lines
    ]
    return [units.shown(x.key, c) for c in columns], [units.shown(y.key, r) for r in lines], values


def pareto(
    plan: Plan, rows: Sequence[Row], first: str, second: str
) -> tuple[list[tuple[Any, Any, str]], list[int], tuple[str, str]]:
    """Points (x, y, label) of the answered rows, the front among them, and the axis titles."""
    done = [row for row in rows if row["state"] == DONE]
    front = analysis.front(done, _cost(first), _cost(second))
    points = [(_value(row, first), _value(row, second), label(plan, row)) for row in done]
    return points, front, (title(first), title(second))


def place(row: Row | None, first: str, second: str) -> tuple[Any, Any] | None:
    """Where a record that is no point of the sweep stands in a Pareto view; None where it has not both values."""
    metrics = [analysis.METRICS.get(key) for key in (first, second)]
    values = [analysis.value(row, metric) if row and metric else None for metric in metrics]
    return (values[0], values[1]) if None not in values else None


def label(plan: Plan, row: Row) -> str:
    """A point in words: its coordinates."""
    return ", ".join(f"{axis.key} {units.shown(axis.key, row.get(axis.key))}" for axis in plan.axes)


def shared(plan: Plan, rows: Sequence[Row]) -> str:
    """The coordinates that all of some points have in common, in words; empty where there is none."""
    common = [axis for axis in plan.axes if len({row.get(axis.key) for row in rows}) == 1]
    return ", ".join(f"{axis.key} {units.shown(axis.key, rows[0].get(axis.key))}" for axis in common)


def places(plan: Plan, rows: Sequence[Row]) -> list[Any]:
    """Every value of the first parameter, answered or not: the horizontal axis does not move as points come in."""
    key = plan.axes[0].key
    return list(dict.fromkeys(scaled(key, row[key]) for row in rows if row.get(key) is not None))


def table(plan: Plan, rows: Sequence[Row], metrics: Sequence[Metric], base: Row | None) -> pd.DataFrame:
    """The table people read: coordinates, state, reason, metrics with units, difference to the baseline.

    There is a column of reasons where any row has one. Rows are those of all points, in order; the state of a
    simulated one carries its mark.
    """
    found, reasons = [], any(row["reason"] for row in rows)
    for index, row in enumerate(rows):
        if "role" in row:
            head = {"Varied": row["varied"] or "base", "Value": _shown(row["varied"], row["value"])}
        else:
            head = {axis.key: _shown(axis.key, row.get(axis.key)) for axis in plan.axes}
        state = {"State": row["state"] + _mark(plan, row, index)}
        why = {"Why": row["reason"]} if reasons else {}
        found.append(head | state | why | _figures(row, metrics, base))
    return pd.DataFrame(found)


def _mark(plan: Plan, row: Row, index: int) -> str:
    experiment = plan.points[index].experiment
    answered = row["state"] == DONE and experiment is not None and ESTIMATORS[row["estimator"]].simulated
    return standing.mark(experiment) if answered and experiment is not None else ""


def _figures(row: Row, metrics: Sequence[Metric], base: Row | None) -> dict[str, str]:
    shown: dict[str, str] = {}
    for metric in metrics:
        value = analysis.value(row, metric)
        shown[metric.label] = "–" if value is None else digits(value)
        if base is not None:
            reference = analysis.value(base, metric)
            known = value is not None and reference
            shown[f"{metric.title} to baseline"] = f"{100 * (value / reference - 1):+.1f} %" if known else "–"  # type: ignore[operator]
    return shown


def _shown(key: str | None, value: Any) -> str:
    return "" if key is None or value is None else units.shown(key, value)


def _cost(key: str) -> Cost:
    metric = analysis.METRICS.get(key)
    return Cost(key, metric.lower_is_better if metric else True)


def _value(row: Row, key: str) -> Any:
    metric = analysis.METRICS.get(key)
    return analysis.value(row, metric) if metric else scaled(key, row[key])


def title(key: str) -> str:
    """The title of a metric or of a swept parameter, with unit."""
    metric = analysis.METRICS.get(key)
    return metric.label if metric else axis_title(key)
