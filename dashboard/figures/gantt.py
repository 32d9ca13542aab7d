"""The pipeline of one SM over time: one row per warpgroup and unit, one trace per activity."""

from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dashboard.figures.style import WAIT, finish

_COLORS = {
    "QK GEMM, consumer 1": "#0072B2",
    "PV GEMM, consumer 1": "#56B4E9",
    "QK GEMM, consumer 2": "#009E73",
    "PV GEMM, consumer 2": "#7FD1B9",
    "softmax": "#E69F00",
    "load K": "#CC79A7",
    "load V": "#8C4F73",
    "load Q": "#D55E00",
    "store O": "#F0E442",
}
_OTHER = "#999999"
WINDOW_CYCLES = 30_000  # some ten K/V tiles: wide enough for the rhythm, narrow enough to tell spans apart
_BOTTOM_UP = ("TMA", "tensor core", "consumer 3", "consumer 2", "consumer 1", "producer")


def figure(
    spans: pd.DataFrame, clock_hz: float, view: tuple[int, int], title: str, stale: bool = False
) -> go.Figure:
    """Spans (`dashboard.spans`) as horizontal bars over cycles; `view` is what is shown at first. Waits are light.

    Values go in as NumPy arrays, which Plotly passes on whole; lists of thousands of spans it would copy and
    check item by item, at half a second a redraw.
    """
    names = sorted(spans["row"].unique(), key=_height)
    places = spans["row"].map({name: place for place, name in enumerate(names)}).astype(np.int8)
    spans = spans.assign(place=places)
    us = 1e6 / clock_hz
    chart = go.Figure()
    legend_waits = True
    for activity in sorted(spans["activity"].unique(), key=_order):
        some = spans[spans["activity"] == activity]
        wait = some["category"].iloc[0] == "wait"
        chart.add_bar(
            name="waiting (hover says for what)" if wait else activity,
            legendgroup="wait" if wait else activity,
            showlegend=bool(not wait or legend_waits),
            marker={"color": WAIT if wait else _COLORS.get(activity, _OTHER), "line": {"width": 0}},
            width=0.45 if wait else 0.8,
            opacity=0.35 if stale else 1.0,
            **_bars(some, activity, us),
        )
        legend_waits = legend_waits and not wait
    chart.update_yaxes(tickvals=list(range(len(names))), ticktext=names, range=[-0.6, len(names) - 0.4])
    chart.update_xaxes(
        range=list(view), title=f"SM cycles (1,000 cycles = {1000 * us:.3f} µs)", separatethousands=True
    )
    chart.update_layout(
        barmode="overlay",
        dragmode="zoom",
        legend={"orientation": "h", "y": -0.28, "x": 0, "font": {"size": 12}},
        uirevision=f"{title}{view}",
    )
    return finish(chart, title, 400)


def _bars(spans: pd.DataFrame, activity: str, us: float) -> dict[str, Any]:
    start, end = spans["start_cycle"].to_numpy(float), spans["end_cycle"].to_numpy(float)
    return {
        "orientation": "h",
        "y": spans["place"].to_numpy(),
        "base": start,
        "x": end - start,
        "customdata": np.column_stack([end, start * us, end * us, spans["cta"]]),
        "hovertemplate": activity + "<br>cycles %{base:,} to %{customdata[0]:,} (%{x:,} long)"
        "<br>%{customdata[1]:.3f} to %{customdata[2]:.3f} µs<br>CTA %{customdata[3]}<extra></extra>",
    }


def window(spans: pd.DataFrame, place: float | None) -> tuple[int, int]:
    """The cycles in view: WINDOW_CYCLES of them at `place` (0 start, 1 end) of the run, or all for None."""
    start, end = int(spans["start_cycle"].min()), int(spans["end_cycle"].max())
    if place is None or end - start <= WINDOW_CYCLES:
        return start, end
    first = start + int((end - start - WINDOW_CYCLES) * place)
    return first, first + WINDOW_CYCLES


def _height(row: str) -> tuple[int, str]:
    """Rows by role from the bottom up; a role's second CTA slot above its first."""
    role = row.split(",")[0]
    return _BOTTOM_UP.index(role) if role in _BOTTOM_UP else len(_BOTTOM_UP), row


def _order(activity: str) -> tuple[int, str]:
    names = list(_COLORS)
    return (names.index(activity) if activity in names else len(names), activity)
