"""Where simulated points run: this server's worker processes, or a Dask cluster through joblib's own backend."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed, parallel_config

from dashboard import jobs, limits, settings, workers
from dashboard.workers import Overdue, WorkerLost
from presets.errors import NotModelled, PresetError
from presets.experiment import Experiment
from simfa import coverage

CONNECT_S = 10
MAX_SLOTS = 64  # points in flight on a cluster: one waiting thread each


class LocalWorkers:
    """The dashboard's own worker processes; Compare's simulations take turns with a sweep's points there."""

    on_this_machine = True

    def __init__(self) -> None:
        self._pool = workers.shared()
        self.slots = self._pool.slots
        self.words = f"{self.slots} worker processes" if self.slots > 1 else "1 worker process"

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """`function(*arguments)` in a worker process. Raises WorkerLost if the process dies."""
        limit_s = settings.timeout_s()
        try:
            return self._pool.call(function, *arguments, within_s=limit_s + jobs.GRACE_S)
        except Overdue:
            return jobs.FAILED, limits.overdue(limit_s)

    def close(self) -> None:
        """The processes stay for the next one."""


class DaskWorkers:
    """A Dask cluster; its workers need this version of the project and its requirements importable."""

    on_this_machine = False

    def __init__(self, address: str) -> None:
        """Connect. Raises PresetError when `distributed` is absent or the scheduler does not answer."""
        try:
            from distributed import Client
        except ImportError:
            raise PresetError(
                f"SIMFA_DASK_SCHEDULER is {address}, but the package 'distributed' is not installed; install it "
                "(pip install distributed) or unset the variable"
            ) from None
        try:
            self._client = Client(address, timeout=CONNECT_S, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            raise PresetError(f"SIMFA_DASK_SCHEDULER: no Dask scheduler answers at {address}: {error}") from None
        self.slots = max(1, min(MAX_SLOTS, sum(self._client.ncores().values())))
        self.words = f"Dask at {address}, {self.slots} points at a time"

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """`function(*arguments)` on the cluster. Raises WorkerLost when Dask gives the point up."""
        from distributed import KilledWorker
        from distributed.comm import CommClosedError

        try:
            with parallel_config(backend=_cluster(self._client)):
                return Parallel(n_jobs=self.slots)([delayed(function)(*arguments)])[0]
        except (KilledWorker, CommClosedError, TimeoutError) as error:
            raise WorkerLost(str(error)) from None

    def close(self) -> None:
        """Disconnect."""
        self._client.close()


def _cluster(client: Any) -> Any:
    """joblib's Dask backend; with one thread left in the cluster joblib would run the point in this process."""
    from joblib._dask import DaskDistributedBackend

    class Cluster(DaskDistributedBackend):
        def effective_n_jobs(self, n_jobs: int) -> int:
            return max(2, super().effective_n_jobs(n_jobs))

    return Cluster(client=client, wait_for_workers_timeout=CONNECT_S)


Workers = LocalWorkers | DaskWorkers


def connect() -> Workers:
    """The cluster that SIMFA_DASK_SCHEDULER names, or the local processes. Raises PresetError."""
    address = settings.dask_scheduler()
    return DaskWorkers(address) if address else LocalWorkers()


def simulate_point(experiment: Experiment, digest: str, folder: Path | None, limit_s: float) -> tuple[str, Any]:
    """On a worker: the state and the record of one run, or the reason why there is none.

    `digest` names the sources of the asking side; `folder` (on this machine only) takes progress and holds the
    cancel mark; `limit_s` is how long the run may take.
    """
    from presets.record import to_record
    from simfa import simulate

    if coverage.model_digest() != digest:
        return jobs.FAILED, "the worker has another version of the simulator than this process; update it"
    until = time.monotonic() + limit_s
    watched: dict[str, Any] = {"should_stop": lambda: time.monotonic() > until}
    if folder is not None:
        jobs.write(folder / "pid", str(os.getpid()))
        watched["progress"] = lambda share: jobs.write(folder / "share", repr(share))
        watched["should_stop"] = lambda: _called_off(folder) or time.monotonic() > until
    try:
        return jobs.DONE, to_record(experiment, simulate.run(experiment, **watched).result)
    except simulate.Cancelled:
        stopped = folder is not None and _called_off(folder)
        return (jobs.CANCELLED, "cancelled") if stopped else (jobs.FAILED, limits.overdue(limit_s))
    except (NotModelled, simulate.SimulationError) as error:
        return jobs.FAILED, str(error)
    except MemoryError:
        return jobs.FAILED, "out of memory; choose a shorter length or a smaller batch"


def _called_off(folder: Path) -> bool:
    return (folder / "cancel").exists() or not folder.exists()
