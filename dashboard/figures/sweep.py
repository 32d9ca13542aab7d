"""Sweeps as figures: lines, heat map, Pareto view, tornado. Absent answers leave gaps."""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go
from plotly.colors import sample_colorscale

from dashboard.figures.style import CEILING, decades, finish

# Okabe-Ito after the estimator's own colours are told apart by marker and dash too.
_LINES = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#999999", "#8C4F73")
_MARKERS = ("circle", "square", "diamond", "x", "triangle-up", "cross", "star", "triangle-down")
_HEIGHT = 370  # below the controls and the progress of a sweep it ends with the first screen
_DECADE = 10
_TICKS = 12
_ROOM = 1.25  # for the values written at the ends of bars
_BASELINE = "#CC79A7"
_LOWER, _HIGHER = "#56B4E9", "#E69F00"

VALUES, PERCENT, MULTIPLES = "values", "percent", "multiples"  # what the cells of a heat map are
_POWERS = {"tickvals": list(range(-6, 7)), "ticktext": [f"x {10.0**n:,g}" for n in range(-6, 7)]}
_HOVER = {False: ",.4g", True: "+,.4g"}  # values; differences in percent

Values = Sequence[Any]

# The light part of each scale: black numbers on it have a contrast of at least 4.5 (AA), in both themes.
_SEQUENTIAL = sample_colorscale("Cividis", [0.5 + 0.5 * n / 8 for n in range(9)])
_DIVERGING = sample_colorscale("PuOr_r", [0.2 + 0.6 * n / 8 for n in range(9)])


def lines(
    groups: Mapping[str, tuple[Values, Values]],
    x_title: str,
    y_title: str,
    title: str,
    baseline: float | None = None,
    places: Values = (),
) -> go.Figure:
    """One line per group (name -> x, y in the units of the titles); `baseline` is a height to mark.

    A height of zero stands for differences to it, in percent. `places` are all values of x, also those without a
    point yet.
    """
    chart = go.Figure()
    if places:
        chart.add_scatter(x=list(places), y=[None] * len(places), showlegend=False, hoverinfo="skip")
    for (name, (xs, ys)), color, symbol in zip(
        groups.items(), itertools.cycle(_LINES), itertools.cycle(_MARKERS), strict=False
    ):
        chart.add_scatter(
            x=list(xs),
            y=list(ys),
            name=name,
            mode="lines+markers",
            line={"color": color, "width": 2},
            marker={"symbol": symbol, "size": 8},
            hovertemplate=f"%{{x}}<br>%{{y:{_HOVER[baseline == 0]}}}<extra>{name}</extra>",
        )
    if baseline is not None:
        chart.add_hline(y=baseline, line={"color": CEILING, "dash": "dot"}, annotation_text="baseline")
    _scale(chart.update_xaxes, places or [x for xs, _ in groups.values() for x in xs], x_title, swept=True)
    heights = [y for _, ys in groups.values() for y in ys]
    _scale(chart.update_yaxes, [0, *heights] if baseline == 0 else heights, y_title)  # differences: a linear axis
    chart.update_layout(
        legend={"orientation": "h", "y": -0.22, "x": 0, "yanchor": "top"}, showlegend=len(groups) > 1
    )
    return finish(chart, title, _HEIGHT)


def heat(
    columns: Values,
    rows: Values,
    cells: Sequence[Values],
    titles: tuple[str, str, str],
    title: str,
    kind: str = VALUES,
) -> go.Figure:
    """Cells by row and column as colours with their values; the titles are those of x, y and the colour bar.

    Differences in PERCENT have a sign and a colour on either side of zero, MULTIPLES one on either side of one.
    """
    texts = [["" if value is None else _cell(value, kind) for value in line] for line in cells]
    differences, ticks = kind != VALUES, _colour_ticks(cells, kind)
    heights = [[math.log10(v) if v is not None and ticks else v for v in line] for line in cells]
    chart = go.Figure(
        go.Heatmap(
            x=[str(value) for value in columns],
            y=[str(value) for value in rows],
            z=heights,
            text=texts,
            texttemplate="%{text}",
            textfont={"color": "#000000"},
            colorscale=_DIVERGING if differences else _SEQUENTIAL,
            zmid=0 if differences else None,
            hoverongaps=False,
            colorbar={"title": {"text": titles[2], "side": "right"}} | ticks,
            hovertemplate=f"{titles[0]}: %{{x}}<br>{titles[1]}: %{{y}}<br>{titles[2]}: %{{text}}<extra></extra>",
        )
    )
    chart.update_xaxes(title=titles[0], type="category")
    chart.update_yaxes(title=titles[1], type="category")
    return finish(chart, title, _HEIGHT)


def _colour_ticks(cells: Sequence[Values], kind: str) -> dict[str, Any]:
    """Ticks of a logarithmic colour bar, for multiples and for values that span a decade; none of a linear one."""
    if kind == MULTIPLES:
        return _POWERS
    known = [value for line in cells for value in line if value is not None]
    if kind != VALUES or not known or min(known) <= 0 or max(known) < _DECADE * min(known):
        return {}
    found = decades(known)
    return found | {"tickvals": [math.log10(tick) for tick in found["tickvals"]]}


def _cell(value: float, kind: str) -> str:
    sign = "+" if kind == PERCENT else ""
    text = f"{value:{sign},.0f}" if abs(value) >= 999.5 else f"{value:{sign}.3g}"
    return f"x {text}" if kind == MULTIPLES else text


def pareto(
    points: Sequence[tuple[Any, Any, str]],
    front: Sequence[int],
    titles: tuple[str, str],
    title: str,
    baseline: tuple[Any, Any] | None = None,
) -> go.Figure:
    """All points (x, y, label) and the front among them, joined in steps; the baseline as a star."""
    chart = go.Figure()
    best = set(front)
    others = [point for index, point in enumerate(points) if index not in best]
    for name, some, color, size in (
        ("beaten", others, CEILING, 8),
        ("Pareto front", [points[index] for index in front], "#D55E00", 11),
    ):
        chart.add_scatter(
            x=[point[0] for point in some],
            y=[point[1] for point in some],
            text=[point[2] for point in some],
            name=name,
            mode="markers" if color == CEILING else "lines+markers",
            line={"shape": "hv", "dash": "dot", "width": 1.5, "color": color},
            marker={"color": color, "size": size},
            hovertemplate="%{text}<br>%{x:,.4g}, %{y:,.4g}<extra></extra>",
        )
    if baseline is not None:
        chart.add_scatter(
            x=[baseline[0]],
            y=[baseline[1]],
            name="baseline",
            mode="markers",
            marker={"symbol": "star", "size": 15, "color": _BASELINE, "line": {"width": 1, "color": CEILING}},
            hovertemplate="baseline<br>%{x:,.4g}, %{y:,.4g}<extra></extra>",
        )
    every = [*points, *([baseline] if baseline is not None else [])]
    _scale(chart.update_xaxes, [point[0] for point in every], titles[0])
    _scale(chart.update_yaxes, [point[1] for point in every], titles[1])
    chart.update_layout(legend={"orientation": "h", "y": -0.22, "x": 0, "yanchor": "top"})
    return finish(chart, title, _HEIGHT)


def tornado(
    bars: Sequence[tuple[str, str, str, float | None, float | None]],
    x_title: str,
    title: str,
    baseline_pct: float | None = None,
) -> go.Figure:
    """Bars (key, low value, high value, change at low, change at high), the first on top.

    `baseline_pct` is where the baseline stands on the same axis.
    """
    chart = go.Figure()
    for name, place, color in (("lower value", 0, _LOWER), ("higher value", 1, _HIGHER)):
        chart.add_bar(
            y=[bar[0] for bar in bars],
            x=[bar[3 + place] for bar in bars],
            customdata=[bar[1 + place] for bar in bars],
            name=name,
            orientation="h",
            marker={"color": color},
            hovertemplate="%{y} = %{customdata}<br>%{x:+.2f} %<extra></extra>",
            text=[bar[1 + place] for bar in bars],
            textposition="outside",
            cliponaxis=False,
        )
    chart.update_yaxes(autorange="reversed")
    ends = [change for bar in bars for change in (*bar[3:], baseline_pct) if change is not None]
    reach = _ROOM * max(map(abs, ends), default=1.0)
    if baseline_pct is not None:
        text = f"baseline {baseline_pct:+.3g} %"
        chart.add_vline(x=baseline_pct, line={"color": CEILING, "dash": "dot"}, annotation_text=text)
    chart.update_xaxes(title=x_title, ticksuffix=" %", zeroline=True, zerolinecolor=CEILING, range=[-reach, reach])
    chart.update_layout(
        barmode="group", bargap=0.3, legend={"orientation": "h", "y": -0.2, "x": 0, "yanchor": "top"}
    )
    return finish(chart, title, max(280, 140 + 44 * len(bars)))


def _scale(update: Any, values: Values, title: str, swept: bool = False) -> None:
    """Logarithmic where positive numbers span a decade or more; every swept value has its tick if they are few."""
    numbers = [value for value in values if isinstance(value, (int, float))]
    wide = bool(numbers) and min(numbers) > 0 and max(numbers) / min(numbers) >= _DECADE
    update(title=title, type="log" if wide else None, separatethousands=True, exponentformat="none")
    if numbers and min(numbers) == max(numbers) and not swept:  # else Plotly zooms in on nothing
        update(range=[0, 2 * numbers[0]] if numbers[0] > 0 else None)
    distinct = sorted(set(numbers))
    if swept and 0 < len(distinct) <= _TICKS:
        update(
            tickvals=distinct, ticktext=[f"{value:,.4g}" if value < 1e4 else f"{value:,.0f}" for value in distinct]
        )
    elif wide:
        update(**decades(numbers))
