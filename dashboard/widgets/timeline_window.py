"""Below the timeline: what happened in exactly the window that is selected or visible."""

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from dashboard import shown
from dashboard.shown import Shown
from dashboard.widgets import url
from dashboard.widgets.downloads import downloads
from dashboard.widgets.experiment import DEFAULTS
from dashboard.widgets.timeline_controls import (
    draw_there,
    moved,
    published,
    remember_box,
    remember_visible,
    start_again,
    was_moved,
    was_reset,
)
from dashboard.widgets.visible_window import visible_window
from dashboard.window import Window

_IN_BRACKETS = "; in brackets the difference to the other run, in percentage points"


def selected(event: Any) -> Window | None:
    """The cycles of a box that was drawn in the figure, if there is one."""
    boxes = event.selection["box"] if event else []
    ranges = [sorted(map(float, box["x"])) for box in boxes if box.get("xref", "x") == "x" and len(box["x"]) == 2]
    return Window(*ranges[0]) if ranges and ranges[0][0] < ranges[0][1] else None


@st.fragment
def window_section(
    runs: Sequence[Shown],
    figure: str,
    first_view: Window,
    box: Window | None,
    after: Callable[[Window], None],
) -> None:
    """Utilisation and stall shares; redraws itself, and calls `after`, when the figure is zoomed or panned."""
    visible = visible_window(figure, first_view, moved, was_reset)
    remember_visible(visible)
    remember_box(box)
    start_again()
    axis = box or visible
    st.markdown(f"**{shown.window_words(axis, runs, box is not None)}**")
    st.table(shown.utilization(runs, axis))
    subject, base = shown.compared(runs) if len(runs) > 1 else (runs[0], None)
    for column, run in zip(st.columns(len(runs)), runs, strict=True):
        with column:
            if base is not None:
                st.caption(f"{run.name}{_IN_BRACKETS if run is subject else ''}")
            st.table(run.warpgroups(axis, base if run is subject else None))
    if was_moved() and not shown.complete(runs, first_view, visible):
        draw_there(visible)  # after the tables: they need not wait for the figure
    st.caption(shown.note(runs))
    with st.container(horizontal=True):
        downloads("timeline_utilization", shown.utilization_rows(runs, axis), "Utilisation")
        downloads("timeline_stalls", shown.stall_rows(runs, axis), "Stalls")
    after(visible)
    url.publish(DEFAULTS, published())
