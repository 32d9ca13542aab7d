"""Measured against estimated: one point per kernel and estimator, and the line where both are equal."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from dashboard.figures.style import CEILING, finish
from dashboard.plain import label

_THEN = "baseline_estimated"
BAND = 0.2  # the shaded band: estimates within 20 % of the measurement
_BAND_SHADE = "rgba(128,128,128,0.14)"


def figure(
    rows: Sequence[Mapping[str, Any]],
    marks: Mapping[str, tuple[str, str, str]],
    what: str,
    unit: str,
    scale: float,
    title: str,
    ink: str = "#000000",
) -> go.Figure:
    """`rows` of one quantity; `marks` maps an estimator to title, colour and marker. Both axes in `unit`.

    Where rows hold a pinned baseline's estimates too, these are hollow.
    """
    chart = go.Figure()
    values = [row["measured"] * scale for row in rows if row["estimated"]]
    values += [row[key] * scale for key in ("estimated", _THEN) for row in rows if row.get(key)]
    low, high = (min(values) / 1.4, max(values) * 1.4) if values else (1.0, 10.0)
    _equal_line(chart, low, high, ink)
    for name, (said, color, symbol) in marks.items():
        points = [row for row in rows if row["estimator"] == name and row["estimated"]]
        then = [
            row | {"estimated": row[_THEN], "error_pct": row["baseline_error_pct"]} for row in _pinned(rows, name)
        ]
        if then:
            _points(chart, then, f"{said}, baseline", color, f"{symbol}-open", unit, scale)
        if points:
            _points(chart, points, said, color, symbol, unit, scale)
    ticks = _ticks(low, high)
    axis = {"type": "log", "tickvals": ticks, "ticktext": [f"{tick:,g}" for tick in ticks]}
    chart.update_xaxes(**axis, title=f"{what}, measured ({unit})")
    chart.update_yaxes(**axis, title=f"{what}, estimated ({unit})")
    chart.update_layout(legend={"orientation": "h", "y": -0.16, "x": 0, "yanchor": "top"})
    return finish(chart, title, 430)


def _pinned(rows: Sequence[Mapping[str, Any]], name: str) -> list[dict[str, Any]]:
    """The rows of an estimator for which the baseline has an estimate."""
    return [dict(row) for row in rows if row["estimator"] == name and row.get(_THEN)]


def title(summary: Sequence[Mapping[str, Any]], marks: Mapping[str, tuple[str, str, str]], quantity: str) -> str:
    """What is seen: the mean absolute error of every estimator with values."""
    known = [row for row in summary if row["quantity"] == quantity and row["mape_pct"] is not None]
    if not known:
        return "No measured value of this kind to compare"
    count = max(row["values"] for row in known)
    over = f"{count} kernels" if count != 1 else "one kernel"
    found = [
        f"{marks[row['estimator']][0]} {_size(row['mape_pct'])}"
        + (f" ({row['values']} of them)" if row["values"] < count else "")
        for row in known
    ]
    return f"Mean absolute error on {over}: {', '.join(found)}"


def _size(percent: float) -> str:
    return f"{percent:.1f} %" if percent >= 0.05 else f"{percent:.2f} %"


def _ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 of every decade, or powers of ten alone where those are many."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if high / low < 3000 else (1,)
    found = [step * 10.0**decade for decade in decades for step in steps]
    return [tick for tick in found if low <= tick <= high]


def _equal_line(chart: go.Figure, low: float, high: float, ink: str) -> None:
    ends = [low, high]
    chart.add_scatter(
        x=[*ends, *ends[::-1]],
        y=[low * (1 - BAND), high * (1 - BAND), high * (1 + BAND), low * (1 + BAND)],
        fill="toself",
        mode="none",
        fillcolor=_BAND_SHADE,
        hoverinfo="skip",
        name=f"within {BAND * 100:.0f} %",
    )
    chart.add_scatter(
        x=ends, y=ends, mode="lines", name="measured", line={"color": ink, "width": 1.5}, hoverinfo="skip"
    )


def _edge(color: str, symbol: str) -> dict[str, Any]:
    return {"color": color, "width": 1.5} if symbol.endswith("-open") else {"color": CEILING, "width": 0.5}


def _points(
    chart: go.Figure,
    points: Sequence[Mapping[str, Any]],
    said: str,
    color: str,
    symbol: str,
    unit: str,
    scale: float,
) -> None:
    chart.add_scatter(
        x=[row["measured"] * scale for row in points],
        y=[row["estimated"] * scale for row in points],
        name=said,
        mode="markers",
        marker={"color": color, "symbol": symbol, "size": 9, "line": _edge(color, symbol)},
        customdata=[(label(row["label"]), row["error_pct"]) for row in points],
        hovertemplate="%{customdata[0]}<br>measured %{x:,.4g} "
        + unit
        + "<br>estimated %{y:,.4g} "
        + unit
        + "<br>error %{customdata[1]:+.2f} %<extra>"
        + label(said)
        + "</extra>",
    )
