"""The worker processes of this server: joblib's (loky), one to a slot, lent out in the order of asking.

A process belongs to one slot, so that one which dies or is stopped takes no other simulation with it. A server that
ends takes its processes with it: loky by itself would wait for what they are doing, and a killed server could not
tell them, so they look for their parent.
"""

import contextlib
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as TookTooLong
from functools import partial
from typing import Any

from joblib.externals.loky.process_executor import BrokenProcessPool, ProcessPoolExecutor, ShutdownExecutorError

from dashboard import settings

IDLE_TIMEOUT_S = 3600
PARENT_CHECK_S = 1.0
NICENESS = 10  # of a worker: about a tenth of a core where pages want all of it


class WorkerLost(Exception):
    """The process that worked on a call is gone; nothing is known about the call."""


class Overdue(Exception):
    """A call took longer than it may; its process was ended."""


class Worker:
    """A slot: its process is started at the first call and replaced after it died."""

    def __init__(self) -> None:
        self._executor: ProcessPoolExecutor | None = None
        self._over = False
        self._changing = threading.RLock()  # an executor closed while it starts would leave its process behind

    def call(self, function: Callable[..., Any], *arguments: Any, within_s: float | None = None) -> Any:
        """`function(*arguments)` in the process. Raises WorkerLost if it dies, Overdue after `within_s` seconds."""
        future = self._submit(partial(function, *arguments))
        try:
            return future.result(within_s)
        except (BrokenProcessPool, ShutdownExecutorError):
            self.close()
            raise WorkerLost from None
        except TookTooLong:
            if future.done():  # the function's own TimeoutError
                raise
            self.close()
            raise Overdue from None

    def _submit(self, task: Callable[[], Any]) -> Future[Any]:
        """Hand `task` to the process, or to a new one where there is none or it died unnoticed."""
        with self._changing:
            if self._executor is not None:
                with contextlib.suppress(BrokenProcessPool):
                    return self._executor.submit(task)
                self.close()
            if self._over:
                raise WorkerLost
            self._executor = ProcessPoolExecutor(1, timeout=IDLE_TIMEOUT_S, initializer=partial(begin, os.getpid()))
            try:
                future = self._executor.submit(task)
                _end_workers_first()
            except RuntimeError:  # this server is ending: nothing can be registered any more
                self.close()
                raise WorkerLost from None
            return future

    def close(self, for_good: bool = False) -> None:
        """End the process, whatever it does; the next call starts another one, unless this is `for_good`."""
        with self._changing:
            self._over = self._over or for_good
            executor, self._executor = self._executor, None
            if executor is not None:
                executor.shutdown(wait=False, kill_workers=True)


class Workers:
    """The slots of a server, and the line of those who wait for one."""

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self._all = [Worker() for _ in range(slots)]
        self._free = deque(self._all)
        self._line: deque[object] = deque()
        self._changed = threading.Condition()

    @contextlib.contextmanager
    def lease(self) -> Iterator[Worker]:
        """A slot of one's own, after everyone who asked before."""
        ticket = object()
        with self._changed:
            self._line.append(ticket)
            self._changed.wait_for(lambda: self._line[0] is ticket and self._free)
            self._line.popleft()
            worker = self._free.pop()  # the one used last has the simulator loaded
            self._changed.notify_all()
        try:
            yield worker
        finally:
            with self._changed:
                self._free.append(worker)
                self._changed.notify_all()

    def call(self, function: Callable[..., Any], *arguments: Any, within_s: float | None = None) -> Any:
        """`function(*arguments)` in the first slot that comes free. Raises WorkerLost, Overdue."""
        with self.lease() as worker:
            return worker.call(function, *arguments, within_s=within_s)

    def close(self) -> None:
        """End every process, for good."""
        for worker in self._all:
            worker.close(for_good=True)


_lock = threading.Lock()
_shared: Workers | None = None


def shared() -> Workers:
    """The slots of this process, SIMFA_SIMULATIONS of them."""
    global _shared
    with _lock:
        if _shared is None:
            _shared = Workers(settings.simulations())
        return _shared


def _end_workers_first() -> None:
    """At exit, end the processes before loky waits for what they are doing.

    Python has no public hook that early; this is the one loky uses. It runs what came last first, and loky
    registers with every executor, so this does too.
    """
    threading._register_atexit(_close_shared)  # type: ignore[attr-defined]


def _close_shared() -> None:
    if _shared is not None:
        _shared.close()


def begin(parent_pid: int) -> None:
    """As a worker process starts: it gives way to the pages, which have less to do and somebody waiting."""
    if hasattr(os, "nice"):  # not on Windows
        os.nice(NICENESS)
    leave_with_parent(parent_pid)


def leave_with_parent(parent_pid: int) -> None:
    """Let this process end soon after the one that started it is gone, however that ended.

    loky's workers wait for work on a pipe that their siblings hold open too, so they would outlive a killed server.
    """

    def watch() -> None:
        while os.getppid() == parent_pid:
            time.sleep(PARENT_CHECK_S)
        os._exit(1)

    threading.Thread(target=watch, name="leave-with-parent", daemon=True).start()
