"""The simulator's part of a page: start, progress, cancel, failure, each looking like what it is."""

from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dashboard import limits, state
from dashboard.jobs import CANCELLED, FAILED, QUEUED, Job
from dashboard.limits import Refused
from presets.errors import NotModelled
from presets.experiment import Experiment
from simfa import coverage

TIMELINE_SM = 0
AUTOMATIC_LINES = 200_000_000  # some 20 s of simulating; longer runs wait for a click
LINES_PER_S = 10_000_000  # a cautious pace of one core, for the forecast only


STATUS_HEIGHT_PX = 50  # one height for every state, so that nothing jumps when a result arrives


def simulation(
    experiment: Experiment, sm: int = TIMELINE_SM, place: str = "", may_sample: bool = False
) -> tuple[dict[str, Any] | None, str]:
    """The simulator's answer if there is one, and otherwise one line that says why not yet.

    `sm` is observed. A page with several runs names the `place` of each: what one waits for does not replace what
    another waits for, and each keeps its own last answer. With `may_sample` a launch that is too long for every day
    is answered by a sample, whose record holds its error, until the whole of it has been asked for.
    """
    status, below = st.container(height=STATUS_HEIGHT_PX, border=False, vertical_alignment="center"), st.container()
    with status:
        return _simulation(experiment, sm, place, may_sample, below)


def _simulation(
    experiment: Experiment, sm: int, place: str, may_sample: bool, below: DeltaGenerator
) -> tuple[dict[str, Any] | None, str]:
    """`below` is where a failure finds room for what happened."""
    try:
        coverage.check(experiment)
    except NotModelled as reason:
        st.caption(f"No cycle simulation: {reason}")
        return None, str(reason)
    key = coverage.answer_key(experiment, 0, sm)
    board = state.board()
    job = board.recall(key, experiment, sm)
    given = state.answer(key, job)
    if given is not None:
        state.remember(experiment, given, place)
        st.caption(_simulated(given["record"], job))
        return given, ""
    if job is None and may_sample and is_long(experiment) and _can_be_sampled(experiment):
        return _sample(experiment, sm, place, key, below)
    refusal = limits.refusal(experiment)
    if refusal and (job is None or not job.active):
        st.caption(f"No cycle simulation: {refusal}.")
        return None, refusal
    if job is None and not is_long(experiment):
        job = _submitted(experiment, sm, place, key)
        if job is None:
            return None, "Not simulated yet: this server is busy."
    return None, _control(experiment, sm, place, key, job, below)


def _submitted(experiment: Experiment, sm: int, place: str, key: str) -> Job | None:
    """The job, asked for; None after saying why this server does not take it now."""
    try:
        return state.board().submit(key, experiment, sm, state.session_id(), place)
    except Refused as reason:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.button("Try again", key=f"retry-{key}")
            st.caption(f"Not simulated yet. {reason}")
        return None


def is_long(experiment: Experiment) -> bool:
    """Whether a simulation of all of it takes longer than is started unasked."""
    return coverage.line_requests(experiment) > AUTOMATIC_LINES


def _can_be_sampled(experiment: Experiment) -> bool:
    try:
        coverage.check_sample(experiment)
    except NotModelled:
        return False
    return True


def _sample(
    experiment: Experiment, sm: int, place: str, whole_key: str, below: DeltaGenerator
) -> tuple[dict[str, Any] | None, str]:
    """The answer by a sample, started unasked; beside it, the whole simulation on a click."""
    asked = experiment.model_copy(update={"sample": True})
    key = coverage.answer_key(asked, 0, sm)
    board = state.board()
    job = board.recall(key, asked, sm) or _submitted(asked, sm, place, key)
    if job is None:
        return None, "Not simulated yet: this server is busy."
    if job.answer is None:
        return None, _control(asked, sm, place, key, job, below)
    record = job.answer["record"]
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(
            f"Extrapolated from a sample of {record['sampled_fraction']:.2%} of the launch in "
            f"{record['wall_s']:.1f} s: time ± {record['latency_error_pct']:.1f} %, DRAM traffic "
            f"± {record['dram_error_pct']:.1f} %, estimated from how far its runs agree."
        )
        _start_button(experiment, sm, place, whole_key, "Simulate all of it", "about ")
    return job.answer, ""


def _simulated(record: dict[str, Any], job: Job | None) -> str:
    lines, seconds = record["line_requests"] / 1e6, record["wall_s"]
    how = "Worked example, stored with this version of the simulator" if job is None else "Simulated"
    kept = ". Kept on disk from an earlier run" if job is not None and job.kept else ""
    remark = f" {job.remark}" if job is not None and job.remark else ""
    return (
        f"{how}: {record['cycles']:,} cycles, {lines:,.1f} million line requests in {seconds:.2f} s "
        f"({lines / seconds:,.0f} million/s on one core){kept}.{remark}"
    )


def _control(experiment: Experiment, sm: int, place: str, key: str, job: Job | None, below: DeltaGenerator) -> str:
    if job is not None and job.active:
        _watch(key)
        return "The simulation is running."
    if job is not None and job.state == FAILED:
        below.error(job.message)
        _start_button(experiment, sm, place, key, "Run again")
        return "The simulation failed."
    if job is not None and job.state == CANCELLED:
        _start_button(experiment, sm, place, key, "Run the simulation", said=job.message)
        return "The simulation was cancelled."
    _start_button(experiment, sm, place, key, "Run the simulation")
    return "Not simulated yet."


def _start_button(
    experiment: Experiment, sm: int, place: str, key: str, label: str, short: str = "", said: str = ""
) -> None:
    """A button that starts a simulation, with how long it takes; `short` begins fewer words, `said` ends them."""
    lines = coverage.line_requests(experiment)
    with st.container(horizontal=True, vertical_alignment="center"):
        if st.button(label, key=f"start-{key}"):
            if _submitted(experiment, sm, place, key) is None:
                return
            st.rerun()
        if short:
            st.caption(f"{short}{forecast(lines)}")
        else:
            st.caption(f"{lines / 1e6:,.0f} million line requests, about {forecast(lines)} on one core. {said}")


def forecast(lines: int) -> str:
    """How long this many line requests take on one core, cautiously, in words."""
    seconds = max(lines / LINES_PER_S, 1)
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:,.0f} h"


@st.fragment(run_every=0.5)
def _watch(key: str) -> None:
    """Progress of an active job; redraws itself twice a second and the page once the job is over."""
    board = state.board()
    job = board.look(key)
    if job is None or not job.active:
        st.rerun()
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.progress(min(job.progress, 1.0), text=_words(job))
        st.button("Cancel", key=f"cancel-{key}", on_click=board.cancel, args=(key,))


def _words(job: Job) -> str:
    board = state.board()
    if board.preparing:
        return "Preparing the simulator: it is compiled once per machine, some 20 s."
    if job.state == QUEUED:
        return f"Waiting for a worker, position {board.position(job.key)} in the queue."
    remaining = job.remaining_s()
    rest = f", about {remaining:.0f} s to go" if remaining is not None else ""
    again = f" (attempt {job.attempt}: {job.message})" if job.attempt > 1 else ""
    return f"Simulating: {job.progress:.0%} of the CTAs retired, {job.elapsed_s():.0f} s{rest}{again}"
