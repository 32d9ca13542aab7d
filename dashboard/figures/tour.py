"""The tour's figures: curves over one axis, and horizontal bars, small and with direct labels."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from dashboard.figures.style import CEILING, decades, finish
from dashboard.plain import label

HEIGHT = 270
_BAR_PX, _BARS_PX = 40, 110
_ROOM = 1.3  # for values written at the ends of bars


@dataclass(frozen=True)
class Curve:
    """A line: name, colour, dash, and its points."""

    name: str
    color: str
    dash: str
    x: Sequence[float]
    y: Sequence[float]


@dataclass(frozen=True)
class Bar:
    """A horizontal bar: name, colour, length, and what is written at its end."""

    name: str
    color: str
    value: float
    text: str


def curves(
    lines: Sequence[Curve],
    title: str,
    axes: tuple[str, str],
    level: tuple[float, str] | None = None,
    place: tuple[float, str] | None = None,
    logarithmic: bool = True,
) -> go.Figure:
    """Lines over `axes` (titles with units); a labelled `level` lies across, a labelled `place` stands upright."""
    chart = go.Figure()
    for line in lines:
        chart.add_scatter(
            x=list(line.x),
            y=list(line.y),
            name=line.name,
            mode="lines",
            line={"color": line.color, "dash": line.dash, "width": 2.4},
            hovertemplate="%{x:,.4g}<br>%{y:,.4g}<extra>" + line.name + "</extra>",
        )
    kind = "log" if logarithmic else "linear"
    chart.update_xaxes(title=axes[0], type=kind, **_ticks([x for line in lines for x in line.x], logarithmic))
    heights = [y for line in lines for y in line.y]
    chart.update_yaxes(title=axes[1], type=kind, **(decades(heights) if logarithmic else {"rangemode": "tozero"}))
    for found, across in ((level, True), (place, False)):
        if found is not None:
            _mark(chart, *found, across, logarithmic)
    chart.update_layout(
        legend={"orientation": "h", "y": 1.0, "x": 0, "yanchor": "bottom"}, showlegend=len(lines) > 1
    )
    return finish(chart, title, HEIGHT)


def bars(found: Sequence[Bar], title: str, axis: str, equal: tuple[float, str] | None = None) -> go.Figure:
    """Bars from zero along `axis` (title with unit), the first on top; a labelled line where both are equal."""
    chart = go.Figure(
        go.Bar(
            x=[bar.value for bar in found],
            y=[label(bar.name) for bar in found],
            orientation="h",
            marker={"color": [bar.color for bar in found]},
            text=[label(bar.text) for bar in found],
            textposition="outside",
            cliponaxis=False,
            hovertemplate="%{y}: %{text}<extra></extra>",
        )
    )
    longest = max((bar.value for bar in found), default=1.0)
    chart.update_xaxes(title=axis, range=[0, longest * _ROOM])
    chart.update_yaxes(autorange="reversed")
    chart.update_layout(bargap=0.35)
    if equal is not None:
        chart.add_vline(x=equal[0], line={"color": CEILING, "dash": "dot"}, layer="below")
        chart.add_annotation(
            x=equal[0], y=1, yref="paper", yanchor="bottom", text=equal[1], showarrow=False, font={"size": 11}
        )
    return finish(chart, title, _BARS_PX + _BAR_PX * len(found))


def _ticks(values: Sequence[float], logarithmic: bool) -> dict[str, Any]:
    """Powers of two with K for 1,024, for an axis of tokens."""
    if not logarithmic:
        return {}
    low, high = min(values), max(values)
    ticks = [2**n for n in range(9, 21) if low <= 2**n <= high]
    return {"tickvals": ticks, "ticktext": [f"{tick // 1024}K" if tick >= 1024 else str(tick) for tick in ticks]}


def _mark(chart: go.Figure, at: float, text: str, across: bool, logarithmic: bool) -> None:
    line = {"color": CEILING, "dash": "dot", "width": 1.5}
    shown = math.log10(at) if logarithmic else at  # annotations on a log axis take the exponent
    note: dict[str, Any] = {"text": f" {text} ", "showarrow": False, "font": {"size": 12}}
    if across:
        chart.add_hline(y=at, line=line)
        chart.add_annotation(x=0, xref="paper", xanchor="left", y=shown, yanchor="bottom", **note)
    else:
        chart.add_vline(x=at, line=line)
        chart.add_annotation(x=shown, xanchor="right", y=0.9, yref="paper", yanchor="bottom", **note)
