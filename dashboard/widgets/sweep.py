"""The Sweep page's controls, and the state of a sweep that needs simulating."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from dashboard import answers, settings, state
from dashboard.catalog import ESTIMATORS
from dashboard.compare import digits
from dashboard.limits import Refused
from dashboard.plain import brief
from dashboard.recipe import Recipe, variables
from dashboard.sweep import evaluate, plan, summary
from dashboard.sweep.analysis import METRICS, Metric
from dashboard.sweep.evaluate import Row
from dashboard.sweep.plan import Plan
from dashboard.sweep.run import QUEUED, Sweep
from dashboard.widgets import url
from dashboard.widgets.experiment import start
from dashboard.widgets.simulation import STATUS_HEIGHT_PX
from presets.errors import PresetError

VARIED_PX = 108  # label and three lines: as many parameters as a sweep may vary
_MODES = {plan.GRID: "Grid", plan.LIST: "List", plan.SENSITIVITY: "Sensitivities"}
_MODES_HELP = (
    "Grid: every combination. List: first values together, then second ones. Sensitivities: one preset value at a "
    "time, lower and higher."
)


@dataclass(frozen=True)
class Asked:
    """What the controls describe."""

    plan: Plan
    estimator: str
    metric: Metric


def controls(recipe: Recipe) -> Asked | None:
    """The sweep that the controls describe; None after saying what is wrong with it."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        mode = _choice("Points", "by", _MODES, 170, _MODES_HELP)
        estimator = _choice(
            "Estimator",
            "estimator",
            {name: entry.title for name, entry in ESTIMATORS.items()},
            250,
            "Closed forms answer at once; the cycle simulation runs in the background and outlives a reload.",
        )
        labels = {key: entry.label for key, entry in METRICS.items()}
        metric = _choice("Quantity", "metric", labels, 250, "What the figures show; the table has more.")
    try:
        made = _sensitivity(recipe, estimator) if mode == plan.SENSITIVITY else plan.make(recipe, mode, _varied())
    except PresetError as error:
        st.error(f"This sweep cannot be run: {brief(error)}")
        return None
    return Asked(made, estimator, METRICS[metric])


def _choice(label: str, key: str, titles: dict[str, str], width: int, help_text: str | None = None) -> str:
    names = list(titles)
    first = names.index(start(key)) if start(key) in names else 0
    shown = st.selectbox(
        label,
        names,
        first,
        key=key,
        format_func=lambda name: titles[name],
        help=help_text,
        persist_state="session",
        width=width,
    )
    return str(shown)


def _varied() -> str:
    left, right = st.columns([3, 2])
    with right:
        st.selectbox(
            "Add a parameter",
            variables(),
            index=None,
            key="vary_pick",
            placeholder="Search: seq, gpu, l2, tile ...",
            on_change=_add,
        )
        st.caption("Values as 512,1024 or 1024..131072*2 or 32..128+32, with units; up to three parameters.")
    with left:
        text = st.text_area(
            "Varied, one parameter a line", start("vary"), key="vary", height=VARIED_PX, persist_state="session"
        )
    return text or ""


def _add() -> None:
    key = st.session_state["vary_pick"]
    st.session_state["vary_pick"] = None
    if key is not None:
        lines = [line for line in str(st.session_state.get("vary") or "").splitlines() if line.strip()]
        st.session_state["vary"] = "\n".join([*lines, f"{key}={summary.suggestion(key)}"])


def _sensitivity(recipe: Recipe, estimator: str) -> Plan:
    keys = list(plan.numeric_values(recipe.experiment()))
    simulated = ESTIMATORS[estimator].simulated
    usual = summary.usual_keys(keys, simulated)
    left, right = st.columns([4, 1])
    with left:
        chosen = st.multiselect(
            "Preset values",
            keys,
            url.several("keys", keys, usual),
            key=f"keys-{simulated}",
            persist_state="session",
        )
    url.keep_several("keys", chosen, usual)
    changes = list(plan.CHANGES_PCT)
    first = changes.index(start("change")) if start("change") in changes else changes.index(10)
    with right:
        change = st.selectbox(
            "Change", changes, first, key="change", format_func=lambda pct: f"± {pct} %", persist_state="session"
        )
    return plan.sensitivity(recipe, chosen, int(change))


def fixed_value(key: str, options: Sequence[Any]) -> Any:
    """The value of the third parameter that the heat map is drawn for."""
    first = next((n for n, option in enumerate(options) if str(option) == start("heat_fixed")), 0)
    return st.selectbox(key, options, first, key="heat_fixed", persist_state="session")


def chosen_views(asked: Asked) -> tuple[tuple[str, str], dict[str, Any]]:
    """For the report: the sides of the Pareto view, and the value that the heat map is drawn for."""
    pareto = tuple(str(st.session_state.get(key) or start(key)) for key in ("pareto_x", "pareto_y"))
    third = [axis.key for axis in asked.plan.axes[2:]]
    fixed = {key: st.session_state["heat_fixed"] for key in third if st.session_state.get("heat_fixed") is not None}
    return pareto, fixed  # type: ignore[return-value]


def rows(asked: Asked) -> list[Row]:
    """The rows there are: all of them for an instant estimator, those known so far for the simulator."""
    if not ESTIMATORS[asked.estimator].simulated:
        return evaluate.instant(asked.plan, asked.estimator)
    sweep = state.sweeps().recall(asked.plan, asked.estimator)
    if sweep is not None and sweep.message:
        st.error(sweep.message)
    with st.container(height=STATUS_HEIGHT_PX, border=False, vertical_alignment="center"):
        if sweep is None:
            sweep = Sweep("", asked.plan, asked.estimator)
            _start(asked, sweep)
        elif sweep.active:
            _watch(sweep.key)
        else:
            _ended(asked, sweep)
    return list(sweep.rows)


def _start(asked: Asked, sweep: Sweep, label: str = "Run the sweep", said: str = "") -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        if st.button(label, key="sweep_start", type="primary"):
            try:
                state.sweeps().submit(asked.plan, asked.estimator)
            except Refused as reason:
                st.error(str(reason))
            else:
                st.rerun()
        where = settings.dask_scheduler()
        ahead = len(state.sweeps().active())
        words = (said, summary.forecast(sweep), f"On Dask at {where}." if where else "", summary.ahead(ahead))
        st.caption(" ".join(filter(None, words)))


def _ended(asked: Asked, sweep: Sweep) -> None:
    if summary.unfinished(sweep):
        _start(asked, sweep, "Run what is left", summary.ended(sweep))
    else:
        st.caption(summary.ended(sweep))


@st.fragment(run_every=0.5)
def _watch(key: str) -> None:
    """Progress; redraws itself twice a second, and the page whenever a row came in."""
    sweep = state.sweeps().get(key)
    if sweep is None or not sweep.active or len(sweep.open()) != st.session_state.get(f"open-{key}"):
        if sweep is not None:
            first = f"open-{key}" not in st.session_state
            st.session_state[f"open-{key}"] = len(sweep.open())
        if sweep is None or not sweep.active or not first:
            st.rerun()
    with st.container(horizontal=True, vertical_alignment="center"):
        place = state.sweeps().position(key) if sweep.state == QUEUED else 0
        st.progress(sweep.progress(), text=summary.running(sweep, place))
        # A callback: it runs before the page is drawn anew for rows that came in, where a click would be lost.
        st.button("Cancel", key="sweep_cancel", on_click=state.sweeps().cancel, args=(key,))


def kept_results() -> None:
    """How much of the disk kept results take, and a button that clears them."""
    try:
        usage = answers.usage()
    except PresetError as error:
        st.error(str(error))
        return
    with st.expander("Kept simulation results"):
        st.markdown(
            f"{usage.results:,} results take {digits(usage.used_bytes / 1e6)} MB of the "
            f"{usage.allowed_bytes / 1e6:,.0f} MB allowed (SIMFA_CACHE_BYTES), in `{usage.folder}` "
            "(SIMFA_CACHE_DIR). They are shared by all sessions; those unused longest go first."
        )
        if st.button("Clear them", key="clear_kept"):
            answers.clear()
            st.rerun()
