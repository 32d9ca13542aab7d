"""The baseline on the Sweep page: figures as differences to it, and any point of a sweep pinned as it."""

from collections.abc import Sequence

import streamlit as st

from dashboard import baseline
from dashboard.recipe import Recipe
from dashboard.sweep import analysis
from dashboard.sweep.analysis import Metric
from dashboard.sweep.evaluate import DONE, Row
from dashboard.widgets.baseline import pin_button
from dashboard.widgets.experiment import start
from dashboard.widgets.sweep import Asked


def as_difference(metric: Metric, base: Row | None, found: Sequence[Row]) -> Metric:
    """The metric as its difference to the baseline, unless somebody wants the values; unchanged without one."""
    if base is None or not analysis.value(base, metric):
        return metric
    wanted = st.toggle(
        "As difference to the baseline",
        start("difference"),
        key="difference",
        help="Lines and heat map against the baseline: in percent, or as multiples where points are tenfold away. "
        "Off: values, with the baseline marked.",
        persist_state="session",
    )
    return metric.against(base, found) if wanted else metric


def pin_point(asked: Asked, found: Sequence[Row], selected: Sequence[int]) -> None:
    """Pins the selected row of the table; without one a caption says how."""
    place = next((index for index in selected if index < len(found) and found[index]["state"] == DONE), None)
    if place is None:
        st.caption("Select an answered row to set it as baseline.")
        return
    point = asked.plan.points[place]
    assert point.experiment is not None
    recipe: Recipe = asked.plan.recipe.changed(point.changes)
    pin_button(recipe, [*baseline.closed(point.experiment), found[place]], "Set row as baseline")
