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
MARGIN = 0.02  # decades left and right of the curves
SIDE_TOKENS = 6_000  # labels of lines left of here stand on their right, where there is room
GIGABYTE = 1e9
_DASHES = {"genz": "dash", "simfa-launch-order": "longdashdot", "llm-viewer": "dot"}
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
    chart.update_annotations(font_size=13)
    ends = int(points["length"].min()), int(points["length"].max())
    _landmarks(chart, landmarks, *ends)
    _axes(chart, axis, ends)
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
    """Shade, lines and labels, put in at once: one by one each costs the figure a validation."""
    boundary, live = marks["boundary"], marks["live_boundary"]
    shapes, notes = [], list(chart.layout.annotations)
    if boundary < longest:
        shapes.append(_shade(max(boundary, shortest), longest))
    if shortest <= boundary <= longest:
        shapes.append(_upright(boundary, 0.99, "dot"))
        notes.append(_beside(boundary, 0.93, f"Eq. (4), one head: {boundary:,} tokens"))
    if live and live != boundary and shortest <= live <= longest:
        shapes.append(_upright(live, 0.90, "dashdot"))
        notes.append(_beside(live, 0.84, f"Eq. (4), heads in flight: {live:,}"))
    if shortest <= marks["length"] <= longest:
        shapes.append(_upright(marks["length"], 0.81, "solid"))
        notes.append(_beside(marks["length"], 0.75, f"here: {marks['length']:,}"))
    notes += [_note(length, 0.0, f"{waves}<br>|", "center", 10) for waves, length in marks["waves"]]
    if marks["waves"]:
        notes.append(_note(longest, 0.11, "waves per KV group, Eq. (5)", "right", 10))
    chart.update_layout(shapes=shapes, annotations=notes)


def _shade(low: int, high: int) -> dict[str, Any]:
    return {
        "type": "rect",
        "x0": low,
        "x1": high,
        "y0": 0,
        "y1": 1,
        "xref": "x",
        "yref": "y domain",
        "fillcolor": REGIME_SHADE,
        "line": {"width": 0},
        "layer": "below",
    }


def _upright(x: int, top: float, dash: str) -> dict[str, Any]:
    """A line up to its label, so that no other line crosses the words."""
    line = {"color": CEILING, "dash": dash, "width": 1}
    return {
        "type": "line", "x0": x, "x1": x, "y0": 0, "y1": top, "xref": "x", "yref": "y domain", "line": line,
    }  # fmt: skip


def _beside(x: int, y: float, text: str) -> dict[str, Any]:
    return _note(x, y, f" {text} ", "right" if x > SIDE_TOKENS else "left", 12)


def _note(x: int, y: float, text: str, anchor: str, size: int) -> dict[str, Any]:
    return {
        "x": math.log10(x),  # annotations on a log axis take the exponent
        "y": y,
        "xref": "x",
        "yref": "y domain",
        "xanchor": anchor,
        "yanchor": "bottom",
        "text": text,
        "showarrow": False,
        "font": {"size": size},
    }


def _axes(chart: go.Figure, axis: str, ends: tuple[int, int]) -> None:
    view = [math.log10(ends[0]) - MARGIN, math.log10(ends[1]) + MARGIN]
    names = [f"{tick // 1024}K" if tick >= 1024 else str(tick) for tick in _TICKS[:-1]] + ["1M"]
    for panel, every in ((1, 1), (2, 2)):
        chart.update_xaxes(
            type="log",
            range=view,
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
