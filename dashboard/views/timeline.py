"""Timeline: why the cycles. One SM's pipeline and queues over time, alone or beside a second run."""

import streamlit as st

from dashboard import align, examples, shown, state
from dashboard.catalog import ESTIMATORS
from dashboard.figures import style
from dashboard.figures import timeline as timeline_figure
from dashboard.plain import markdown
from dashboard.shown import Shown
from dashboard.widgets import url
from dashboard.widgets.experiment import DEFAULTS, sidebar
from dashboard.widgets.simulation import simulation
from dashboard.widgets.timeline_controls import Choice, choice, view
from dashboard.widgets.timeline_window import selected, window_section
from presets.errors import PresetError
from presets.experiment import Experiment

FIGURE = "timeline"
FIRST, SECOND = "-timeline", "-timeline-second"


def page() -> None:
    experiment = sidebar(list(ESTIMATORS))
    if experiment is None:
        return
    st.markdown(f"#### {experiment.words()}")
    chosen = choice(experiment)
    runs = [run for run in (_first(experiment, chosen.sm), _second(chosen)) if run is not None]
    if not runs or runs[0].spans.empty:
        st.info(f"SM {chosen.sm} ran no CTA: the grid is smaller than the GPU." if runs else "Nothing to show yet.")
        return
    try:
        runs = [run.aligned(chosen.place, chosen.nth_cta, chosen.nth_tile) for run in runs if not run.spans.empty]
    except PresetError as error:
        st.error(f"Nothing to align: {error}.")
        return
    _figure(chosen, runs)


def _first(experiment: Experiment, sm: int) -> Shown | None:
    """The experiment's own run, or the last one, or the worked example; a stale one says which it is."""
    given, why_not = simulation(experiment, sm, FIRST)
    if given is not None:
        return Shown(experiment, given, "This experiment")
    kept, example = state.last_answer(FIRST), examples.current()
    if kept is None and example is None:
        return None
    old, answer = kept or example  # type: ignore[misc]
    what = "Stale" if kept else "Worked example meanwhile"
    st.caption(f"{what}: this is {old.words()}, SM {answer['sm']}. {markdown(why_not)}")
    return Shown(
        old, answer, f"SM {answer['sm']} of an earlier run (stale)" if kept else "Worked example", stale=True
    )


def _second(chosen: Choice) -> Shown | None:
    """The run to lay beside the first; its last answer, as stale, while the next one is missing."""
    if chosen.second is None:
        return None
    given, _ = simulation(chosen.second, chosen.sm, SECOND)
    if given is not None:
        return Shown(chosen.second, given, chosen.second_name)
    kept = state.last_answer(SECOND)
    return Shown(*kept, "An earlier second run (stale)", stale=True) if kept else None


def _figure(chosen: Choice, runs: list[Shown]) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        place, asked = view()
        _downloads(runs)
        st.caption("Drag to zoom, double-click to reset; the box tool selects a window.")
    first_view = shown.view(runs, place)
    aligned_at = align.words(chosen.place, chosen.nth_cta, chosen.nth_tile)
    revision = f"{runs[0].experiment.words()}|{asked}|{aligned_at}"
    chart = timeline_figure.figure([run.run() for run in runs], first_view, shown.title(runs), aligned_at, revision)
    event = st.plotly_chart(chart, key=FIGURE, config=style.TIME_TOOLBAR, on_select="rerun", selection_mode="box")
    for run in runs:
        if run.answer["left_out"]:
            st.caption(f"{run.name}: {run.answer['left_out']:,} later spans are not shown.")
    window_section(runs, FIGURE, first_view, selected(event))


def _downloads(runs: list[Shown]) -> None:
    with st.popover("Download"):
        for number, run in enumerate(runs):
            if len(runs) > 1:
                st.caption(run.name)
            for label, name, kind, content in shown.downloads(run):
                st.download_button(label, content, name, kind, key=f"{number} {label}", on_click="ignore")


page()
url.publish(DEFAULTS)
