"""A roofline with its ceilings by name: tensor cores, MUFU, L2, DRAM, and the Eq. (12) asymptote."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from dashboard.figures.style import CEILING, finish

HEIGHT = 430
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
    top = max(ceilings["tensor_tflops"], ceilings["mufu_tflops"])
    for key, said in (("l2_bytes_per_s", "L2"), ("dram_bytes_per_s", "DRAM")):
        _slope(chart, ceilings[key], said, low, top)
    for key, said in (("tensor_tflops", "Tensor cores"), ("mufu_tflops", "MUFU (exp)")):
        _flat(chart, ceilings[key], said, low, high)
    _asymptote(chart, ceilings["asymptote_flop_per_byte"])
    for dot in dots:
        _dot(chart, dot, *marks[dot["estimator"]])
    chart.update_xaxes(
        type="log", range=[math.log10(low), math.log10(high)], dtick=1,
        title="Arithmetic intensity (FLOP per byte of the memory level)",
    )  # fmt: skip
    lowest = min([dot["tflops"] for dot in dots] + [top])
    chart.update_yaxes(
        type="log", range=[math.log10(min(lowest, top / 30) / 1.6), math.log10(top * 1.9)],
        title="Throughput (TFLOPS = 10<sup>12</sup> FLOP/s)", tickvals=_ticks(),
        ticktext=[f"{tick:g}" for tick in _ticks()],
    )  # fmt: skip
    chart.update_layout(legend={"orientation": "h", "y": -0.18, "x": 0, "yanchor": "top"})
    return finish(chart, title, HEIGHT)


def _ticks() -> list[float]:
    return [step * 10.0**decade for decade in range(-3, 5) for step in (1, 2, 5)]


def _span(ceilings: Mapping[str, float], dots: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
    found = [dot["intensity"] for dot in dots] + [ceilings["asymptote_flop_per_byte"]]
    return min(found) / 6, max(*found, 1000) * 3


def _slope(chart: go.Figure, bytes_per_s: float, said: str, low: float, top: float) -> None:
    knee = top * 1e12 / bytes_per_s
    chart.add_scatter(
        x=[low, knee],
        y=[low * bytes_per_s / 1e12, top],
        mode="lines",
        line={"color": CEILING, "width": 1.5},
        showlegend=False,
        hoverinfo="skip",
    )
    chart.add_annotation(
        x=math.log10(knee) - 0.28,
        y=math.log10(top) - 0.28,
        text=f"{said} {bytes_per_s / 1e12:.3g} TB/s ",
        xanchor="right",
        showarrow=False,
        font={"size": 12, "color": CEILING},
    )


def _flat(chart: go.Figure, tflops: float, said: str, low: float, high: float) -> None:
    chart.add_scatter(
        x=[low, high], y=[tflops, tflops], mode="lines", line={"color": CEILING, "width": 1.5}, showlegend=False,
        hoverinfo="skip",
    )  # fmt: skip
    chart.add_annotation(
        x=math.log10(high), y=math.log10(tflops), text=f"{said} {tflops:,.0f} TFLOPS", xanchor="right",
        yanchor="bottom", showarrow=False, font={"size": 12, "color": CEILING},
    )  # fmt: skip


def _asymptote(chart: go.Figure, intensity: float) -> None:
    chart.add_vline(x=intensity, line={"color": CEILING, "dash": "dot"})
    chart.add_annotation(
        x=math.log10(intensity), y=0.02, yref="paper", xanchor="right", showarrow=False,
        text=f"Eq. (12): 2 T<sub>M</sub> / P = {intensity:g} FLOP/B ", font={"size": 12, "color": CEILING},
    )  # fmt: skip


def _dot(chart: go.Figure, dot: Mapping[str, Any], said: str, color: str, symbol: str) -> None:
    where, hollow = _LEVELS[dot["level"]]
    base = symbol.removesuffix("-open")
    chart.add_scatter(
        x=[dot["intensity"]],
        y=[dot["tflops"]],
        name=f"{said}, {where}",
        mode="markers",
        marker={"color": color, "symbol": base + hollow, "size": 12, "line": {"color": color, "width": 2}},
        hovertemplate="%{x:,.4g} FLOP/B<br>%{y:,.4g} TFLOPS<extra>" + f"{said}, {where}" + "</extra>",
    )
