"""Simulations in the background: a queue served by worker processes (`dashboard.workers`), shared by all sessions.

A job is named by the key of its answer, so two sessions that ask the same thing share one run. A worker reports
progress by rewriting a small file and looks for a cancel mark beside it; it hands every outcome back as a value.
If the worker process dies the job is started once more, then reported; one that takes too long is stopped. Answers
are kept on disk (`dashboard.answers`) and found there again, by this process or another one. A job that runs goes
on to its end even if nobody looks any more; one that waits is dropped when no page has shown it for a while.
"""

import contextlib
import os
import tempfile
import threading
import time
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dashboard import answers, limits, settings, spans, workers
from dashboard.limits import Refused
from dashboard.workers import Overdue, Worker, WorkerLost, Workers
from presets.errors import NotModelled
from presets.experiment import Experiment

QUEUED, RUNNING, DONE, FAILED, CANCELLED = "queued", "running", "done", "failed", "cancelled"
ATTEMPTS = 2
KEPT_ANSWERS = 64
GRACE_S = 120  # beyond its time limit a worker that does not stop by itself is ended


@dataclass
class Job:
    """One simulation asked for: its state, and once done its answer (`dashboard.spans.answer`).

    `kept` says that the answer was found on disk; `remark` what happened to a file there. `asked_by` holds session
    and place of those who want it, `seen_at` when a page last showed it.
    """

    key: str
    experiment: Experiment
    timeline_sm: int
    folder: Path
    state: str = QUEUED
    message: str = ""
    attempt: int = 0
    asked_by: set[tuple[str, str]] = field(default_factory=set)
    seen_at: float = field(default_factory=time.monotonic)
    started_at: float = 0.0
    ended_at: float = 0.0
    answer: dict[str, Any] | None = None
    remark: str = ""
    kept: bool = False

    @property
    def active(self) -> bool:
        """Whether the job may still change."""
        return self.state in (QUEUED, RUNNING)

    @property
    def progress(self) -> float:
        """Share of CTAs retired, 0 to 1."""
        return _read_share(self.folder)

    @property
    def worker_pid(self) -> int | None:
        """The process that runs the job, once it has started."""
        with contextlib.suppress(OSError, ValueError):
            return int((self.folder / "pid").read_text())
        return None

    def elapsed_s(self) -> float:
        """Seconds since the job started, or that it took."""
        if not self.started_at:
            return 0.0
        return (self.ended_at or time.monotonic()) - self.started_at

    def remaining_s(self) -> float | None:
        """Seconds still to go at the pace so far; None before there is one."""
        share = self.progress
        return self.elapsed_s() * (1 - share) / share if share > 0.01 else None


class JobBoard:
    """The queue, the answers kept in memory, and a thread for each worker process that feeds it."""

    def __init__(self, pool: Workers | None = None) -> None:
        self._pool = pool or workers.shared()
        self._root = tempfile.TemporaryDirectory(prefix="sim-fa-jobs-")
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._waiting: deque[Job] = deque()
        self._remarks: dict[str, str] = {}
        self._changed = threading.Condition()
        self.preparing = True
        threading.Thread(target=self._prepare, name="simulation-queue", daemon=True).start()

    def get(self, key: str) -> Job | None:
        """The job of that key, if one was ever submitted and is still remembered."""
        with self._changed:
            return self._jobs.get(key)

    def look(self, key: str) -> Job | None:
        """The job of that key, for a page that shows it: one that waits unseen is dropped after a while."""
        job = self.get(key)
        if job is not None:
            job.seen_at = time.monotonic()
        return job

    def recall(self, key: str, experiment: Experiment, timeline_sm: int) -> Job | None:
        """The job of that key, here or, as one that is done, from the answers kept on disk."""
        job = self.look(key)
        if job is not None:
            return job
        answer, remark = answers.look_up(answers.name_of(experiment, timeline_sm))
        if remark:
            self._remarks[key] = remark
        if answer is None or "timeline" not in answer:
            return None
        found = Job(key, experiment, timeline_sm, Path(self._root.name), DONE, answer=answer, kept=True)
        with self._changed:
            self._forget_old()
            return self._jobs.setdefault(key, found)

    def submit(self, key: str, experiment: Experiment, timeline_sm: int, session: str, place: str = "") -> Job:
        """Ask for a simulation. Raises Refused when this server does not take it.

        What a session still waits for at the same place of its pages, and nobody else wants, is dropped for it.
        """
        self.recall(key, experiment, timeline_sm)
        with self._changed:
            job = self._jobs.get(key)
            new = job is None or job.state in (FAILED, CANCELLED)
            if new:
                limits.check(experiment)
            self._drop_waiting((session, place), keep=key)
            if job is None or new:
                self._check_queue(session)
                folder = Path(tempfile.mkdtemp(dir=self._root.name))
                job = Job(key, experiment, timeline_sm, folder, remark=self._remarks.pop(key, ""))
                self._jobs[key] = job
                self._waiting.append(job)
                self._forget_old()
                self._changed.notify_all()
            job.asked_by.add((session, place))
            return job

    def cancel(self, key: str) -> None:
        """Stop a job: at once if it waits, within a fraction of a second if it runs."""
        with self._changed:
            job = self._jobs.get(key)
            if job is None or not job.active:
                return
            (job.folder / "cancel").touch()
            if job.state == QUEUED:
                self._drop(job)

    def position(self, key: str) -> int:
        """Place in the queue, 1 for the next to run; 0 when it does not wait."""
        with self._changed:
            return next((n for n, job in enumerate(self._waiting, start=1) if job.key == key), 0)

    def _check_queue(self, session: str) -> None:
        self._drop_unseen()
        own = sum(any(asker == session for asker, _ in job.asked_by) for job in self._waiting)
        if own >= settings.queue_per_session():
            raise Refused(
                f"{own} simulations of this browser session wait already, as many as this server allows "
                "(SIMFA_QUEUE_PER_SESSION). Cancel one, or wait for one."
            )
        if len(self._waiting) >= settings.queue():
            raise Refused(
                f"{len(self._waiting)} simulations wait already, as many as this server allows (SIMFA_QUEUE). "
                "Try again in a while; the closed forms answer meanwhile."
            )

    def _drop_waiting(self, asker: tuple[str, str], keep: str) -> None:
        for job in [job for job in self._waiting if job.key != keep and asker in job.asked_by]:
            job.asked_by.discard(asker)
            if not job.asked_by:
                self._drop(job)

    def _drop_unseen(self) -> None:
        patience_s = settings.queue_patience_s()
        for job in [job for job in self._waiting if time.monotonic() - job.seen_at > patience_s]:
            self._drop(job)
            job.message = f"It waited for {patience_s:,} s without a page that showed it, and was dropped."

    def _drop(self, job: Job) -> None:
        self._waiting.remove(job)
        job.state = CANCELLED

    def _forget_old(self) -> None:
        for key, job in list(self._jobs.items()):
            if len(self._jobs) <= KEPT_ANSWERS:
                return
            if not job.active:
                del self._jobs[key]

    def _prepare(self) -> None:
        """Load the simulator in one process, which compiles it once per machine; then serve with all of them."""
        with contextlib.suppress(Exception):  # a job will meet the same trouble and report it
            self._pool.call(prepare)
        self.preparing = False
        for number in range(self._pool.slots):
            threading.Thread(target=self._serve, name=f"simulation-queue-{number}", daemon=True).start()

    def _serve(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting)
            with self._pool.lease() as worker:  # the job waits in line until there is a process for it
                job = self._next()
                if job is not None:
                    self._run(job, worker)

    def _next(self) -> Job | None:
        with self._changed:
            self._drop_unseen()
            if not self._waiting:
                return None
            job = self._waiting.popleft()
            job.state, job.started_at = RUNNING, time.monotonic()
            return job

    def _run(self, job: Job, worker: Worker) -> None:
        state, outcome = self._outcome(job, worker)
        if state == DONE:
            job.answer = outcome
            job.remark += answers.keep(answers.name_of(job.experiment, job.timeline_sm), outcome)
        job.message = "" if state == DONE else str(outcome)
        job.ended_at = time.monotonic()
        job.state = state

    def _outcome(self, job: Job, worker: Worker) -> tuple[str, Any]:
        for job.attempt in range(1, ATTEMPTS + 1):
            (job.folder / "share").unlink(missing_ok=True)
            try:
                limit_s = settings.timeout_s()
                asked = (work, job.experiment, job.timeline_sm, job.folder, limit_s)
                outcome: tuple[str, Any] = worker.call(*asked, within_s=limit_s + GRACE_S)
                return outcome
            except WorkerLost:
                if (job.folder / "cancel").exists():
                    return CANCELLED, "Cancelled."
                job.message = f"The worker process {job.worker_pid or ''} of this simulation was killed."
            except Overdue:
                return FAILED, limits.overdue(limit_s)
            except Exception as error:  # the queue must live on whatever a job does
                return FAILED, f"The simulation could not be started: {error}"
        return FAILED, (
            f"{job.message} It was tried {ATTEMPTS} times; memory may be short. Run it again, or choose a shorter "
            "length."
        )


def prepare() -> None:
    """In a worker process: load the compiled simulator, or compile it the first time on this machine."""
    from presets.arguments import build
    from presets.loader import load
    from presets.specs import GpuSpec, KernelSpec, LlmSpec
    from simfa import simulate

    llm, gpu, kernel = load(LlmSpec, "llama3-8b"), load(GpuSpec, "h800"), load(KernelSpec, "fa3")
    simulate.run(build(llm, gpu, kernel, {}, seq_q=128, seq_kv=128), timeline_sm=0)


def work(experiment: Experiment, timeline_sm: int, folder: Path, limit_s: float) -> tuple[str, Any]:
    """In a worker process: run one simulation; returns the final state and the answer or the reason."""
    from simfa import simulate

    write(folder / "pid", str(os.getpid()))
    cancel, until = folder / "cancel", time.monotonic() + limit_s
    try:
        run = simulate.run(
            experiment,
            timeline_sm=timeline_sm,
            progress=lambda share: write(folder / "share", repr(share)),
            should_stop=lambda: cancel.exists() or time.monotonic() > until,
        )
    except simulate.Cancelled:
        return (CANCELLED, "Cancelled.") if cancel.exists() else (FAILED, limits.overdue(limit_s))
    except (NotModelled, simulate.SimulationError) as error:
        return FAILED, str(error)
    except MemoryError:
        return FAILED, "The simulation ran out of memory; choose a shorter length or a smaller batch."
    return DONE, spans.answer(experiment, run)


def write(path: Path, text: str) -> None:
    """Replace a file as a whole, so that a reader never sees half of it; a vanished folder is no error."""
    with contextlib.suppress(OSError):
        draft = path.with_suffix(".new")
        draft.write_text(text)
        draft.replace(path)


def _read_share(folder: Path) -> float:
    with contextlib.suppress(OSError, ValueError):
        return float((folder / "share").read_text())
    return 0.0
