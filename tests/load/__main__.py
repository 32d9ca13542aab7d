"""`python -m tests.load`: many browsers at once against one dashboard, each with its own parameters.

Every session is a Chromium context with a page of its own; it changes the sequence length again and again, waits a
while in between as a person does, and is timed inside the page from the key press until heading and cards show what
`analytical/` says of exactly its own parameters. Some sessions ask for lengths that are simulated; their cycles are
compared with a direct run afterwards. Exit status 1 when anything was wrong.
"""

import argparse
import asyncio
import os
import signal
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from playwright.async_api import async_playwright

from tests.load import report
from tests.load.processes import Server, cpu_s, descendants, machine_cpu_s, resident_mib
from tests.load.session import Session, everyone
from tests.ui.conftest import CHROMIUM_FLAGS, chromium


def main() -> int:
    """Run the load, print the tables, return the exit status."""
    options = _options()
    path = chromium()
    if path is None:
        print("no Chromium found", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the server, a process of its own, is closed then too
    with tempfile.TemporaryDirectory(prefix="sim-fa-load-") as folder:
        server = Server(Path(folder) / "kept")
        try:
            server.wait_until_healthy()
            sessions, figures = asyncio.run(_load(server, path, options))
            figures["tracebacks"] = server.tracebacks()
        finally:
            server.close()
    report.check_cycles(sessions)
    print(report.text(sessions, figures))
    return 1 if report.errors(sessions, figures) else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=20, help="browser sessions at once; default %(default)s")
    parser.add_argument("--simulating", type=int, default=4, help="how many of them simulate; default %(default)s")
    parser.add_argument("--changes", type=int, default=10, help="changes per session; default %(default)s")
    parser.add_argument(
        "--pause", type=float, default=10.0, help="mean seconds between changes; default %(default)s"
    )
    parser.add_argument("--opening", type=int, default=2, help="pages that open at once; default %(default)s")
    parser.add_argument("--seed", type=int, default=0, help="of the pauses; default %(default)s")
    return parser.parse_args()


async def _load(server: Server, path: str, options: argparse.Namespace) -> tuple[list[Session], report.Figures]:
    visitors = everyone(options.sessions, options.simulating, options.changes)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=CHROMIUM_FLAGS)
        sessions = [Session(visitor, options.pause, options.seed) for visitor in visitors]
        await _open(sessions, browser, server.url, options.opening)
        print(f"{len(sessions)} sessions are open", file=sys.stderr)
        quiet = await _alone(sessions[0])
        peaks = {"server": 0.0, "with workers": 0.0}
        watching = asyncio.create_task(_watch(server, peaks))
        before = _used(server)
        started = time.monotonic()
        await asyncio.gather(*(session.run() for session in sessions))
        wall_s = time.monotonic() - started
        used = {name: after - before[name] for name, after in _used(server).items()}
        watching.cancel()
        await browser.close()
    return sessions, {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "cores": os.cpu_count(),
        "wall_s": wall_s,
        "cpu_s": used,
        "memory_mib": peaks,
        "alone_ms": quiet,
        "healthy": server.healthy(),
    }


async def _open(sessions: list[Session], browser: Any, url: str, at_once: int) -> None:
    """Each session's first page, a few at once: all browsers share this machine with the server."""
    turns = asyncio.Semaphore(at_once)

    async def one(session: Session) -> None:
        async with turns:
            await session.open(browser, url)

    await asyncio.gather(*(one(session) for session in sessions))


async def _alone(session: Session) -> list[float]:
    """The first visitor's changes while the others look on: what an update takes without the load."""
    return [await session.change(length) for length in session.visitor.warm_up]


async def _watch(server: Server, peaks: dict[str, float]) -> None:
    while True:
        peaks["server"] = max(peaks["server"], resident_mib(server.process.pid))
        peaks["with workers"] = max(peaks["with workers"], sum(map(resident_mib, server.pids())))
        await asyncio.sleep(1)


def _used(server: Server) -> dict[str, float]:
    workers = [pid for pid in server.pids() if pid != server.process.pid]
    browsers = [pid for pid in descendants(os.getpid()) if pid not in {*workers, server.process.pid}]
    return {
        "server": cpu_s([server.process.pid]),
        "workers": cpu_s(workers),
        "browsers": cpu_s(browsers),
        "machine": machine_cpu_s(),
    }


if __name__ == "__main__":
    sys.exit(main())
