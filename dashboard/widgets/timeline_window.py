"""Below the timeline: what happened in exactly the window that is selected or visible."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from dashboard import shown
from dashboard.shown import Shown
from dashboard.widgets.visible_window import visible_window
from dashboard.window import Window

_HELP = {
    "MUFU asked for": "Exponentials of all consumers together. Softmax is a bubble that does not share the MUFU, so "
    "this may exceed 100 %.",
    "TMA lines in flight": "Mean over the window, and the limit of the SM's TMA engine.",
    "L2, DRAM backlog": "How many cycles ahead slices and channels are reserved, mean over all of them.",
    "Consumers waiting": "Mean of the consumer warpgroups.",
}


def selected(event: Any) -> Window | None:
    """The cycles of a box that was drawn in the figure, if there is one."""
    boxes = event.selection["box"] if event else []
    ranges = [sorted(map(float, box["x"])) for box in boxes if box.get("xref", "x") == "x" and len(box["x"]) == 2]
    return Window(*ranges[0]) if ranges and ranges[0][0] < ranges[0][1] else None


@st.fragment
def window_section(runs: Sequence[Shown], figure: str, first_view: Window, box: Window | None) -> None:
    """Utilisation and stall shares; redraws itself when the figure is zoomed or panned."""
    visible = visible_window(figure, first_view)
    axis = box or visible
    st.markdown(f"**{shown.window_words(axis, runs, box is not None)}**")
    for column, (name, value, second) in zip(st.columns(6), shown.cards(runs, axis), strict=True):
        column.metric(
            name,
            value,
            delta=f"{second} second run" if second else None,
            delta_color="off",
            delta_arrow="off",
            help=_HELP.get(name),
            border=True,
        )
    for column, run in zip(st.columns(len(runs)), runs, strict=True):
        with column:
            if len(runs) > 1:
                st.caption(run.name)
            st.table(run.warpgroups(axis))
