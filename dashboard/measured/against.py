"""Measured kernels under a pinned baseline's assumptions: its parameter set and its changed preset values.

A baseline is an experiment of its own length and model; measured kernels have theirs. What carries over is what it
assumes of the hardware and the kernel, so that one sees whether these assumptions meet measurements better.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dashboard.catalog import ESTIMATORS
from dashboard.measured import comparison
from dashboard.measured.case import Case, preset, settings_of
from dashboard.measured.comparison import Answers, Comparison, Row
from dashboard.recipe import OWN, Recipe
from presets import params
from presets.errors import PresetError
from presets.specs import GpuSpec

_CLOCK = "sm.clock_hz"


def assumed(recipe: Recipe) -> str:
    """What the baseline assumes beside the presets, in words; empty where it changes nothing."""
    parts = [f"{recipe.params} parameters"] if recipe.params != OWN else []
    return ", ".join([*parts, *(f"{key}={value}" for key, value in recipe.settings().items())])


def under(case: Case, recipe: Recipe, measured_clock: bool) -> Case:
    """The case with the baseline's assumptions put beneath its own: what a file says of its kernel stays.

    A clock that was measured stays too, and what has no calibrated set keeps the paper's values.
    """
    try:
        own = case_settings(case)
    except PresetError:  # the comparison says what is wrong with it
        return case
    wanted = dict(recipe.settings())
    if measured_clock and case.clock_hz is not None:
        wanted.pop(_CLOCK, None)
    text = "; ".join(f"{key}={value}" for key, value in (wanted | own).items())
    match = case.match.model_copy(update={"settings": text, "params": _parameter_set(case, recipe)})
    return case.model_copy(update={"match": match})


def case_settings(case: Case) -> dict[str, str]:
    """The preset values that a case changes."""
    return settings_of(case.match.settings)


def _parameter_set(case: Case, recipe: Recipe) -> str:
    """The baseline's set, where the GPU has it; empty for the usual one."""
    try:
        gpu = preset(GpuSpec, case.match.gpu, "gpu")
    except PresetError:
        return ""
    return recipe.params if recipe.params in params.available(gpu) else ""


def compare(
    cases: Sequence[Case], names: Sequence[str], measured_clock: bool, answers: Answers, pinned: Sequence[Case]
) -> Comparison:
    """The comparison of the cases, each row with what `pinned`, the same cases `under` a baseline, gives."""
    found = comparison.compare(cases, names, measured_clock, answers)
    if not pinned:
        return found
    base = comparison.compare(pinned, names, measured_clock, answers)
    return replace(found, rows=joined(found.rows, base.rows))


def of_case(found: Comparison, case_id: str, quantity: str) -> list[str]:
    """A sentence per estimator: its error for one kernel, and the baseline's."""
    rows = [
        row for row in found.of(quantity) if row["case"] == case_id and row.get("baseline_error_pct") is not None
    ]
    said = []
    for row in rows:
        now = f", without them by {row['error_pct']:+.1f} %" if row["error_pct"] is not None else ""
        short = ESTIMATORS[row["estimator"]].short
        said.append(f"With the baseline's values {short} is off by {row['baseline_error_pct']:+.1f} %{now}.")
    return said


def joined(rows: Sequence[Row], base: Iterable[Row]) -> list[Row]:
    """The rows with the baseline's estimate and error beside their own: absent where it has no answer."""
    known: Mapping[tuple[Any, ...], Row] = {_place(row): row for row in base}
    found = []
    for row in rows:
        then = known.get(_place(row), {})
        found.append(
            row
            | {"baseline_estimated": then.get("estimated"), "baseline_error_pct": then.get("error_pct")}
            | {"baseline_remark": then.get("remark", "cannot be built with the baseline's values")}
        )
    return found


def _place(row: Row) -> tuple[Any, ...]:
    return row["case"], row["estimator"], row["quantity"]
