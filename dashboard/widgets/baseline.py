"""The pinned baseline: set, named on top of every page, unpinned; in the URL as the experiment it is."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from dashboard import baseline, examples, state
from dashboard.baseline import Baseline, Record
from dashboard.plain import brief, markdown
from dashboard.recipe import Recipe
from dashboard.sweep import summary
from dashboard.widgets import url
from presets.errors import PresetError
from simfa import coverage

_PINNED = "pinned_baseline"
_ABOUT = "The pinned run. Numbers and figures of every page show their difference to it; the link carries it."


def pinned() -> Baseline | None:
    """The baseline of this session; one that the URL names is made when the session opens."""
    query = str(st.session_state.get("baseline", url.opened_with("baseline")))
    st.session_state["baseline"] = query
    if not query:
        return None
    kept: Baseline | None = st.session_state.get(_PINNED)
    if kept is None or kept.recipe.query() != query:
        kept = _named(query)
        st.session_state["baseline"] = "" if kept is None else kept.recipe.query()
        st.session_state[_PINNED] = kept
    return kept


def _named(query: str) -> Baseline | None:
    """The run a URL names, with what is known of it; None after saying why there is none."""
    try:
        found = baseline.from_query(query)
    except PresetError as error:
        url.missed(f"baseline: {brief(error)}")
        return None
    return baseline.pin(found.recipe, [*found.records.values(), *_example(found)])


def _example(found: Baseline) -> list[Record]:
    """The stored worked example, where the baseline is that experiment."""
    key = coverage.answer_key(found.experiment, 0, baseline.TIMELINE_SM)
    answer: dict[str, Any] | None = examples.answer_for(key)
    return [answer["record"]] if answer is not None and "sim-fa" not in found.records else []


def record(estimator: str) -> Record | None:
    """The pinned record of an estimator, if there is one."""
    found = pinned()
    return None if found is None else found.records.get(estimator)


def pin_button(recipe: Recipe, records: Sequence[Record], label: str = "Set as baseline") -> None:
    """Pins what the page shows."""
    st.button(
        label,
        key="pin",
        on_click=_pin,
        args=(recipe, list(records)),
        help="Keeps these answers; every number then shows its difference to them.",
    )


def banner(sweeps: bool = True) -> None:
    """On top of every page: the pinned baseline, and, unless the page shows them itself, sweeps that run."""
    found = pinned()
    if found is not None:
        said, button = st.columns([12, 1], vertical_alignment="center")
        said.caption(f"**Baseline:** {markdown(found.words())}", help=_ABOUT)
        button.button("Unpin", key="unpin", on_click=_unpin, type="tertiary")
    if sweeps and state.sweeps().active():
        _sweeps()


@st.fragment(run_every=1.0)
def _sweeps() -> None:
    """How far sweeps are; the line stays when they have ended, until the page is drawn anew."""
    running = state.sweeps().active()
    others = f"; {len(running) - 1} more in line" if len(running) > 1 else ""
    said = f"{summary.running(running[0], 1)}{others}" if running else "ended; the Sweep page has its results"
    st.caption(f"**Sweep:** {said}")


def _pin(recipe: Recipe, records: list[Record]) -> None:
    found = baseline.pin(recipe, records)
    st.session_state[_PINNED] = found
    st.session_state["baseline"] = recipe.query()


def _unpin() -> None:
    st.session_state["baseline"] = ""
    st.session_state.pop(_PINNED, None)
