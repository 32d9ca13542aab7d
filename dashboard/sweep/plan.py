"""The points of a sweep: a grid, a list, or one parameter at a time around an experiment."""

import hashlib
import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from dashboard import settings
from dashboard.plain import of_fields
from dashboard.recipe import Recipe
from dashboard.sweep import axes as axis_text
from dashboard.sweep.axes import Axis
from presets import loader, units
from presets.errors import PresetError
from presets.experiment import Experiment
from presets.quantity import Number, unit_of
from simfa import coverage

GRID, LIST, SENSITIVITY = "grid", "list", "sensitivity"
MODES = (GRID, LIST, SENSITIVITY)
CHANGES_PCT = (5, 10, 20, 50)
BASE = "base"


@dataclass(frozen=True)
class Point:
    """One experiment of a sweep: what was changed, or why there is no such experiment.

    `role` is `base`, `low` or `high` in a sensitivity study, and empty otherwise.
    """

    changes: Mapping[str, str]
    experiment: Experiment | None
    refusal: str = ""
    role: str = ""

    def coordinates(self) -> dict[str, Number | str]:
        """The changed values as numbers in base units, or names."""
        return {key: axis_text.coordinate(key, text) for key, text in self.changes.items()}


@dataclass(frozen=True)
class Plan:
    """The points of a sweep in order, the recipe they start from, and the parameters."""

    recipe: Recipe
    mode: str
    axes: tuple[Axis, ...]
    points: tuple[Point, ...]
    change_pct: int = 0

    def key(self, estimator: str) -> str:
        """Thirty-two hex digits: equal for the same experiments by the same estimator and sources."""
        told = [
            [dict(p.changes), p.experiment.model_dump_json() if p.experiment else p.refusal] for p in self.points
        ]
        text = json.dumps([coverage.model_digest(), estimator, self.mode, told])
        return hashlib.sha256(text.encode()).hexdigest()[:32]


def grid(recipe: Recipe, axes: Sequence[Axis]) -> Plan:
    """Every combination of the values, the last parameter fastest. Raises PresetError above SIMFA_SWEEP_POINTS."""
    count = 1
    for axis in axes:
        count *= len(axis.values)
    _check_count(count, " x ".join(f"{len(axis.values)}" for axis in axes))
    rows = [dict(zip([a.key for a in axes], values, strict=True)) for values in itertools.product(*_values(axes))]
    return Plan(recipe, GRID, tuple(axes), _points(recipe, rows))


def listed(recipe: Recipe, axes: Sequence[Axis]) -> Plan:
    """The first values of all parameters, then the second ones, and so on; all of equal number."""
    if len({len(axis.values) for axis in axes}) > 1:
        counts = ", ".join(f"{axis.key} has {len(axis.values)}" for axis in axes)
        raise PresetError(f"as a list, every parameter needs equally many values: {counts}")
    _check_count(len(axes[0].values) if axes else 0, "")
    rows = [dict(zip([a.key for a in axes], values, strict=True)) for values in zip(*_values(axes), strict=True)]
    return Plan(recipe, LIST, tuple(axes), _points(recipe, rows))


def sensitivity(recipe: Recipe, keys: Sequence[str], change_pct: int) -> Plan:
    """The experiment itself, then each value `change_pct` percent lower and higher, one at a time.

    Whole numbers are rounded away from the value, so that a small one changes at all.
    """
    _check_count(1 + 2 * len(keys), f"1 + 2 x {len(keys)}")
    base = recipe.experiment()
    values = numeric_values(base)
    points = [Point({}, base, role=BASE)]
    axes = []
    for key in keys:
        if key not in values:
            raise PresetError(f"{key} is no number of this experiment's presets; it has no sensitivity")
        lower, higher = around(key, values[key], change_pct)
        axes.append(Axis(key, (lower, higher)))
        for role, text in (("low", lower), ("high", higher)):
            points.append(_point(recipe, {key: text}, role))
    return Plan(recipe, SENSITIVITY, tuple(axes), tuple(points), change_pct)


def numeric_values(experiment: Experiment) -> dict[str, Number]:
    """Every preset value of an experiment that is a number, by dotted key: GPU, kernel, model."""
    found: dict[str, Number] = {}
    for spec in (experiment.gpu, experiment.kernel, experiment.llm):
        for key, value in loader.flatten(spec).items():
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                found[key] = value
    return found


def around(key: str, value: Number, change_pct: int) -> tuple[str, str]:
    """`value` lower and higher by that many percent, as text; whole numbers stay whole."""
    share = change_pct / 100
    if isinstance(value, float):
        lower, higher = value * (100 - change_pct) / 100, value * (100 + change_pct) / 100
        return units.text(key, lower), units.text(key, higher)
    step = max(1, round(value * share)) if unit_of(key) != "bytes" else max(1, int(value * share))
    return units.text(key, value - step), units.text(key, value + step)


def make(recipe: Recipe, mode: str, text: str, change_pct: int = 0) -> Plan:
    """The plan that a page, URL or command describes. Raises PresetError."""
    if mode == SENSITIVITY:
        return sensitivity(recipe, [key.strip() for key in text.split(",") if key.strip()], change_pct)
    axes = axis_text.parse(text)
    if not axes:
        raise PresetError("nothing is varied yet; choose a parameter and its values")
    return grid(recipe, axes) if mode == GRID else listed(recipe, axes)


def _values(axes: Sequence[Axis]) -> list[tuple[str, ...]]:
    return [axis.values for axis in axes]


def _points(recipe: Recipe, rows: Sequence[Mapping[str, str]]) -> tuple[Point, ...]:
    load = cache(loader.load)  # a file is read once a sweep, not once a point
    return tuple(_point(recipe, row, "", load) for row in rows)


def _point(recipe: Recipe, changes: Mapping[str, str], role: str, load: Any = loader.load) -> Point:
    try:
        return Point(changes, recipe.changed(changes).experiment(load), role=role)
    except PresetError as error:
        return Point(changes, None, "\n".join(map(of_fields, str(error).splitlines())), role)


def _check_count(count: int, how: str) -> None:
    most = settings.sweep_points()
    if count > most:
        what = f"{how} = {count:,} points" if " x " in how else f"{count:,} points"
        raise PresetError(
            f"{what} are more than the {most:,} a sweep may have (SIMFA_SWEEP_POINTS); take fewer or coarser values"
        )
