"""Timeline: why the cycles. One SM's pipeline and queues over time, alone or beside a second run."""

import plotly.graph_objects as go
import streamlit as st

from dashboard import align, examples, shown, standing, state
from dashboard.baseline import closed
from dashboard.figures import style
from dashboard.figures import timeline as timeline_figure
from dashboard.plain import markdown
from dashboard.report import timeline as report
from dashboard.shown import Shown
from dashboard.widgets import baseline, browser_download, url
from dashboard.widgets.experiment import DEFAULTS, current, heading, sidebar
from dashboard.widgets.simulation import simulation
from dashboard.widgets.take_along import take_along
from dashboard.widgets.timeline_controls import (
    Choice,
    choice,
    kept_view,
    linked_box,
    pager,
    published,
    selecting,
    view,
)
from dashboard.widgets.timeline_window import selected, window_section
from dashboard.window import Window
from presets.errors import PresetError
from presets.experiment import Experiment

FIGURE = "timeline"
_HINT = "Drag to zoom, double-click to reset, arrow keys to pan; the box tool selects a window for the tables."
FIRST, SECOND = "-timeline", "-timeline-second"


def page() -> None:
    experiment = sidebar()
    if experiment is None:
        return
    heading(experiment)
    with st.container():
        chosen, row = choice(experiment)
    left, right = st.columns(2) if chosen.second else (st.container(), st.container())
    with left:
        first, remark = _first(experiment, chosen.sm)
    with right:
        second = _second(chosen)
    with row:
        _pin(experiment, first)
    if first is None or first.spans.empty:
        st.info(remark if first is None else f"SM {chosen.sm} ran no CTA: the grid is smaller than the GPU.")
        return
    runs = [first] if second is None or second.spans.empty else [first, second]
    try:
        runs = [run.aligned(chosen.place, chosen.nth_cta, chosen.nth_tile) for run in runs]
    except PresetError as error:
        st.error(f"Nothing to align: {error}.")
        return
    _figure(chosen, runs, remark)


def _first(experiment: Experiment, sm: int) -> tuple[Shown | None, str]:
    """The experiment's own run, or the last one, or the worked example; and what has to be said of it."""
    given, why_not = simulation(experiment, sm, FIRST)
    if given is not None:
        return Shown(experiment, given, "This experiment"), _HINT
    kept, example = state.last_answer(FIRST), examples.current()
    if kept is None and example is None:
        return None, why_not
    old, answer = kept or example  # type: ignore[misc]
    which = f"{markdown(old.words())}, SM {answer['sm']}."
    if kept:
        return Shown(old, answer, "An earlier run (stale)", stale=True), f"Stale: this is {which}"
    return Shown(old, answer, "Worked example", stale=True), f"Worked example meanwhile: {which}"


def _second(chosen: Choice) -> Shown | None:
    """The run to lay beside the first; its last answer, as stale, while the next one is missing."""
    if chosen.second is None:
        return None
    given, _ = simulation(chosen.second, min(chosen.sm, chosen.second.gpu.sm.count - 1), SECOND)
    if given is not None:
        return Shown(chosen.second, given, chosen.second_name, pinned=chosen.to_baseline)
    kept = state.last_answer(SECOND)
    return Shown(*kept, "An earlier second run (stale)", stale=True) if kept else None


def _pin(experiment: Experiment, first: Shown | None) -> None:
    """Pins this experiment with its closed forms and, if it is there, its simulation."""
    answers = closed(experiment)
    simulated = first.answer["record"] if first is not None and not first.stale else None
    baseline.pin_button(current(), [*answers, simulated] if simulated else answers)


def _figure(chosen: Choice, runs: list[Shown], remark: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        place, asked = view()
        pager()
        _downloads(runs)
    st.caption(remark)  # always one line in one place: else the figure below would be taken out and put in again
    aligned_at = align.words(chosen.place, chosen.nth_cta, chosen.nth_tile)
    revision = f"{runs[0].experiment.words()}|{asked}|{aligned_at}"
    stale = runs[0].stale
    whole = shown.view(runs, None)
    drawn = kept_view(revision, [run.drawn() for run in runs], shown.view(runs, place), whole, stale)
    mark = linked_box()
    title = shown.title(runs)
    chart = state.once(
        "timeline",
        (*(run.drawn() for run in runs), *(run.name for run in runs), drawn, title, aligned_at, revision, mark),
        lambda: _drawing(runs, drawn, title, aligned_at, revision, mark),
    )
    with st.container(height=chart.layout.height, border=False, gap=None):  # stays while a new figure is put in
        event = st.plotly_chart(
            chart, key=FIGURE, config=style.TIME_TOOLBAR, on_select=selecting, selection_mode="box"
        )
    for reason in dict.fromkeys(standing.reason(run.experiment) for run in runs):
        if reason:
            st.caption(reason)
    for run in runs:
        if run.answer["left_out"]:
            st.caption(f"{run.name}: {run.answer['left_out']:,} later spans are not shown.")
    box = selected(event) or linked_box()
    window_section(runs, FIGURE, drawn, box, lambda visible: _take_along(runs, visible, box, aligned_at))


def _drawing(
    runs: list[Shown], drawn: Window, title: str, aligned_at: str, revision: str, mark: Window | None
) -> go.Figure:
    chart = timeline_figure.figure([run.run() for run in runs], drawn, title, aligned_at, revision)
    if mark is not None:
        timeline_figure.mark(chart, mark)
    return chart


def _downloads(runs: list[Shown]) -> None:
    with st.popover("Download"):
        for number, run in enumerate(runs):
            if len(runs) > 1:
                st.caption(run.name)
            for table, files in shown.downloads(run).items():
                st.caption(table)
                with st.container(horizontal=True):
                    for label, name, kind, content in files:
                        browser_download.download(label, content, name, kind, key=f"{number} {label}")


def _take_along(runs: list[Shown], visible: Window, box: Window | None, aligned_at: str) -> None:
    first, pinned = runs[0], baseline.pinned()
    work, sm = first.experiment.workload, first.answer["sm"]
    take_along(
        "timeline",
        f"timeline_{first.experiment.llm.name or 'bare'}_{first.experiment.gpu.name}_{work.seq_q}_sm{sm}",
        report.subject(runs),
        lambda link: report.make(runs, visible, box, aligned_at, pinned, link),
        published(),
    )


page()
url.publish(DEFAULTS, published())
