"""Latency, L2 and DRAM traffic of each estimator as bars."""

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from dashboard.compare import difference, digits
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

    Over each bar its value, three significant digits. `bases` are the records of a pinned baseline by estimator:
    lines across the bars, and the differences to them below the values.
    """
    panels = make_subplots(rows=1, cols=len(_PANELS), subplot_titles=[panel[0] for panel in _PANELS])
    labels = [names[record["estimator"]][0] for record in answers]
    colors = [names[record["estimator"]][1] for record in answers]
    then = [(bases[record["estimator"]] or {}) if bases is not None else {} for record in answers]
    for column, (_, parts, scale) in enumerate(_PANELS, start=1):
        totals = [_total(record, parts, scale) for record in answers]
        before = [_total(record, parts, scale) for record in then]
        for key, label, opacity in parts:
            top = key == parts[-1][0]
            panels.add_bar(
                x=labels,
                y=[None if record[key] is None else record[key] * scale for record in answers],
                marker={"color": colors, "opacity": opacity},
                hovertemplate="%{x}<br>" + label + ": %{y:,.4g}<extra></extra>",
                text=[_said(*pair) for pair in zip(totals, before, strict=True)] if top else None,
                textposition="outside",
                cliponaxis=False,
                showlegend=False,
                row=1,
                col=column,
            )
        if bases is not None:
            _baseline(panels, labels, before, column)
        highest = max((value for value in (*totals, *before) if value is not None), default=0)
        panels.update_yaxes(range=[0, highest * (1.15 if bases is None else 1.3) or 1], row=1, col=column)
    panels.update_layout(barmode="stack", bargap=0.35)
    panels.update_annotations(font_size=13)
    return finish(panels, title, 300)


def _total(record: Mapping[str, Any], parts: Sequence[tuple[str, str, float]], scale: float) -> float | None:
    """The height of a stack; None where a part of it is absent."""
    values = [record.get(key) for key, _, _ in parts]
    return None if any(value is None for value in values) else sum(value * scale for value in values if value)


def _said(value: float | None, before: float | None) -> str:
    """A bar's value, and below it the difference to the baseline's."""
    if value is None:
        return ""
    return "<br>".join(filter(None, (digits(value), difference(value, before))))


def _baseline(panels: go.Figure, labels: Sequence[str], before: Sequence[float | None], column: int) -> None:
    panels.add_scatter(
        x=labels,
        y=before,
        mode="markers",
        marker={"symbol": "line-ew", "size": 34, "line": {"width": 3, "color": CEILING}},
        hovertemplate="%{x}<br>baseline: %{y:,.4g}<extra></extra>",
        showlegend=False,
        row=1,
        col=column,
    )
