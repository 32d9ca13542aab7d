"""L2 and DRAM traffic against length: the closed forms as lines, what was measured as points in black."""

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from dashboard.figures.style import CEILING, finish
from dashboard.plain import label

_LINES = (
    ("l2_bytes", "L2 by Eq. (2), SimFA-python", "#0072B2", "solid"),
    ("dram_bytes", "DRAM, SimFA-python", "#0072B2", "dot"),
    ("dram_ideal_bytes", "DRAM, GenZ: Eq. (3)", "#E69F00", "dash"),
)
_LIGHT = 0.3  # opacity of what belongs to the baseline
# measured quantity -> legend, marker, marker of an estimate
_POINTS = {"l2_bytes": ("L2, measured", "circle"), "dram_bytes": ("DRAM, measured", "diamond")}


def figure(
    curve: pd.DataFrame,
    measured: Sequence[dict[str, Any]],
    boundary: int,
    title: str,
    axis: str,
    ink: str = "#000000",
    baseline: pd.DataFrame | None = None,
) -> go.Figure:
    """`curve` has length and the columns of bytes; `measured` rows of quantity, length, bytes, kind, label.

    `baseline` is the same curve with a pinned run's values, drawn light.
    """
    chart = go.Figure()
    if baseline is not None:
        _light(chart, baseline)
    for column, said, color, dash in _LINES:
        chart.add_scatter(
            x=curve["length"],
            y=curve[column] / 1e6,
            name=said,
            mode="lines",
            line={"color": color, "width": 2.2, "dash": dash},
            hovertemplate="%{x:,} tokens<br>%{y:,.4g} MB<extra>" + said + "</extra>",
        )
    for quantity, (said, symbol) in _POINTS.items():
        for estimate in (False, True):
            points = [
                row for row in measured if row["quantity"] == quantity and (row["kind"] == "estimate") == estimate
            ]
            if points:
                _points(chart, points, f"{said} (estimate)" if estimate else said, symbol, estimate, ink)
    ends = int(curve["length"].min()), int(curve["length"].max())
    _boundary(chart, boundary, *ends)
    ticks = [2**n for n in range(4, 25) if ends[0] <= 2**n <= ends[1]]
    names = [f"{tick // 1024}K" if tick >= 1024 else str(tick) for tick in ticks]
    chart.update_xaxes(type="log", title=axis, tickvals=ticks, ticktext=names)
    chart.update_yaxes(
        type="log",
        title="Traffic (MB = 10<sup>6</sup> bytes)",
        dtick=1,
        exponentformat="none",
        separatethousands=True,
    )
    chart.update_layout(legend={"orientation": "h", "y": -0.18, "x": 0, "yanchor": "top"})
    return finish(chart, label(title), 400)


def _light(chart: go.Figure, curve: pd.DataFrame) -> None:
    for number, (column, said, color, _) in enumerate(_LINES):
        chart.add_scatter(
            x=curve["length"],
            y=curve[column] / 1e6,
            name="Baseline (light)",
            legendgroup="baseline",
            showlegend=number == 0,
            mode="lines",
            opacity=_LIGHT,
            line={"color": color, "width": 6},
            hovertemplate="%{x:,} tokens<br>%{y:,.4g} MB<extra>baseline, " + said + "</extra>",
        )


def _points(
    chart: go.Figure, points: Sequence[dict[str, Any]], said: str, symbol: str, estimate: bool, ink: str
) -> None:
    chart.add_scatter(
        x=[row["length"] for row in points],
        y=[row["bytes"] / 1e6 for row in points],
        name=said,
        mode="markers",
        marker={"color": ink, "size": 10, "symbol": f"{symbol}-open" if estimate else symbol, "line": {"width": 2}},
        customdata=[label(row["label"]) for row in points],
        hovertemplate="%{customdata}<br>%{x:,} tokens<br>%{y:,.4g} MB<extra>" + said + "</extra>",
    )


def _boundary(chart: go.Figure, tokens: int, low: int, high: int) -> None:
    if not low <= tokens <= high:
        return
    chart.add_vline(x=tokens, line={"color": CEILING, "dash": "dot"})
    chart.add_annotation(
        x=math.log10(tokens),
        y=0.03,
        yref="paper",
        xanchor="right",
        text=f"K/V of one head no longer fits, Eq. (4): {tokens:,} tokens ",
        showarrow=False,
        font={"size": 12, "color": CEILING},
    )
