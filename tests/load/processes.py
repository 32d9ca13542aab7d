"""A dashboard server for the load and fault scripts, and what Linux says about its processes."""

import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from tests.ui.conftest import ROOT, free_port

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class Server:
    """The app on a free loopback port, in a session of its own so that every process it leaves can be found."""

    def __init__(self, cache: Path, **environment: str) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = cache.with_suffix(".log")
        settings = {"SIMFA_CACHE_DIR": str(cache), "STREAMLIT_SERVER_PORT": str(self.port)} | environment
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "dashboard"],
                cwd=ROOT,
                env=os.environ | settings,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def wait_until_healthy(self, within_s: float = 120) -> None:
        """As a load balancer asks; raises RuntimeError with the log if it does not come up."""
        until = time.monotonic() + within_s
        while time.monotonic() < until and self.process.poll() is None:
            if self.healthy():
                return
            time.sleep(0.2)
        raise RuntimeError(f"the server did not come up:\n{self.log.read_text()}")

    def healthy(self) -> bool:
        """Whether the health endpoint answers ok."""
        try:
            with urllib.request.urlopen(f"{self.url}/_stcore/health", timeout=5) as answer:
                return bool(answer.read() == b"ok")
        except OSError:
            return False

    def pids(self) -> list[int]:
        """Living processes of the server's session, itself among them."""
        return [pid for pid, _, session, state in processes() if session == self.process.pid and state != "Z"]

    def tracebacks(self) -> list[str]:
        """Lines of its log that begin a traceback, with what was raised."""
        lines = self.log.read_text(errors="replace").splitlines()
        return [line for line in lines if line.startswith("Traceback") or "Uncaught" in line]

    def end(self, sign: signal.Signals, within_s: float = 30) -> float | None:
        """Send a signal; seconds until the process was gone, None if it was not."""
        started = time.monotonic()
        self.process.send_signal(sign)
        try:
            self.process.wait(within_s)
        except subprocess.TimeoutExpired:
            return None
        return time.monotonic() - started

    def left_over(self, within_s: float = 10) -> list[int]:
        """Processes of the session that are still there after some seconds."""
        until = time.monotonic() + within_s
        while (found := self.pids()) and time.monotonic() < until:
            time.sleep(0.2)
        return found

    def close(self) -> None:
        """End it and whatever it left."""
        if self.process.poll() is None and self.end(signal.SIGTERM) is None:
            self.process.kill()
            self.process.wait()
        for pid in self.left_over():
            os.kill(pid, signal.SIGKILL)


def processes() -> Iterator[tuple[int, int, int, str]]:
    """(process, parent, session, state) of every process."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            fields = _stat(int(entry.name))
            if fields:
                yield int(entry.name), int(fields[1]), int(fields[3]), fields[0]


def descendants(pid: int) -> list[int]:
    """A process and all that it started."""
    found, parents = [pid], [(child, parent) for child, parent, _, _ in processes()]
    for above in found:
        found += [child for child, parent in parents if parent == above]
    return found


def cpu_s(pids: list[int]) -> float:
    """CPU seconds that living processes have used."""
    return sum((int(f[11]) + int(f[12])) / _TICKS_PER_S for pid in pids if (f := _stat(pid)))


def machine_cpu_s() -> float:
    """CPU seconds that the whole machine has used since it started, without waiting for disks."""
    fields = [int(field) for field in Path("/proc/stat").read_text().splitlines()[0].split()[1:]]
    return (sum(fields[:8]) - fields[3] - fields[4]) / _TICKS_PER_S


def resident_mib(pid: int) -> float:
    """Resident memory of a process, MiB; 0 when it is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS")), 0.0)


def _stat(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
