"""DRAM and L2 traffic against length, log-log: estimators as lines, measured and simulated runs as points."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from dashboard.figures.style import CEILING, REGIME_SHADE, finish
from dashboard.plain import label

HEIGHT = 430
LIGHT = 0.3  # opacity of what belongs to the baseline
MARGIN = 0.02  # decades left and right of the curves
SIDE_TOKENS = 2_500  # labels of lines left of here stand on their right, where there is room
_LABEL = 0.06  # share of the panel from the top of a line down to the foot of its label
_LABEL_TIMES = 2.5  # a label reaches from one length to so many times it
_ABOVE_WAVES = 0.11  # share of the panel below which the numbers of waves stand
_NEAR = 0.15  # natural logarithm of two lengths: the width of such a number
GIGABYTE = 1e9
_DASHES = {"genz": "dash", "simfa-launch-order": "longdashdot", "llm-viewer": "dot"}
_TICKS = [2**n for n in range(9, 21)]
_DOMAINS = {"dram": (0.0, 0.57), "l2": (0.65, 1.0)}
_PANEL_TITLES = {"dram": "DRAM traffic (GB)", "l2": "L2 traffic requested by the SMs (GB), Eq. (2)"}
_PANELS = {"dram": {"xaxis": "x", "yaxis": "y"}, "l2": {"xaxis": "x2", "yaxis": "y2"}}


def figure(
    points: pd.DataFrame,
    names: Mapping[str, tuple[str, str]],
    landmarks: Mapping[str, Any],
    measured: Sequence[Mapping[str, Any]],
    simulated: Sequence[Mapping[str, Any]],
    axis: str,
    title: str,
    ink: str = "#000000",
    baseline: pd.DataFrame | None = None,
) -> go.Figure:
    """`points`: length, `dram.NAME`, `l2.NAME` in bytes; `landmarks`: boundary, live_boundary, waves, length.

    `baseline` holds the same columns of the pinned run, drawn light; its boundary is `landmarks["baseline"]`.
    Traces and layout go in at once: piece by piece they cost the page half of its time for a moved slider.
    """
    traces = [] if baseline is None else _light(baseline, names)
    for column in [name for name in points.columns if "." in name]:
        quantity, name = column.split(".", 1)
        traces.append(_line(points["length"], points[column], *names[name], _DASHES.get(name, "solid"), quantity))
    traces += _runs(simulated, *names["sim-fa"], ink) + _runs(measured, "Measured", ink, ink)
    ends = int(points["length"].min()), int(points["length"].max())
    shapes, notes = _landmarks(landmarks, *ends)
    layout = _axes(axis, ends) | {
        "shapes": shapes,
        "annotations": [*_heads(), *notes],
        "legend": {"orientation": "h", "y": -0.18, "x": 0, "yanchor": "top"},
    }
    return finish(go.Figure(traces, layout), title, HEIGHT)


def _light(points: pd.DataFrame, names: Mapping[str, tuple[str, str]]) -> list[dict[str, Any]]:
    """The pinned run's curves beneath the others, with one entry in the legend."""
    found: list[dict[str, Any]] = []
    for column in [name for name in points.columns if "." in name]:
        quantity, name = column.split(".", 1)
        said, color = names[name]
        line = _line(points["length"], points[column], f"{said}, baseline", color, "solid", quantity)
        found.append(
            line
            | {"name": "Baseline (light)", "legendgroup": "baseline", "showlegend": not found}
            | {"opacity": LIGHT, "line": {"color": color, "width": 6}}
        )
    return found


def _line(x: Any, y: Any, said: str, color: str, dash: str, quantity: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "x": x,
        "y": y / GIGABYTE,
        "name": said,
        "legendgroup": said,
        "showlegend": quantity == "dram",
        "mode": "lines",
        "line": {"color": color, "width": 2.4, "dash": dash},
        "hovertemplate": "%{x:,} tokens<br>%{y:.4g} GB<extra>" + said + "</extra>",
    } | _PANELS[quantity]


def _runs(runs: Sequence[Mapping[str, Any]], said: str, color: str, ink: str) -> list[dict[str, Any]]:
    """Points of each panel that has some, one entry in the legend."""
    found: list[dict[str, Any]] = []
    for quantity, panel in _PANELS.items():
        here = [run for run in runs if run["quantity"] == f"{quantity}_bytes"]
        if not here:
            continue
        trace = {
            "type": "scatter",
            "x": [run["length"] for run in here],
            "y": [run["bytes"] / GIGABYTE for run in here],
            "name": said,
            "legendgroup": said,
            "showlegend": not found,
            "mode": "markers",
            "marker": {"color": color, "size": 10, "symbol": "circle", "line": {"color": ink, "width": 1}},
            "customdata": [label(f"{run['label']} ({run['kind']})") for run in here],
            "hovertemplate": "%{customdata}<br>%{x:,} tokens<br>%{y:.4g} GB<extra>" + said + "</extra>",
        }
        found.append(trace | panel)
    return found


def _heads() -> list[dict[str, Any]]:
    """Titles of the two panels, above their middles."""
    return [
        {
            "x": sum(_DOMAINS[quantity]) / 2,
            "y": 1.0,
            "xref": "paper",
            "yref": "paper",
            "xanchor": "center",
            "yanchor": "bottom",
            "text": text,
            "showarrow": False,
            "font": {"size": 13},
        }
        for quantity, text in (
            ("dram", "DRAM traffic (GB)"),
            ("l2", "L2 traffic requested by the SMs (GB), Eq. (2)"),
        )
    ]


def _landmarks(
    marks: Mapping[str, Any], shortest: int, longest: int
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The shade, and lines with their labels."""
    boundary, live = marks["boundary"], marks["live_boundary"]
    shapes, notes = [], []
    if boundary < longest:
        shapes.append(_shade(max(boundary, shortest), longest))
    lines = [(boundary, 0.99, "dot", f"Eq. (4), one head: {boundary:,} tokens")]
    if live and live != boundary:
        lines.append((live, 0.90, "dashdot", f"Eq. (4), heads in flight: {live:,}"))
    lines.append((marks["length"], 0.81, "solid", f"here: {marks['length']:,}"))
    pinned = marks.get("baseline")
    if pinned and pinned != boundary:
        lines.append((pinned, 0.72, "dot", f"Eq. (4), baseline: {pinned:,}"))
    taller: list[int] = []
    for x, top, dash, text in lines:
        if shortest <= x <= longest:
            shapes.append(_upright(x, top, dash, marks))
            notes.append(_beside(x, top - _LABEL, text, taller))
            taller.append(x)
    notes += [_note(length, 0.0, f"{waves}<br>|", "center", 10) for waves, length in marks["waves"]]
    if marks["waves"]:
        notes.append(_note(longest, _ABOVE_WAVES, "waves per KV group, Eq. (5)", "right", 10))
    return shapes, notes


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


def _upright(x: int, top: float, dash: str, marks: Mapping[str, Any]) -> dict[str, Any]:
    """A line up to its label, and from above the number of waves where there is one: no line crosses words."""
    line = {"color": CEILING, "dash": dash, "width": 1}
    low = _ABOVE_WAVES if any(abs(math.log(length / x)) < _NEAR for _, length in marks["waves"]) else 0
    return {
        "type": "line", "x0": x, "x1": x, "y0": low, "y1": top, "xref": "x", "yref": "y domain", "line": line,
    }  # fmt: skip


def _beside(x: int, y: float, text: str, taller: Sequence[int]) -> dict[str, Any]:
    """Left of its line where there is room and no taller line close by, which would cross the words."""
    crossed = any(x / _LABEL_TIMES < other < x for other in taller)
    return _note(x, y, f" {text} ", "left" if crossed or x <= SIDE_TOKENS else "right", 12)


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


def _axes(axis: str, ends: tuple[int, int]) -> dict[str, Any]:
    view = [math.log10(ends[0]) - MARGIN, math.log10(ends[1]) + MARGIN]
    names = [f"{tick // 1024}K" if tick >= 1024 else str(tick) for tick in _TICKS[:-1]] + ["1M"]
    powers = [10.0**n for n in range(-6, 10)]
    said = [f"{power:,.0f}" if power >= 1 else f"{power:g}" for power in powers]
    x = {"type": "log", "title": axis, "range": view}
    y = {"type": "log", "tickvals": powers, "ticktext": said}
    wide, narrow = ({"tickvals": _TICKS[::-n][::-1], "ticktext": names[::-n][::-1]} for n in (1, 2))
    return {
        "xaxis": x | wide | {"domain": _DOMAINS["dram"], "anchor": "y"},
        "xaxis2": x | narrow | {"domain": _DOMAINS["l2"], "anchor": "y2"},
        "yaxis": y | {"title": "Traffic (GB = 10<sup>9</sup> bytes)", "anchor": "x"},
        "yaxis2": y | {"anchor": "x2"},
    }
