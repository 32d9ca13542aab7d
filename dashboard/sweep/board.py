"""The sweeps of a server: one at a time, in order, found again by key from any session."""

import contextlib
import shutil
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from dashboard import settings
from dashboard.limits import Refused
from dashboard.sweep import run
from dashboard.sweep.plan import Plan
from dashboard.sweep.run import ENDED, QUEUED, RUNNING, Sweep
from dashboard.sweep.workers import Workers, connect
from presets.errors import PresetError

KEPT_SWEEPS = 32


class SweepBoard:
    """Sweeps by key; a thread that works on the first one waiting. Pages only look."""

    def __init__(self, open_workers: Callable[[], Workers] = connect) -> None:
        self._sweeps: OrderedDict[str, Sweep] = OrderedDict()
        self._changed = threading.Condition()
        self._open_workers = open_workers
        threading.Thread(target=self._serve, name="sweep-queue", daemon=True).start()

    def get(self, key: str) -> Sweep | None:
        """The sweep of that key, if it was ever started and is still remembered."""
        with self._changed:
            return self._sweeps.get(key)

    def recall(self, plan: Plan, estimator: str) -> Sweep | None:
        """The sweep if it is known here, or if every point of it is kept on disk."""
        key = plan.key(estimator)
        known = self.get(key)
        if known is not None:
            return known
        found = Sweep(key, plan, estimator)
        run.recall(found)
        if found.open():
            shutil.rmtree(found.folder, ignore_errors=True)
            return None
        found.state = ENDED
        with self._changed:
            return self._remember(found)

    def submit(self, plan: Plan, estimator: str) -> Sweep:
        """Start a sweep, or join the one that runs; points that ended without an answer are taken up again.

        Raises Refused when too many wait.
        """
        key = plan.key(estimator)
        with self._changed:
            known = self._sweeps.get(key)
            if known is not None and known.active:
                return known
            if len(self._queued()) >= settings.queue():
                raise Refused(
                    f"{settings.queue()} sweeps wait already, as many as this server allows (SIMFA_QUEUE). "
                    "Try again in a while."
                )
            self._sweeps.pop(key, None)
            sweep = self._remember(Sweep(key, plan, estimator))
            self._changed.notify_all()
            return sweep

    def cancel(self, key: str) -> None:
        """Stop a sweep; what it has so far stays."""
        with self._changed:
            sweep = self._sweeps.get(key)
        if sweep is not None and sweep.active:
            sweep.cancel()

    def position(self, key: str) -> int:
        """Place among the waiting, 1 for the next; 0 when it does not wait."""
        with self._changed:
            return next((n for n, sweep in enumerate(self._queued(), start=1) if sweep.key == key), 0)

    def active(self) -> list[Sweep]:
        """Sweeps that run or wait, in order."""
        with self._changed:
            return [sweep for sweep in self._sweeps.values() if sweep.active]

    def _queued(self) -> list[Sweep]:
        return [sweep for sweep in self._sweeps.values() if sweep.state == QUEUED]

    def _remember(self, sweep: Sweep) -> Sweep:
        self._sweeps[sweep.key] = sweep
        for key, old in list(self._sweeps.items()):
            if len(self._sweeps) > KEPT_SWEEPS and not old.active:
                del self._sweeps[key]
        return sweep

    def _serve(self) -> None:
        while True:
            with self._changed:
                while not (sweep := next((s for s in self._sweeps.values() if s.state == QUEUED), None)):
                    self._changed.wait()
                sweep.state, sweep.started_at = RUNNING, time.monotonic()
            try:
                self._work(sweep)
            except PresetError as error:
                sweep.message = str(error)
            except Exception as error:  # the queue must live on whatever a sweep does
                sweep.message = f"The sweep ended early: {error}"
            sweep.ended_at, sweep.state = time.monotonic(), ENDED
            shutil.rmtree(sweep.folder, ignore_errors=True)

    def _work(self, sweep: Sweep) -> None:
        run.recall(sweep)
        if not sweep.open():
            return
        workers = self._open_workers()
        with contextlib.closing(workers):
            run.run(sweep, workers)
