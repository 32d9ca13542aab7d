"""Regimes: DRAM and L2 traffic against length for every estimator, where the cache regime changes, and why."""

from typing import Any

import streamlit as st

from dashboard import charts, citation, compare, regimes, regimes_words, standing, state
from dashboard.baseline import Baseline
from dashboard.catalog import ESTIMATORS, record_of
from dashboard.figures import style
from dashboard.plain import brief
from dashboard.regimes import Regimes
from dashboard.report import regimes as report
from dashboard.widgets import baseline, url
from dashboard.widgets.downloads import downloads
from dashboard.widgets.experiment import DEFAULTS, current, heading, sidebar, start
from dashboard.widgets.number import number
from dashboard.widgets.regimes import applied, published, what_ifs
from dashboard.widgets.simulation import TIMELINE_SM
from dashboard.widgets.take_along import take_along
from dashboard.widgets.why import why
from presets.errors import NotModelled, PresetError
from presets.experiment import Experiment
from simfa import coverage

NAMES = {entry.name: (entry.title, entry.color) for entry in ESTIMATORS.values()}
MARKS = {entry.name: (entry.title, entry.color, entry.symbol) for entry in ESTIMATORS.values()}
_EXAMPLE = "?llm=bare&heads_q=8&heads_kv=8&gpu=gb10&kernel=cutile-fa-64x64"


def page() -> None:
    asked = sidebar()
    if asked is None:
        return
    head = st.container()
    try:
        settings, row = what_ifs(asked)
        experiment = applied(asked, settings)
    except PresetError as error:
        st.error(f"This what-if cannot be built: {brief(error)}")
        return
    with row:
        peer = _peer()
    shown, answers = regimes.curves(experiment, peer=peer), _answers(experiment)
    given = _simulated_here(experiment)
    with row:
        baseline.pin_button(current().changed(settings), [*answers, given] if given else answers)
    pinned = baseline.pinned()
    base = regimes.curves(pinned.experiment, peer=peer) if pinned else None
    with head:
        _heading(shown, settings)
    measured, simulated = regimes.measured_points(experiment), _simulated(experiment)
    _traffic(shown, base, measured, simulated)
    said = regimes_words.transition(shown) + (regimes_words.against(shown, base) if base else [])
    st.markdown("\n".join(f"- {sentence}" for sentence in said))
    _numbers(experiment, answers, pinned)
    known = [*answers, given] if given else answers
    _roofline(experiment, known, pinned)
    _downloads(shown, base, measured, simulated)
    take_along(
        "regimes",
        _name(shown),
        citation.subject(experiment),
        lambda link: report.make(shown, known, measured, simulated, pinned, link, base),
        published(),
    )


def _heading(shown: Regimes, settings: dict[str, str]) -> None:
    heading(shown.experiment)
    if settings:
        st.caption("What if: " + ", ".join(f"**{key}** = {value}" for key, value in settings.items()))
    reasons = regimes_words.impossible(shown.experiment)
    if reasons:
        st.error(f"Impossible tile: {'; '.join(reasons)}. The equations below still answer for it.")
    for warning in regimes_words.warnings(shown):
        st.warning(warning)


def _peer() -> bool:
    return st.toggle(
        "LLM-Viewer", start("peer"), key="peer", help=ESTIMATORS["llm-viewer"].about, persist_state="session"
    )


def _simulated(experiment: Experiment) -> list[dict[str, Any]]:
    """What the simulator has answered already for this experiment at other lengths; nothing is started here."""
    found: list[dict[str, Any]] = []
    for length in sorted({*regimes.SIMULATED_LENGTHS, experiment.workload.seq_kv}):
        at = regimes.at_length(experiment, length)
        try:
            coverage.check(at)
        except NotModelled:
            return []
        given = _answered(at) or _answered(at.model_copy(update={"sample": True}))
        if given is not None:
            found += regimes.simulated_points(length, given["record"])
    return found


def _answered(experiment: Experiment) -> dict[str, Any] | None:
    key = coverage.answer_key(experiment, 0, TIMELINE_SM)
    return state.answer(key, state.board().get(key))


def _traffic(
    shown: Regimes, base: Regimes | None, measured: list[dict[str, Any]], simulated: list[dict[str, Any]]
) -> None:
    ink = "#FFFFFF" if st.context.theme.type == "dark" else "#000000"
    chart = charts.traffic_by_length(shown, measured, simulated, base, ink)
    st.plotly_chart(chart, key="regimes", config=style.TOOLBAR)
    st.caption(_caption(shown, measured, simulated))
    if simulated and standing.mark(shown.experiment):
        st.caption(standing.reason(shown.experiment))


def _caption(shown: Regimes, measured: list[dict[str, Any]], simulated: list[dict[str, Any]]) -> str:
    size = regimes_words.mib(shown.experiment.gpu.l2.effective_bytes)
    text = f"Effective L2 {size}. Shaded: K/V of one head does not fit (Eq. 4). GB = 10^9 bytes, MiB = 2^20 bytes. "
    names = [column.split(".", 1)[1] for column in shown.points.columns if column.startswith("dram.")]
    text += regimes_words.l2_counts(names) + " "
    text += regimes_words.points_said(measured, simulated)
    return text if measured else f"{text} [A shape that has measurements]({_EXAMPLE})."


def _answers(experiment: Experiment) -> list[compare.Record]:
    names = [entry.name for entry in ESTIMATORS.values() if not entry.simulated]
    if not st.session_state.get("peer"):
        names.remove("llm-viewer")
    return [record_of(name, experiment) for name in names]


def _numbers(experiment: Experiment, answers: list[compare.Record], pinned: Baseline | None) -> None:
    for column, record in zip(st.columns(len(answers)), answers, strict=True):
        estimator = ESTIMATORS[record["estimator"]]
        base = pinned.records.get(estimator.name) if pinned else None
        with column, st.container(border=True, height="stretch", vertical_alignment="distribute"):
            number(
                f":{estimator.accent}[**{estimator.title}**]",
                f"DRAM {regimes_words.gb(record['dram_bytes'])}",
                regimes_words.changed(record, base) or regimes_words.beside(record),
                estimator.about,
            )
            with st.container(horizontal=True, vertical_alignment="center"):
                regime = f"{regimes_words.beside(record)}. " if base is not None else ""
                st.caption(regime + regimes_words.l2_said(record, base))
                why(experiment, estimator.name, "regimes")


def _roofline(experiment: Experiment, answers: list[compare.Record], pinned: Baseline | None) -> None:
    light = (
        [pinned.records[one["estimator"]] for one in answers if one["estimator"] in pinned.records]
        if pinned
        else []
    )
    chart = charts.speed_of_light(experiment, answers, light)
    st.plotly_chart(chart, key="roofline", config=style.TOOLBAR)
    st.caption(
        "Filled: FLOP per byte at L2; hollow: per byte of DRAM. Each stands under the ceiling of its own level. "
        "MUFU: one exponential for every 4 D FLOP."
    )


def _simulated_here(experiment: Experiment) -> dict[str, Any] | None:
    try:
        coverage.check(experiment)
    except NotModelled:
        return None
    key = coverage.answer_key(experiment, 0, TIMELINE_SM)
    given = state.answer(key, state.board().get(key))
    return given["record"] if given else None


def _downloads(
    shown: Regimes, base: Regimes | None, measured: list[dict[str, Any]], simulated: list[dict[str, Any]]
) -> None:
    """The rows are written out when the box is opened, not at every moved slider."""
    box = st.popover("Download the data", on_change="rerun", key="regimes-download")
    if not box.open:
        return
    with box:
        downloads(_name(shown), regimes.rows(shown, measured, simulated, base))


def _name(shown: Regimes) -> str:
    return f"regimes_{shown.experiment.llm.name or 'bare'}_{shown.experiment.gpu.name}"


page()
url.publish(DEFAULTS, published())
