"""Latency, L2 and DRAM traffic of each estimator as bars."""

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from dashboard.figures.style import CEILING, finish

# (subplot title with unit, [(record key, label, opacity)], scale)
_PANELS: tuple[tuple[str, tuple[tuple[str, str, float], ...], float], ...] = (
    ("Latency of one layer (µs)", (("latency_us", "latency", 1.0),), 1.0),
    ("L2 traffic (MB)", (("l2_bytes", "requested by the SMs", 1.0),), 1e-6),
    (
        "DRAM traffic (MB): read, written light",
        (("dram_read_bytes", "read", 1.0), ("dram_write_bytes", "written", 0.45)),
        1e-6,
    ),
)


def figure(
    answers: Sequence[Mapping[str, Any]],
    names: Mapping[str, tuple[str, str]],
    title: str,
    bases: Mapping[str, Mapping[str, Any] | None] | None = None,
) -> go.Figure:
    """Three panels of bars; `names` maps an estimator to its label and colour. Absent values leave a gap.

    `bases` are the records of a pinned baseline by estimator: lines across the bars, and the difference beside.
    """
    panels = make_subplots(rows=1, cols=len(_PANELS), subplot_titles=[panel[0] for panel in _PANELS])
    labels = [names[record["estimator"]][0] for record in answers]
    colors = [names[record["estimator"]][1] for record in answers]
    for column, (_, parts, scale) in enumerate(_PANELS, start=1):
        for key, label, opacity in parts:
            values = [None if record[key] is None else record[key] * scale for record in answers]
            panels.add_bar(
                x=labels,
                y=values,
                marker={"color": colors, "opacity": opacity},
                hovertemplate="%{x}<br>" + label + ": %{y:,.4g}<extra></extra>",
                text=[
                    "" if value is None else f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"
                    for value in values
                ]
                if len(parts) == 1
                else None,
                textposition="outside",
                cliponaxis=False,
                showlegend=False,
                row=1,
                col=column,
            )
    if bases is not None:
        _baseline(panels, answers, labels, bases)
    panels.update_layout(barmode="stack", bargap=0.35)
    panels.update_yaxes(rangemode="tozero")
    panels.update_annotations(font_size=13)
    return finish(panels, title, 300)


def _baseline(
    panels: go.Figure,
    answers: Sequence[Mapping[str, Any]],
    labels: Sequence[str],
    bases: Mapping[str, Mapping[str, Any] | None],
) -> None:
    for column, (key, scale) in enumerate((("latency_us", 1.0), ("l2_bytes", 1e-6), ("dram_bytes", 1e-6)), start=1):
        pairs = [(record[key], (bases[record["estimator"]] or {}).get(key)) for record in answers]
        texts = [f"{100 * (now / then - 1):+.1f} %" if now is not None and then else "" for now, then in pairs]
        panels.add_scatter(
            x=labels,
            y=[None if then is None else then * scale for _, then in pairs],
            text=texts,
            mode="markers+text",
            textposition="top center",
            marker={"symbol": "line-ew", "size": 34, "line": {"width": 3, "color": CEILING}},
            hovertemplate="%{x}<br>baseline: %{y:,.4g} (%{text})<extra></extra>",
            showlegend=False,
            row=1,
            col=column,
        )
