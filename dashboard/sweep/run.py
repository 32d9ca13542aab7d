"""A sweep that runs: its rows as they come, progress, cancel, retries; the same with and without a page."""

from __future__ import annotations

import contextlib
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from dashboard import answers, settings
from dashboard.jobs import ATTEMPTS
from dashboard.sweep import evaluate
from dashboard.sweep.evaluate import CANCELLED, DONE, FAILED, WAITING, Row
from dashboard.sweep.plan import Plan
from dashboard.sweep.workers import WorkerLost, Workers, simulate_point
from simfa import coverage

COMPARE_TIMELINE_SM = 0  # what the Compare page observes; observing changes no count
QUEUED, RUNNING, ENDED = "queued", "running", "ended"


@dataclass
class Sweep:
    """A sweep by a simulated estimator: its plan, one row per point in the plan's order, and how far it is."""

    key: str
    plan: Plan
    estimator: str
    state: str = QUEUED
    rows: list[Row] = field(default_factory=list)
    message: str = ""
    remarks: set[str] = field(default_factory=set)
    started_at: float = 0.0
    ended_at: float = 0.0
    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="sim-fa-sweep-")))
    cancelled: threading.Event = field(default_factory=threading.Event)
    kept_cost: int = 0

    def __post_init__(self) -> None:
        plan, name = self.plan, self.estimator
        self.rows = [
            evaluate.impossible(plan, point, name) or evaluate.row(plan, point, name, WAITING, None)
            for point in plan.points
        ]

    @property
    def active(self) -> bool:
        """Whether rows may still change."""
        return self.state in (QUEUED, RUNNING)

    def open(self) -> list[int]:
        """Indices of the points without an outcome."""
        return [index for index, row in enumerate(self.rows) if row["state"] == WAITING]

    def cost(self, index: int) -> int:
        """Line requests of a point: what its time goes by."""
        experiment = self.plan.points[index].experiment
        return 0 if experiment is None else coverage.line_requests(experiment)

    def progress(self) -> float:
        """Share of the line requests done, 0 to 1."""
        waiting = self.open()
        total = sum(self.cost(index) for index in range(len(self.rows)))
        if not total:
            return 1.0
        left = sum(self.cost(index) * (1 - self._share(index)) for index in waiting)
        return 1 - left / total

    def remaining_s(self) -> float | None:
        """Seconds still to go at the pace so far; None before there is one."""
        total = sum(self.cost(index) for index in range(len(self.rows))) - self.kept_cost
        left = sum(self.cost(index) * (1 - self._share(index)) for index in self.open())
        done = total - left
        return self.elapsed_s() * left / done if self.started_at and total and done / total > 0.01 else None

    def elapsed_s(self) -> float:
        """Seconds since it started, or that it took."""
        return (self.ended_at or time.monotonic()) - self.started_at if self.started_at else 0.0

    def cancel(self) -> None:
        """Stop: no point starts any more, those that run locally end within a fraction of a second."""
        self.cancelled.set()
        with contextlib.suppress(OSError):
            for index in self.open():
                self.point_folder(index).mkdir(exist_ok=True)
                (self.point_folder(index) / "cancel").touch()

    def point_folder(self, index: int) -> Path:
        """Where a point's worker writes its progress."""
        return self.folder / str(index)

    def _share(self, index: int) -> float:
        with contextlib.suppress(OSError, ValueError):
            return min(1.0, float((self.point_folder(index) / "share").read_text()))
        return 0.0


def recall(sweep: Sweep) -> None:
    """Fill in every point that was simulated before, by a sweep or on the Compare page."""
    for index in sweep.open():
        point = sweep.plan.points[index]
        assert point.experiment is not None
        for timeline_sm in (None, COMPARE_TIMELINE_SM):
            kept, remark = answers.look_up(answers.name_of(point.experiment, timeline_sm))
            sweep.remarks.update(filter(None, [remark]))
            if kept is not None:
                sweep.rows[index] = evaluate.row(sweep.plan, point, sweep.estimator, DONE, kept["record"])
                sweep.kept_cost += sweep.cost(index)
                break


def run(sweep: Sweep, workers: Workers, came: Callable[[], None] = lambda: None) -> None:
    """Answer every open point on the workers; `came` is called after each.

    Points in flight when a worker dies are taken up again, one at a time when all others are done: so a point that
    kills its worker takes no other with it, and is reported after ATTEMPTS losses.
    """
    suspects: list[int] = []

    def attempt(index: int) -> None:
        try:
            _answer(sweep, index, workers)
        except WorkerLost:
            suspects.append(index)
            sweep.remarks.add("A worker process was lost; the points it had were taken up again.")
        came()

    with ThreadPoolExecutor(workers.slots, thread_name_prefix="sweep") as threads:
        list(threads.map(attempt, sweep.open()))
    for index in sorted(suspects):
        _alone(sweep, index, workers)
        came()
    settle_open(sweep)


def settle_open(sweep: Sweep) -> None:
    """Every point without an outcome counts as cancelled."""
    for index in sweep.open():
        _settle(sweep, index, CANCELLED, "cancelled before it was reached")


def _alone(sweep: Sweep, index: int, workers: Workers) -> None:
    for _ in range(ATTEMPTS - 1):
        try:
            _answer(sweep, index, workers)
            return
        except WorkerLost:
            continue
    reason = f"its worker process was lost {ATTEMPTS} times, the last time with no other point running"
    _settle(sweep, index, FAILED, f"{reason}; memory may be short")


def _answer(sweep: Sweep, index: int, workers: Workers) -> None:
    """One point on a worker; its row. Raises WorkerLost."""
    if sweep.cancelled.is_set():
        return
    experiment = sweep.plan.points[index].experiment
    assert experiment is not None
    folder = sweep.point_folder(index) if workers.on_this_machine else None
    if folder is not None:
        folder.mkdir(exist_ok=True)
    try:
        limit_s = settings.timeout_s()
        state, outcome = workers.call(simulate_point, experiment, coverage.model_digest(), folder, limit_s)
    except WorkerLost:
        raise
    except Exception as error:  # one point's trouble is its row's, not the sweep's
        state, outcome = FAILED, f"it could not be simulated: {error}"
    if state == DONE:
        remark = answers.keep(answers.name_of(experiment, None), {"record": outcome})
        sweep.remarks.update(filter(None, [remark]))
        sweep.rows[index] = evaluate.row(sweep.plan, sweep.plan.points[index], sweep.estimator, DONE, outcome)
    else:
        _settle(sweep, index, state, str(outcome))


def _settle(sweep: Sweep, index: int, state: str, reason: str) -> None:
    point = sweep.plan.points[index]
    sweep.rows[index] = evaluate.row(sweep.plan, point, sweep.estimator, state, None, reason)
