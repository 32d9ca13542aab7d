"""DRAM traffic against sequence length, the regimes shaded and the Eq. (4) boundary marked."""

import math
from collections.abc import Mapping

import pandas as pd
import plotly.graph_objects as go

from dashboard.figures.style import CEILING, REGIME_SHADE, finish

_TICKS = [2**n for n in range(10, 21)]


def figure(
    points: pd.DataFrame,
    first_unfit_tokens: int,
    names: Mapping[str, tuple[str, str]],
    simulated: tuple[int, float] | None,
    axis: str,
) -> go.Figure:
    """Curves of `points` (length, simfa_python, genz, fits) in GB; `simulated` is one (length, bytes) point."""
    chart = go.Figure()
    shortest, longest = int(points["length"].min()), int(points["length"].max())
    for column, name, dash in (("simfa_python", "simfa-python", "solid"), ("genz", "genz", "dash")):
        label, color = names[name]
        chart.add_scatter(
            x=points["length"],
            y=points[column] / 1e9,
            name=label,
            mode="lines",
            line={"color": color, "width": 2.5, "dash": dash},
            hovertemplate="%{x:,} tokens<br>%{y:.4g} GB<extra>" + label + "</extra>",
        )
    if simulated is not None:
        label, color = names["sim-fa"]
        chart.add_scatter(
            x=[simulated[0]],
            y=[simulated[1] / 1e9],
            name=label,
            mode="markers",
            marker={"color": color, "size": 11, "symbol": "circle", "line": {"color": "white", "width": 1}},
            hovertemplate="%{x:,} tokens<br>%{y:.4g} GB<extra>" + label + "</extra>",
        )
    _mark_boundary(chart, first_unfit_tokens, shortest, longest)
    ticks = [tick for tick in _TICKS if shortest <= tick <= longest]
    ends = [shortest, longest] if simulated is None else [shortest, longest, simulated[0]]
    view = [math.log10(min(ends)) - 0.02, math.log10(max(ends)) + 0.02]
    chart.update_xaxes(
        type="log", range=view, title=axis, tickvals=ticks, ticktext=[f"{tick // 1024}K" for tick in ticks]
    )
    chart.update_yaxes(type="log", title="DRAM traffic (GB = 10<sup>9</sup> bytes)", dtick=1)
    chart.update_layout(legend={"orientation": "h", "y": 1.0, "x": 0, "yanchor": "bottom"})
    return finish(chart, _title(points, first_unfit_tokens), 360)


def add_baseline(chart: go.Figure, points: pd.DataFrame) -> None:
    """The pinned baseline's SimFA-python curve as a grey dotted line."""
    chart.add_scatter(
        x=points["length"],
        y=points["simfa_python"] / 1e9,
        name="SimFA-python, baseline",
        mode="lines",
        line={"color": CEILING, "width": 2, "dash": "dot"},
        hovertemplate="%{x:,} tokens<br>%{y:.4g} GB<extra>baseline</extra>",
    )


def _mark_boundary(chart: go.Figure, boundary: int, shortest: int, longest: int) -> None:
    if boundary >= longest:
        return
    chart.add_vrect(x0=max(boundary, shortest), x1=longest, fillcolor=REGIME_SHADE, line_width=0, layer="below")
    if boundary < shortest:
        return
    chart.add_vline(x=boundary, line={"color": CEILING, "dash": "dot"})
    chart.add_annotation(
        x=math.log10(boundary),  # annotations on a log axis take the exponent
        y=0.03,
        yref="paper",
        xanchor="right",
        text=f"K/V of one head no longer fits, Eq. (4): {boundary:,} tokens ",
        showarrow=False,
        font={"size": 12, "color": CEILING},
    )


def _title(points: pd.DataFrame, boundary: int) -> str:
    beyond = points[~points["fits"].astype(bool)]
    if beyond.empty:
        return "DRAM traffic stays on the ideal line over the whole range"
    if (beyond["simfa_python"] <= beyond["genz"]).all():
        return f"K/V outgrows the L2 at {boundary:,} tokens, but one wave reads it once"
    last = beyond.iloc[-1]
    ratio = last["simfa_python"] / last["genz"]
    end = int(last["length"])
    return f"DRAM traffic leaves the ideal line at {boundary:,} tokens: {ratio:.3g} times the ideal at {end:,}"
