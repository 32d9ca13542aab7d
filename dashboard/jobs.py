"""Simulations in the background: a queue served by joblib worker processes, shared by all sessions.

A job is named by the key of its answer, so two sessions that ask the same thing share one run. A worker reports
progress by rewriting a small file and looks for a cancel mark beside it; it hands every outcome back as a value.
If the worker process dies the job is started once more, then reported. Answers are kept on disk
(`dashboard.answers`) and found there again, by this process or another one.
"""

import contextlib
import os
import tempfile
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed
from joblib.externals.loky.process_executor import BrokenProcessPool

from dashboard import answers, spans
from presets.errors import NotModelled
from presets.experiment import Experiment

QUEUED, RUNNING, DONE, FAILED, CANCELLED = "queued", "running", "done", "failed", "cancelled"
ATTEMPTS = 2
KEPT_ANSWERS = 64
WORKERS = 2  # joblib runs a single worker inside the calling process, so never fewer than two
IDLE_WORKER_TIMEOUT_S = 3600
PARENT_CHECK_S = 1.0


@dataclass
class Job:
    """One simulation asked for: its state, and once done its answer (`dashboard.spans.answer`).

    `kept` says that the answer was found on disk; `remark` what happened to a file there.
    """

    key: str
    experiment: Experiment
    timeline_sm: int
    folder: Path
    state: str = QUEUED
    message: str = ""
    attempt: int = 0
    asked_by: set[str] = field(default_factory=set)
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
    """The queue, the answers kept in memory, and the thread that feeds the worker processes."""

    def __init__(self) -> None:
        self._root = tempfile.TemporaryDirectory(prefix="sim-fa-jobs-")
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._waiting: deque[Job] = deque()
        self._remarks: dict[str, str] = {}
        self._changed = threading.Condition()
        self.preparing = True
        threading.Thread(target=self._serve, name="simulation-queue", daemon=True).start()

    def get(self, key: str) -> Job | None:
        """The job of that key, if one was ever submitted and is still remembered."""
        with self._changed:
            return self._jobs.get(key)

    def recall(self, key: str, experiment: Experiment, timeline_sm: int) -> Job | None:
        """The job of that key, here or, as one that is done, from the answers kept on disk."""
        job = self.get(key)
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

    def submit(self, key: str, experiment: Experiment, timeline_sm: int, session: str) -> Job:
        """Ask for a simulation; a session's own waiting jobs that nobody else wants are dropped."""
        self.recall(key, experiment, timeline_sm)
        with self._changed:
            self._drop_waiting(session, keep=key)
            job = self._jobs.get(key)
            if job is None or job.state in (FAILED, CANCELLED):
                folder = Path(tempfile.mkdtemp(dir=self._root.name))
                job = Job(key, experiment, timeline_sm, folder, remark=self._remarks.pop(key, ""))
                self._jobs[key] = job
                self._waiting.append(job)
                self._forget_old()
                self._changed.notify_all()
            job.asked_by.add(session)
            return job

    def cancel(self, key: str) -> None:
        """Stop a job: at once if it waits, within a fraction of a second if it runs."""
        with self._changed:
            job = self._jobs.get(key)
            if job is None or not job.active:
                return
            (job.folder / "cancel").touch()
            if job.state == QUEUED:
                self._waiting.remove(job)
                job.state = CANCELLED

    def position(self, key: str) -> int:
        """Place in the queue, 1 for the next to run; 0 when it does not wait."""
        with self._changed:
            return next((n for n, job in enumerate(self._waiting, start=1) if job.key == key), 0)

    def _drop_waiting(self, session: str, keep: str) -> None:
        for job in [job for job in self._waiting if job.key != keep and session in job.asked_by]:
            job.asked_by.discard(session)
            if not job.asked_by:
                self._waiting.remove(job)
                job.state = CANCELLED

    def _forget_old(self) -> None:
        for key, job in list(self._jobs.items()):
            if len(self._jobs) <= KEPT_ANSWERS:
                return
            if not job.active:
                del self._jobs[key]

    def _serve(self) -> None:
        with contextlib.suppress(Exception):  # a job will meet the same trouble and report it
            in_worker(prepare)
        self.preparing = False
        while True:
            with self._changed:
                while not self._waiting:
                    self._changed.wait()
                job = self._waiting.popleft()
                job.state, job.started_at = RUNNING, time.monotonic()
            self._run(job)
            job.ended_at = time.monotonic()

    def _run(self, job: Job) -> None:
        for job.attempt in range(1, ATTEMPTS + 1):
            (job.folder / "share").unlink(missing_ok=True)
            try:
                state, outcome = in_worker(work, job.experiment, job.timeline_sm, job.folder)
            except BrokenProcessPool:
                job.message = f"The worker process {job.worker_pid or ''} of this simulation was killed."
                continue
            except Exception as error:  # the queue must live on whatever a job does
                state, outcome = FAILED, f"The simulation could not be started: {error}"
            if state == DONE:
                job.answer = outcome
                job.remark += answers.keep(answers.name_of(job.experiment, job.timeline_sm), outcome)
            job.message = "" if state == DONE else str(outcome)
            job.state = state
            return
        job.message += (
            f" It was tried {ATTEMPTS} times; memory may be short. Run it again, or choose a shorter length."
        )
        job.state = FAILED


def in_worker(function: Callable[..., Any], *arguments: Any) -> Any:
    """`function(*arguments)` in a joblib worker process. Raises BrokenProcessPool if the process dies."""
    workers = Parallel(
        n_jobs=WORKERS, idle_worker_timeout=IDLE_WORKER_TIMEOUT_S, initializer=_starting(os.getpid())
    )
    return workers([delayed(function)(*arguments)])[0]


@cache
def _starting(pid: int) -> Callable[[], None]:
    """How a worker starts: the same object each time, or joblib would start new workers for every job."""
    return partial(leave_with_parent, pid)


def prepare() -> None:
    """In a worker process: load the compiled simulator, or compile it the first time on this machine."""
    from presets.arguments import build
    from presets.loader import load
    from presets.specs import GpuSpec, KernelSpec, LlmSpec
    from simfa import simulate

    llm, gpu, kernel = load(LlmSpec, "llama3-8b"), load(GpuSpec, "h800"), load(KernelSpec, "fa3")
    simulate.run(build(llm, gpu, kernel, {}, seq_q=128, seq_kv=128), timeline_sm=0)


def work(experiment: Experiment, timeline_sm: int, folder: Path) -> tuple[str, Any]:
    """In a worker process: run one simulation; returns the final state and the answer or the reason."""
    from simfa import simulate

    write(folder / "pid", str(os.getpid()))
    cancel = folder / "cancel"
    try:
        run = simulate.run(
            experiment,
            timeline_sm=timeline_sm,
            progress=lambda share: write(folder / "share", repr(share)),
            should_stop=cancel.exists,
        )
    except simulate.Cancelled:
        return CANCELLED, "Cancelled."
    except (NotModelled, simulate.SimulationError) as error:
        return FAILED, str(error)
    except MemoryError:
        return FAILED, "The simulation ran out of memory; choose a shorter length or a smaller batch."
    return DONE, spans.answer(experiment, run)


def leave_with_parent(parent_pid: int) -> None:
    """As a worker process starts: let it end soon after the process that started it is gone, however that ended.

    loky's workers wait for work on a pipe that their siblings hold open too, so they would outlive a killed server.
    """

    def watch() -> None:
        while os.getppid() == parent_pid:
            time.sleep(PARENT_CHECK_S)
        os._exit(1)

    threading.Thread(target=watch, name="leave-with-parent", daemon=True).start()


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
