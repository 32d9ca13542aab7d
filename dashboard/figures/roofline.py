"""A roofline with its ceilings by name: tensor cores, MUFU, L2, DRAM, and the Eq. (12) asymptote."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from dashboard.figures.style import CEILING, finish

HEIGHT = 430
LABEL_AT = 4  # a slope's name stands at a quarter of its roof
SIZE = 11
_SIZES = {"simfa-launch-order": 17}  # around SimFA-python's, which has the same L2 traffic
_LEVELS = {"l2": ("at L2", ""), "dram": ("at DRAM", "-open")}


def figure(
    ceilings: Mapping[str, float],
    dots: Sequence[Mapping[str, Any]],
    marks: Mapping[str, tuple[str, str, str]],
    title: str,
) -> go.Figure:
    """`ceilings` in TFLOPS and bytes/s; `dots` of estimator, level (l2, dram), intensity (FLOP/B), tflops."""
    chart = go.Figure()
    low, high = _span(ceilings, dots)
    compute = ceilings["tensor_tflops"], ceilings["mufu_tflops"]
    for key, said in (("l2_bytes_per_s", "L2"), ("dram_bytes_per_s", "DRAM")):
        _slope(chart, ceilings[key], said, low, min(compute))
    for tflops, said in zip(compute, ("Tensor cores", "MUFU (exp)"), strict=True):
        _flat(chart, tflops, said, low, high)
    _asymptote(chart, ceilings["asymptote_flop_per_byte"])
    for dot in sorted(dots, key=lambda dot: -_SIZES.get(dot["estimator"], SIZE)):
        _dot(chart, dot, *marks[dot["estimator"]])
    lowest = min([dot["tflops"] for dot in dots] + [min(compute) / 20])
    _axes(chart, (low, high), (lowest / 1.6, max(compute) * 1.9))
    chart.update_layout(legend={"orientation": "h", "y": -0.18, "x": 0, "yanchor": "top"})
    return finish(chart, title, HEIGHT)


def _axes(chart: go.Figure, x: tuple[float, float], y: tuple[float, float]) -> None:
    powers = [10.0**n for n in range(-1, 8)]
    steps = [step * 10.0**decade for decade in range(-3, 5) for step in (1, 2, 5)]
    for update, ends, values, said in (
        (chart.update_xaxes, x, powers, "Arithmetic intensity (FLOP per byte of the memory level)"),
        (chart.update_yaxes, y, steps, "Throughput (TFLOPS = 10<sup>12</sup> FLOP/s)"),
    ):
        update(
            type="log", range=[math.log10(end) for end in ends], title=said, tickvals=values,
            ticktext=[f"{value:,g}" for value in values],
        )  # fmt: skip


def _span(ceilings: Mapping[str, float], dots: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
    found = [dot["intensity"] for dot in dots] + [ceilings["asymptote_flop_per_byte"]]
    return min(found) / 6, max(*found, 1000) * 3


def _slope(chart: go.Figure, bytes_per_s: float, said: str, low: float, roof: float) -> None:
    knee = roof * 1e12 / bytes_per_s
    chart.add_scatter(
        x=[low, max(knee, low)],
        y=[min(low * bytes_per_s / 1e12, roof), roof],
        mode="lines",
        line={"color": CEILING, "width": 1.5},
        showlegend=False,
        hoverinfo="skip",
    )
    if knee > low * LABEL_AT:
        _name(chart, knee / LABEL_AT, roof / LABEL_AT, f" {said} {bytes_per_s / 1e12:.3g} TB/s", "left", "top")


def _flat(chart: go.Figure, tflops: float, said: str, low: float, high: float) -> None:
    chart.add_scatter(
        x=[low, high],
        y=[tflops, tflops],
        mode="lines",
        line={"color": CEILING, "width": 1.5},
        showlegend=False,
        hoverinfo="skip",
    )
    _name(chart, high, tflops, f"{said} {tflops:,.0f} TFLOPS", "right", "bottom")


def _asymptote(chart: go.Figure, intensity: float) -> None:
    chart.add_vline(x=intensity, line={"color": CEILING, "dash": "dot"})
    chart.add_annotation(
        x=math.log10(intensity),
        y=0.02,
        yref="paper",
        xanchor="left",
        showarrow=False,
        text=f" Eq. (12): 2 T<sub>M</sub> / P = {intensity:g} FLOP/B",
        font={"size": 12},
    )


def _name(chart: go.Figure, x: float, y: float, text: str, side: str, edge: str) -> None:
    chart.add_annotation(
        x=math.log10(x), y=math.log10(y), text=text, xanchor=side, yanchor=edge, showarrow=False, font={"size": 12}
    )


def _dot(chart: go.Figure, dot: Mapping[str, Any], said: str, color: str, symbol: str) -> None:
    where, hollow = _LEVELS[dot["level"]]
    size = _SIZES.get(dot["estimator"], SIZE)
    chart.add_scatter(
        x=[dot["intensity"]],
        y=[dot["tflops"]],
        name=f"{said}, {where}",
        mode="markers",
        marker={"color": color, "symbol": symbol + hollow, "size": size, "line": {"color": color, "width": 2}},
        hovertemplate="%{x:,.4g} FLOP/B<br>%{y:,.4g} TFLOPS<extra>" + f"{said}, {where}" + "</extra>",
    )
