"""Latency, L2 and DRAM traffic of each estimator as bars."""

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from dashboard.figures.style import finish

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


def figure(answers: Sequence[Mapping[str, Any]], names: Mapping[str, tuple[str, str]], title: str) -> go.Figure:
    """Three panels of bars; `names` maps an estimator to its label and colour. Absent values leave a gap."""
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
    panels.update_layout(barmode="stack", bargap=0.35)
    panels.update_yaxes(rangemode="tozero")
    panels.update_annotations(font_size=13)
    return finish(panels, title, 300)
