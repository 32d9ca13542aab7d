"""What all figures share: sizes, grid, and colours by meaning."""

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
    "modeBarButtonsToRemove": ["lasso2d", "autoScale2d"],
}


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
