"""Simulations of the Measured page: started by a button, one after the other, with progress and cancel."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dashboard import state
from dashboard.jobs import DONE, QUEUED, Job
from dashboard.limits import Refused
from dashboard.measured import comparison
from dashboard.plain import markdown
from dashboard.widgets.measured_desk import Desk
from dashboard.widgets.simulation import forecast
from presets.experiment import Experiment
from simfa import coverage


def simulations(desk: Desk, todo: Sequence[Experiment]) -> None:
    """The button, or the progress of what runs; answers land on the desk."""
    by_key = {comparison.simulation_key(asked): asked for asked in todo}
    _collect(desk, by_key)
    desk.waiting = [key for key in desk.waiting if key in by_key and key not in desk.answers]
    if desk.waiting:
        _watch(desk, by_key)
        return
    for reason in sorted({desk.failed[key] for key in by_key if key in desk.failed}):
        st.info(f"A simulation ended without an answer: {markdown(reason)}")
    left = [key for key in by_key if key not in desk.answers]
    if left:
        _offer(desk, {key: by_key[key] for key in left})


def _offer(desk: Desk, left: dict[str, Experiment]) -> None:
    lines = sum(coverage.line_requests(asked) for asked in left.values())
    with st.container(horizontal=True, vertical_alignment="center"):
        if st.button(f"Simulate {_kernels(len(left))}", key="measured_simulate"):
            desk.waiting = list(left)
            desk.failed, desk.asked = {}, set()
            st.rerun()
        st.caption(
            f"Sim-FA cycle simulation: {lines / 1e6:,.0f} million line requests, about {forecast(lines)} "
            "on one core. Results come in one by one."
        )


def _collect(desk: Desk, by_key: dict[str, Experiment]) -> bool:
    """Take finished answers from the board and ask for the next one. True when something came in."""
    board, came = state.board(), False
    for key in by_key:
        job = board.get(key)
        if key not in desk.answers and job is not None and job.state == DONE and job.answer is not None:
            desk.answers[key] = job.answer["record"]
            came = True
    while desk.waiting:
        key = desk.waiting[0]
        if key not in by_key or key in desk.answers:
            desk.waiting.pop(0)
            continue
        job = board.look(key)
        if job is not None and job.active:
            break
        if job is not None and job.state != DONE and key in desk.asked:
            desk.failed[key] = job.message or "cancelled"
            desk.waiting.pop(0)
            continue
        desk.asked.add(key)
        try:  # a place of its own in the queue: asking from another page must not drop what waits here
            board.submit(key, by_key[key], comparison.TIMELINE_SM, state.session_id(), "-measured")
        except Refused as reason:
            desk.failed[key] = str(reason)
            desk.waiting.pop(0)
            continue
        break
    return came


@st.fragment(run_every=0.5)
def _watch(desk: Desk, by_key: dict[str, Experiment]) -> None:
    """Progress; redraws itself twice a second, and the page whenever an answer came in."""
    came = _collect(desk, by_key)
    if came or not desk.waiting:
        st.rerun()
        return
    job = state.board().get(desk.waiting[0])
    done = len(by_key) - len(desk.waiting)
    share = job.progress if job is not None else 0.0
    with st.container(horizontal=True, vertical_alignment="center"):
        st.progress(min((done + share) / max(len(by_key), 1), 1.0), text=_words(job, done, len(by_key)))
        if st.button("Cancel", key="measured_cancel"):
            key = desk.waiting[0]
            desk.waiting = []
            desk.asked.clear()
            state.board().cancel(key)
            st.rerun()


def _words(job: Job | None, done: int, total: int) -> str:
    board = state.board()
    which = f"Simulating kernel {done + 1} of {total}"
    if job is None or board.preparing:
        return "Preparing the simulator: it is compiled once per machine, some 20 s."
    if job.state == QUEUED:
        return f"{which}: waiting for a worker, position {board.position(job.key)} in the queue."
    remaining = job.remaining_s()
    rest = f", about {remaining:.0f} s to go" if remaining is not None else ""
    return f"{which}: {job.progress:.0%} of its CTAs retired, {job.elapsed_s():.0f} s{rest}."


def _kernels(count: int) -> str:
    return f"{count} kernels" if count != 1 else "1 kernel"
