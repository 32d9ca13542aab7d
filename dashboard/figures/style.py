"""What all figures share: sizes, grid, and colours by meaning."""

import math
from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

WAIT = "rgba(128,128,128,0.30)"
GRID = "rgba(128,128,128,0.25)"
CEILING = "#808080"
INK = "#000000"  # measured things on a light page
REGIME_SHADE = "rgba(213,94,0,0.08)"
TOOLBAR = {"displaylogo": False, "toImageButtonOptions": {"format": "png", "scale": 2}}
TIME_TOOLBAR = {
    **TOOLBAR,
    "showAxisDragHandles": False,  # dragging one of two axes of time would part them
    "doubleClick": "reset",  # never to all that is drawn, which the page would take for a zoom and draw anew
    "modeBarButtonsToRemove": ["lasso2d", "autoScale2d"],
}


_FEW_DECADES = 2


def decades(values: Sequence[float]) -> dict[str, Any]:
    """Ticks of a logarithmic axis over positive values, as numbers in full: Plotly's own are digits without zeros.

    1, 2 and 5 of every decade, or powers of ten alone where those are many.
    """
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    steps = (1, 2, 5) if max(values) <= min(values) * 10**_FEW_DECADES else (1,)
    ticks = [step * 10.0**n for n in range(low, high + 1) for step in steps]
    return {"tickvals": ticks, "ticktext": [f"{tick:,g}" for tick in ticks]}


def finish(figure: go.Figure, title: str, height: int) -> go.Figure:
    """A left-aligned title that states what is seen, even margins, light grid, transparent background."""
    figure.update_layout(
        title={"text": title, "x": 0, "xanchor": "left", "font": {"size": 16}},
        height=height,
        margin={"l": 10, "r": 10, "t": 56, "b": 10},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        hoverlabel={"namelength": -1},
    )
    figure.update_xaxes(gridcolor=GRID, automargin=True)
    figure.update_yaxes(gridcolor=GRID, automargin=True)
    return figure
