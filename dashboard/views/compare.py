"""Compare: what the estimators say about one experiment, side by side, and why they differ."""

from typing import Any

import streamlit as st

from dashboard import charts, citation, compare, standing, state
from dashboard.baseline import NAME as BASELINE
from dashboard.baseline import against
from dashboard.catalog import ESTIMATORS, record_of
from dashboard.charts import NAMES
from dashboard.figures import gantt, style
from dashboard.report import compare as report
from dashboard.widgets import baseline, url
from dashboard.widgets.downloads import downloads
from dashboard.widgets.experiment import DEFAULTS, VIEWS, current, heading, sidebar, start
from dashboard.widgets.number import number
from dashboard.widgets.simulation import TIMELINE_SM, simulation
from dashboard.widgets.take_along import take_along
from dashboard.widgets.why import why, why_simulated
from presets.experiment import Experiment
from simfa import coverage


def page() -> None:
    experiment = sidebar()
    if experiment is None:
        return
    heading(experiment)
    mark = standing.mark(experiment)
    st.caption(f"One layer's attention forward pass. Cycle simulation{mark}: {coverage.standing(experiment)}.")
    for caution in experiment.cautions():
        st.warning(f"Outside the validated range: {caution}")
    given, why_not = simulation(experiment, may_sample=True)
    cards, controls = st.container(), st.container(horizontal=True, vertical_alignment="bottom")
    with controls:
        first = st.container(width=240)  # filled below: what it offers depends on the switch after it
        peer, launch = _switch("peer", "llm-viewer"), _switch("launch", "simfa-launch-order")
        answers = _answers(experiment, given, why_not, peer, launch)
        with first:
            reference = _reference(answers)
        pinned = baseline.pinned()
        bases = against(answers, reference, pinned)
        baseline.pin_button(current(), answers)
    with cards:
        _cards(experiment, answers, bases, reference, why_not)
    titles = {name: title for name, (title, _) in standing.marked(NAMES, experiment).items()}
    st.table(compare.table(answers, reference, bases, titles))
    with st.container(horizontal=True):
        _downloads(experiment, answers)
    for sentence in compare.reasons(answers):
        st.markdown(f"- {sentence}")
    _charts(experiment, answers, bases if reference == BASELINE else None)
    _pipeline(experiment, given, why_not)
    take_along(
        "",
        _name(experiment),
        citation.subject(experiment),
        lambda link: report.make(experiment, answers, reference, pinned, given, link),
    )


def _switch(key: str, name: str) -> bool:
    return st.toggle(
        ESTIMATORS[name].short, start(key), key=key, help=ESTIMATORS[name].about, persist_state="session"
    )


def _answers(
    experiment: Experiment, given: dict[str, Any] | None, why_not: str, peer: bool, launch: bool
) -> list[compare.Record]:
    asked = {"llm-viewer": peer, "simfa-launch-order": launch}
    shown = [name for name in ESTIMATORS if asked.get(name, True)]
    simulated = given["record"] if given else compare.unanswered(experiment, "sim-fa", why_not)
    return [simulated if ESTIMATORS[name].simulated else record_of(name, experiment) for name in shown]


def _reference(answers: list[compare.Record]) -> str:
    shown = [record["estimator"] for record in answers]
    pinned = baseline.pinned() is not None
    shown = [BASELINE, *shown] if pinned else shown
    key = "reference_pinned" if pinned else "reference"
    index = shown.index(start(key)) if start(key) in shown else 0
    chosen = st.selectbox(
        "Differences to",
        shown,
        index,
        key=key,
        format_func=lambda name: "Baseline" if name == BASELINE else NAMES[name][0],
        persist_state="session",
    )
    return str(chosen)


def _downloads(experiment: Experiment, answers: list[compare.Record]) -> None:
    downloads(_name(experiment), compare.with_what_if(experiment, answers))


def _name(experiment: Experiment) -> str:
    more = ("_causal" if experiment.workload.causal else "") + (
        "_what-if" if citation.overrides(experiment) else ""
    )
    return f"compare_{experiment.llm.name or 'bare'}_{experiment.gpu.name}_{experiment.workload.seq_q}{more}"


def _cards(
    experiment: Experiment,
    answers: list[compare.Record],
    bases: dict[str, compare.Record | None],
    reference: str,
    why_not: str,
) -> None:
    title = "the baseline" if reference == BASELINE else ESTIMATORS[reference].title
    for column, record in zip(st.columns(len(answers)), answers, strict=True):
        estimator = ESTIMATORS[record["estimator"]]
        latency, base = record["latency_us"], bases[record["estimator"]]
        simulated = estimator.simulated and latency is not None
        change = compare.difference(latency, base["latency_us"]) if base is not None else ""
        card = column.container(border=True, height="stretch", vertical_alignment="distribute")
        with card:
            number(
                f":{estimator.accent}[**{estimator.title}**]" + (standing.mark(experiment) if simulated else ""),
                compare.ABSENT if latency is None else f"{compare.digits(latency)} µs{compare.within(record)}",
                f"{change} to {title}" if change else (why_not if latency is None else ""),
                " ".join([estimator.about, standing.reason(experiment) if simulated else ""]).strip(),
            )
            why(experiment, estimator.name, "compare", first="latency_us")
            if simulated:
                why_simulated(experiment, record, "compare")


def _charts(
    experiment: Experiment, answers: list[compare.Record], bases: dict[str, compare.Record | None] | None
) -> None:
    st.plotly_chart(charts.compared(experiment, answers, bases), key="bars", config=style.TOOLBAR)
    pinned = baseline.pinned() if bases is not None else None
    chart = charts.dram_by_length(experiment, answers, pinned.experiment if pinned is not None else None)
    st.plotly_chart(chart, key="traffic", config=style.TOOLBAR)
    st.caption(charts.effective_l2(experiment))


def _pipeline(experiment: Experiment, given: dict[str, Any] | None, why_not: str) -> None:
    st.subheader(f"Pipeline of SM {TIMELINE_SM}", divider="gray")
    stale = given is None
    kept = state.last_answer()
    if stale and (kept is None or why_not.startswith("not modelled")):
        st.info(why_not)
        return
    shown, answer = (experiment, given) if given is not None else kept  # type: ignore[misc]
    if stale:
        st.caption(f"Stale: this is {shown.words()}. {why_not}")
    spans = answer["timeline"]
    if "sample" in answer["record"]:
        st.info("A sample shows no pipeline: its runs are shorter than the launch. Simulate all of it to see one.")
        return
    if spans.empty:
        st.info(f"SM {TIMELINE_SM} ran no CTA: the grid is smaller than the GPU.")
        return
    view = st.segmented_control(
        "View",
        list(VIEWS),
        default=start("view"),
        key="view",
        label_visibility="collapsed",
        persist_state="session",
    )
    ctas = spans["cta"].nunique()
    title = f"SM {TIMELINE_SM} ran {ctas} CTAs{standing.mark(shown)}; drag to zoom, double-click to reset"
    window = gantt.window(spans, VIEWS.get(view or "Start", 0.0))
    chart = state.once(
        "gantt",
        (shown.model_dump_json(), window, title, stale),
        lambda: gantt.figure(spans, shown.gpu.sm.clock_hz, window, title, stale),
    )
    st.plotly_chart(chart, key="gantt", config=style.TOOLBAR)


page()
url.publish(DEFAULTS)
