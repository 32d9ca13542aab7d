"""A roofline with its ceilings by name: tensor cores, MUFU, L2, DRAM, and the Eq. (12) asymptote."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from dashboard.compare import digits
from dashboard.figures.style import CEILING, finish

HEIGHT = 430
LABEL_AT = {"L2": 4, "DRAM": 14}  # a slope's name stands at this part of its roof, clear of other lines
SIZE = 11
LIGHT = 0.35
_SIZES = {"simfa-launch-order": 17}  # around SimFA-python's, which has the same L2 traffic
_LEVELS = {"l2": ("at L2", ""), "dram": ("at DRAM", "-open")}


def figure(
    ceilings: Mapping[str, float],
    dots: Sequence[Mapping[str, Any]],
    marks: Mapping[str, tuple[str, str, str]],
    title: str,
    baseline: Sequence[Mapping[str, Any]] = (),
) -> go.Figure:
    """`ceilings` in TFLOPS and bytes/s; `dots` of estimator, level (l2, dram), intensity (FLOP/B), tflops.

    `baseline` holds the pinned run's dots, drawn light.
    """
    low, high = _span(ceilings, [*dots, *baseline])
    compute = ceilings["tensor_tflops"], ceilings["mufu_tflops"]
    slopes = (("l2_bytes_per_s", "L2"), ("dram_bytes_per_s", "DRAM"))
    lines = [_slope(ceilings[key], low, min(compute)) for key, _ in slopes]
    lines += [_segment([low, high], [tflops, tflops]) for tflops in compute]
    notes = [_slope_name(ceilings[key], said, min(compute), low) for key, said in slopes]
    for tflops, said in zip(compute, ("Tensor cores", "MUFU (exp)"), strict=True):
        notes.append(_name(high, tflops, f"{said} {digits(tflops)} TFLOPS", "right", "bottom"))
    shapes, asymptote = _asymptote(ceilings["asymptote_flop_per_byte"])
    ordered = sorted(dots, key=lambda dot: -_SIZES.get(dot["estimator"], SIZE))
    points = [_dot(dot, *marks[dot["estimator"]]) for dot in ordered]
    points = [*_light(baseline, marks), *points]
    lowest = min([dot["tflops"] for dot in (*dots, *baseline)] + [min(compute) / 20])
    layout = _axes((low, high), (lowest / 1.6, max(compute) * 1.9)) | {
        "shapes": shapes,
        "annotations": [*notes, asymptote],
        "legend": {"orientation": "h", "y": -0.18, "x": 0, "yanchor": "top"},
    }
    return finish(go.Figure([*lines, *points], layout), title, HEIGHT)


def _axes(x: tuple[float, float], y: tuple[float, float]) -> dict[str, Any]:
    powers = [10.0**n for n in range(-1, 8)]
    steps = [step * 10.0**decade for decade in range(-3, 5) for step in (1, 2, 5)]
    return {
        name: {
            "type": "log",
            "range": [math.log10(end) for end in ends],
            "title": said,
            "tickvals": values,
            "ticktext": [f"{value:,g}" for value in values],
        }
        for name, ends, values, said in (
            ("xaxis", x, powers, "Arithmetic intensity (FLOP per byte of the memory level)"),
            ("yaxis", y, steps, "Throughput (TFLOPS = 10<sup>12</sup> FLOP/s)"),
        )
    }


def _span(ceilings: Mapping[str, float], dots: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
    """From left of every point and every slope's end, so that the slopes are seen, to right of the points."""
    found = [dot["intensity"] for dot in dots] + [ceilings["asymptote_flop_per_byte"]]
    roof = min(ceilings["tensor_tflops"], ceilings["mufu_tflops"])
    knees = [roof * 1e12 / ceilings[key] for key in ("l2_bytes_per_s", "dram_bytes_per_s")]
    return min(*found, *knees) / 6, max(*found, 1000) * 3


def _segment(x: list[float], y: list[float]) -> dict[str, Any]:
    line = {"color": CEILING, "width": 1.5}
    return {
        "type": "scatter", "x": x, "y": y, "mode": "lines", "line": line, "showlegend": False, "hoverinfo": "skip",
    }  # fmt: skip


def _slope(bytes_per_s: float, low: float, roof: float) -> dict[str, Any]:
    """A bandwidth's ceiling, up to the lower of the compute ceilings."""
    knee = roof * 1e12 / bytes_per_s
    return _segment([low, max(knee, low)], [min(low * bytes_per_s / 1e12, roof), roof])


def _slope_name(bytes_per_s: float, said: str, roof: float, low: float) -> dict[str, Any]:
    """Right below its slope, within the chart."""
    knee = roof * 1e12 / bytes_per_s
    x = max(knee / LABEL_AT[said], 1.1 * low)
    return _name(x, x * bytes_per_s / 1e12, f" {said} {digits(bytes_per_s / 1e12)} TB/s", "left", "top")


def _asymptote(intensity: float) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    line = {"color": CEILING, "dash": "dot"}
    shape = {
        "type": "line", "x0": intensity, "x1": intensity, "y0": 0, "y1": 1, "yref": "y domain", "line": line,
    }  # fmt: skip
    text = f" Eq. (12): 2 T<sub>M</sub> / P = {digits(intensity)} FLOP/B"
    return [shape], _name(intensity, None, text, "left", "bottom")


def _name(x: float, y: float | None, text: str, side: str, edge: str) -> dict[str, Any]:
    """A label at a point, or at the foot of the chart where y is None."""
    height = {"y": 0.02, "yref": "paper"} if y is None else {"y": math.log10(y), "yref": "y"}
    return height | {
        "x": math.log10(x),  # annotations on a log axis take the exponent
        "xref": "x",
        "text": text,
        "xanchor": side,
        "yanchor": edge,
        "showarrow": False,
        "font": {"size": 12},
    }


def _light(dots: Sequence[Mapping[str, Any]], marks: Mapping[str, tuple[str, str, str]]) -> list[dict[str, Any]]:
    """The pinned run's dots, with one entry in the legend."""
    found: list[dict[str, Any]] = []
    for dot in dots:
        said, *mark = marks[dot["estimator"]]
        point = _dot(dot, f"Baseline, {said}", *mark)
        legend = {"name": "Baseline (light)", "legendgroup": "baseline", "showlegend": not found}
        found.append(point | legend | {"opacity": LIGHT})
    return found


def _dot(dot: Mapping[str, Any], said: str, color: str, symbol: str) -> dict[str, Any]:
    where, hollow = _LEVELS[dot["level"]]
    size, name = _SIZES.get(dot["estimator"], SIZE), f"{said}, {where}"
    return {
        "type": "scatter",
        "x": [dot["intensity"]],
        "y": [dot["tflops"]],
        "name": name,
        "mode": "markers",
        "marker": {"color": color, "symbol": symbol + hollow, "size": size, "line": {"color": color, "width": 2}},
        "hovertemplate": "%{x:,.4g} FLOP/B<br>%{y:,.4g} TFLOPS<extra>" + name + "</extra>",
    }
