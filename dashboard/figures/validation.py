"""Validation studies as figures: measured points in black, the model's line or marker over them."""

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from dashboard.figures.style import CEILING, decades, finish

_SERIES_COLORS = ("#009E73", "#0072B2", "#E69F00", "#CC79A7", "#56B4E9", "#D55E00")


def figure(study: Mapping[str, Any], measured_color: str) -> go.Figure:
    """Against the study's own axis where its points have one, else measured against model."""
    points = study["all_points"]
    if study["compares"] == "difference":
        return _differences(study)
    along = all(point["x"] is not None for point in points)
    chart = go.Figure()
    names = list(dict.fromkeys(point["series"] for point in points))
    for name, color in zip(names, _SERIES_COLORS * (len(names) // len(_SERIES_COLORS) + 1), strict=False):
        some = sorted((point for point in points if point["series"] == name), key=lambda point: point["x"] or 0)
        (_along if along else _parity)(chart, some, name, color, measured_color)
    unit = points[0]["unit"]
    if along:
        chart.update_xaxes(type="log", title=study["x_title"], **decades([point["x"] for point in points]))
        chart.update_yaxes(title=unit, rangemode="tozero")
    else:
        _diagonal(chart, points)
        ticks = decades([point[side] for point in points for side in ("reference", "model")])
        chart.update_xaxes(type="log", title=f"reference ({unit})", **ticks)
        chart.update_yaxes(type="log", title=f"model ({unit})", **ticks)
    chart.update_layout(legend={"orientation": "h", "y": 1.0, "x": 0, "yanchor": "bottom"})
    return finish(chart, _title(study), 380)


def _differences(study: Mapping[str, Any]) -> go.Figure:
    """Every point as a multiple of its own reference, one row for each series."""
    chart = go.Figure()
    points = study["all_points"]
    names = list(dict.fromkeys(point["series"] for point in points))
    for name, color in zip(names, _SERIES_COLORS * (len(names) // len(_SERIES_COLORS) + 1), strict=False):
        own = [point for point in points if point["series"] == name]
        chart.add_scatter(
            x=[1 + point["error_pct"] / 100 for point in own],
            y=[name] * len(own),
            mode="markers",
            marker={"color": color, "size": 9, "opacity": 0.8},
            text=[point["label"] for point in own],
            customdata=[[point["model"], point["reference"]] for point in own],
            hovertemplate="%{text}<br>%{customdata[0]:,.0f} against %{customdata[1]:,.0f} "
            + own[0]["unit"]
            + "<extra></extra>",
            showlegend=False,
        )
    chart.add_vline(x=1, line={"color": CEILING, "dash": "dot"})
    ticks = decades([1, *(1 + point["error_pct"] / 100 for point in points)])
    chart.update_xaxes(type="log", title="multiple of the full model's time", **ticks)
    chart.update_yaxes(autorange="reversed")
    return finish(chart, _title(study), 320)


def _title(study: Mapping[str, Any]) -> str:
    if study["compares"] == "difference":
        return f"{study['points']} launches, largest change {study['worst_pct']:+,.0f} % at {study['worst_at']}"
    return (
        f"{study['points']} points, mean error {study['mape_pct']:.2f} %, "
        f"worst {study['worst_pct']:+.2f} % at {study['worst_at']}"
    )


def _along(
    chart: go.Figure, points: Sequence[Mapping[str, Any]], name: str, color: str, measured_color: str
) -> None:
    x = [point["x"] for point in points]
    hover = "%{x:,.4g}<br>%{y:,.4g} " + points[0]["unit"]
    chart.add_scatter(
        x=x,
        y=[point["model"] for point in points],
        name=f"model: {name}",
        mode="lines+markers",
        line={"color": color, "width": 2},
        hovertemplate=hover,
    )
    chart.add_scatter(
        x=x,
        y=[point["reference"] for point in points],
        name=f"measured: {name}",
        mode="markers",
        marker={"color": measured_color, "size": 8, "symbol": "circle-open", "line": {"width": 2}},
        hovertemplate=hover,
    )


def _parity(
    chart: go.Figure, points: Sequence[Mapping[str, Any]], name: str, color: str, _measured_color: str
) -> None:
    chart.add_scatter(
        x=[point["reference"] for point in points],
        y=[point["model"] for point in points],
        name=name,
        mode="markers",
        marker={"color": color, "size": 8},
        text=[point["label"] for point in points],
        hovertemplate="%{text}<br>reference %{x:,.4g}, model %{y:,.4g}",
    )


def _diagonal(chart: go.Figure, points: Sequence[Mapping[str, Any]]) -> None:
    ends = [min(point["reference"] for point in points), max(point["reference"] for point in points)]
    chart.add_scatter(x=ends, y=ends, mode="lines", line={"color": CEILING, "dash": "dot"}, name="equal")
