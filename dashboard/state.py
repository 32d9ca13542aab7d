"""What Streamlit keeps for us: the job board of the whole server, and each session's own memory."""

import uuid
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import streamlit as st

from dashboard import examples
from dashboard.jobs import DONE, Job, JobBoard
from dashboard.sweep.board import SweepBoard
from presets.experiment import Experiment

T = TypeVar("T")


@st.cache_resource(show_spinner=False)
def board() -> JobBoard:
    """The one queue of simulations of this server."""
    return JobBoard()


@st.cache_resource(show_spinner=False)
def sweeps() -> SweepBoard:
    """The sweeps of this server."""
    return SweepBoard()


def session_id() -> str:
    """A name for this browser session; only the queue sees it."""
    if "session_id" not in st.session_state:
        st.session_state["session_id"] = uuid.uuid4().hex
    return str(st.session_state["session_id"])


def answer(key: str, job: Job | None) -> dict[str, Any] | None:
    """The simulator's answer for a key: a finished job's, or the stored worked example."""
    if job is not None and job.state == DONE:
        return job.answer
    return examples.answer_for(key)


def once(place: str, what: Hashable, make: Callable[[], T]) -> T:
    """What a place of this session shows, made anew only when `what` it shows has changed."""
    kept = st.session_state.get(f"made {place}")
    if kept is None or kept[0] != what:
        kept = what, make()
        st.session_state[f"made {place}"] = kept
    return kept[1]


def remember(experiment: Experiment, given: dict[str, Any], place: str = "") -> None:
    """Keep the last simulated answer of a place, to show it (marked stale) while the next one runs."""
    st.session_state[f"last_answer{place}"] = (experiment, given)


def last_answer(place: str = "") -> tuple[Experiment, dict[str, Any]] | None:
    """The last simulated experiment of a place in this session and its answer."""
    kept: tuple[Experiment, dict[str, Any]] | None = st.session_state.get(f"last_answer{place}")
    return kept
