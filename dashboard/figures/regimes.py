"""DRAM and L2 traffic against length, log-log: estimators as lines, measured and simulated runs as points."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from dashboard.figures.style import CEILING, REGIME_SHADE, finish
from dashboard.plain import label

HEIGHT = 430
GIGABYTE = 1e9
_DASHES = {"genz": "dash", "simfa-launch-order": "solid", "llm-viewer": "dot"}
_TICKS = [2**n for n in range(9, 21)]
_COLUMNS = {"dram": 1, "l2": 2}
_PANEL_OF = {"dram_bytes": 1, "l2_bytes": 2}


def figure(
    points: pd.DataFrame,
    names: Mapping[str, tuple[str, str]],
    landmarks: Mapping[str, Any],
    measured: Sequence[Mapping[str, Any]],
    simulated: Sequence[Mapping[str, Any]],
    axis: str,
    title: str,
    ink: str = "#000000",
) -> go.Figure:
    """`points`: length, `dram.NAME`, `l2.NAME` in bytes; `landmarks`: boundary, live_boundary, waves, length."""
    chart = make_subplots(
        rows=1,
        cols=2,
        column_widths=[0.62, 0.38],
        horizontal_spacing=0.08,
        subplot_titles=["DRAM traffic", "L2 traffic requested by the SMs, Eq. (2)"],
    )
    for column in [name for name in points.columns if "." in name]:
        panel, name = column.split(".", 1)
        _line(chart, points["length"], points[column], *names[name], _DASHES.get(name, "solid"), _COLUMNS[panel])
    _runs(chart, simulated, *names["sim-fa"], "circle", ink)
    _runs(chart, measured, "Measured", ink, "circle", ink)
    _landmarks(chart, landmarks, int(points["length"].min()), int(points["length"].max()))
    _axes(chart, axis)
    chart.update_layout(legend={"orientation": "h", "y": -0.18, "x": 0, "yanchor": "top"})
    return finish(chart, title, HEIGHT)


def _line(chart: go.Figure, x: Any, y: Any, said: str, color: str, dash: str, panel: int) -> None:
    chart.add_scatter(
        x=x,
        y=y / GIGABYTE,
        name=said,
        legendgroup=said,
        showlegend=panel == 1,
        mode="lines",
        line={"color": color, "width": 2.4, "dash": dash},
        hovertemplate="%{x:,} tokens<br>%{y:.4g} GB<extra>" + said + "</extra>",
        row=1,
        col=panel,
    )


def _runs(
    chart: go.Figure, runs: Sequence[Mapping[str, Any]], said: str, color: str, symbol: str, ink: str
) -> None:
    for quantity, panel in _PANEL_OF.items():
        found = [run for run in runs if run["quantity"] == quantity]
        if not found:
            continue
        chart.add_scatter(
            x=[run["length"] for run in found],
            y=[run["bytes"] / GIGABYTE for run in found],
            name=said,
            legendgroup=said,
            showlegend=panel == 1 or not any(run["quantity"] == "dram_bytes" for run in runs),
            mode="markers",
            marker={"color": color, "size": 10, "symbol": symbol, "line": {"color": ink, "width": 1}},
            customdata=[label(f"{run['label']} ({run['kind']})") for run in found],
            hovertemplate="%{customdata}<br>%{x:,} tokens<br>%{y:.4g} GB<extra>" + said + "</extra>",
            row=1,
            col=panel,
        )


def _landmarks(chart: go.Figure, marks: Mapping[str, Any], shortest: int, longest: int) -> None:
    boundary, live = marks["boundary"], marks["live_boundary"]
    if boundary < longest:
        chart.add_vrect(
            x0=max(boundary, shortest),
            x1=longest,
            fillcolor=REGIME_SHADE,
            line_width=0,
            layer="below",
            row=1,
            col=1,
        )
    if shortest <= boundary <= longest:
        _upright(chart, boundary, f"Eq. (4), one head: {boundary:,} tokens", 0.97, "dot")
    if live and live != boundary and shortest <= live <= longest:
        _upright(chart, live, f"Eq. (4), heads in flight: {live:,}", 0.89, "dashdot")
    _upright(chart, marks["length"], "here", 0.81, "solid", faint=True)
    for waves, length in marks["waves"]:
        chart.add_annotation(
            x=math.log10(length),
            y=0.0,
            yref="y domain",
            yanchor="bottom",
            text=f"{waves}<br>|",
            showarrow=False,
            font={"size": 10, "color": CEILING},
            row=1,
            col=1,
        )
    if marks["waves"]:
        chart.add_annotation(
            x=math.log10(marks["waves"][0][1]),
            y=0.035,
            yref="y domain",
            xanchor="right",
            yanchor="bottom",
            text="waves, Eq. (5): ",
            showarrow=False,
            font={"size": 10, "color": CEILING},
            row=1,
            col=1,
        )


def _upright(chart: go.Figure, x: int, text: str, height: float, dash: str, faint: bool = False) -> None:
    chart.add_vline(
        x=x, line={"color": CEILING, "dash": dash, "width": 1}, opacity=0.5 if faint else 1, row=1, col=1
    )
    chart.add_annotation(
        x=math.log10(x),
        y=height,
        yref="y domain",
        xanchor="right" if x > 5_000 else "left",
        text=f" {text} ",
        showarrow=False,
        font={"size": 12, "color": CEILING},
        row=1,
        col=1,
    )


def _axes(chart: go.Figure, axis: str) -> None:
    names = [f"{tick // 1024}K" if tick >= 1024 else str(tick) for tick in _TICKS[:-1]] + ["1M"]
    for panel, every in ((1, 1), (2, 2)):
        chart.update_xaxes(
            type="log",
            title=axis,
            tickvals=_TICKS[::-every][::-1],
            ticktext=names[::-every][::-1],
            row=1,
            col=panel,
        )
    powers = [10.0**n for n in range(-6, 10)]
    said = [f"{power:,.0f}" if power >= 1 else f"{power:g}" for power in powers]
    chart.update_yaxes(type="log", tickvals=powers, ticktext=said)
    chart.update_yaxes(title="Traffic (GB = 10<sup>9</sup> bytes)", row=1, col=1)
