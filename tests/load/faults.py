"""`python -m tests.load.faults`: what goes wrong on a shared machine, done to a real server under a real browser.

Each fault prints what the page said. Exit status 1 when a page showed a traceback or no clear state, or when a
process outlived its server. `--only NAME` runs one of them.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from playwright.sync_api import sync_playwright

from tests.load.processes import Server, cpu_s
from tests.ui.conftest import CHROMIUM_FLAGS, chromium

PATIENCE_S = 240
LONG = "?llm=llama3.1-405b&seq={seq}"  # some ten to thirty seconds of simulating: each fault takes its own length
FULL_DISK = "48k"  # less than one compressed result


class Wrong(Exception):
    """A fault that was not answered as it should be."""


class Bench:
    """The browser and a folder for everything a fault leaves on disk."""

    def __init__(self, browser: Any, folder: Path) -> None:
        self.browser, self.folder = browser, folder

    @contextmanager
    def server(self, name: str, cache: Path | None = None, **environment: str) -> Iterator[Server]:
        """A healthy server that leaves no process and no traceback behind."""
        server = Server(cache or self.folder / name, **environment)
        try:
            server.wait_until_healthy()
            yield server
            if server.tracebacks():
                raise Wrong(f"in the server's log: {server.tracebacks()}")
        finally:
            server.close()

    @contextmanager
    def page(self, address: str) -> Iterator[Any]:
        """A fresh browser session; raises Wrong when it ends with a traceback on the page."""
        context = self.browser.new_context(viewport={"width": 1280, "height": 800})
        page = context.new_page()
        page.set_default_timeout(PATIENCE_S * 1000)
        page.goto(address)
        try:
            yield page
            if page.get_by_test_id("stException").count() or page.get_by_text("Traceback").count():
                raise Wrong(f"a traceback on the page: {page.get_by_test_id('stMain').inner_text()[:400]}")
        finally:
            context.close()


def busy_worker(server: Server) -> int:
    """The worker process that has used most of a CPU in a moment."""
    before = {pid: cpu_s([pid]) for pid in server.pids() if pid != server.process.pid}
    time.sleep(1)
    return max(before, key=lambda pid: cpu_s([pid]) - before[pid])


def progressing(page: Any) -> None:
    """Wait until some per cent of the CTAs are retired."""
    page.get_by_text("of the CTAs retired").wait_for()
    page.wait_for_function(
        "[...document.querySelectorAll('[data-testid=stProgress]')]"
        ".some(e => /: [1-9]\\d?% of/.test(e.textContent))"
    )


def alert(page: Any) -> str:
    """The first message in a box on the page."""
    return str(page.get_by_test_id("stAlertContainer").first.inner_text()).strip()


def worker_killed_once(bench: Bench) -> str:
    """The run starts again by itself and ends."""
    with bench.server("once") as server, bench.page(server.url + LONG.format(seq=4608)) as page:
        progressing(page)
        os.kill(busy_worker(server), signal.SIGKILL)
        page.get_by_text("(attempt 2:").wait_for()
        said = page.get_by_test_id("stProgress").first.inner_text()
        page.get_by_text("Simulated: ").first.wait_for()
        return f"{said.strip()}; then the result"


def worker_killed_twice(bench: Bench) -> str:
    """It is reported; the queue lives on."""
    with bench.server("twice") as server, bench.page(server.url + LONG.format(seq=4736)) as page:
        for attempt in ("of the CTAs retired", "(attempt 2:"):
            page.get_by_text(attempt).first.wait_for()
            progressing(page)
            os.kill(busy_worker(server), signal.SIGKILL)
        page.get_by_text("It was tried 2 times").wait_for()
        said = alert(page)
        page.get_by_role("button", name="Run again").wait_for()
        page.goto(f"{server.url}/?seq=640")
        page.get_by_text("Simulated: ").first.wait_for()
        return said


def disk_full(bench: Bench) -> str:
    """The result is shown; that it was not kept is said."""
    folder, how = bench.folder / "full", f"a {FULL_DISK} tmpfs"
    folder.mkdir()
    mounted = not subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={FULL_DISK}", "tmpfs", str(folder)], capture_output=True
    ).returncode
    cache = folder / "kept"
    if not mounted:
        cache, how = Path("/dev/full/kept"), "a folder that cannot be made, as nothing could be mounted"
    try:
        address = "?llm=llama3-70b&seq=2048"
        with bench.server("disk", SIMFA_CACHE_DIR=str(cache)) as server, bench.page(server.url + address) as page:
            page.get_by_text("was not kept on disk").wait_for()
            said = page.get_by_text("was not kept on disk").inner_text()
            return f"({how}) ... {said[said.index('This result') :]}"
    finally:
        if mounted:
            subprocess.run(["umount", str(folder)], check=True)


def corrupt_cache(bench: Bench) -> str:
    """A later server computes again and says so."""
    cache = bench.folder / "damaged"
    with bench.server("first", cache) as server, bench.page(f"{server.url}/?seq=1152") as page:
        page.get_by_text("Simulated: ").first.wait_for()
    kept = [file for file in cache.rglob("*") if file.is_file()]
    for file in kept:
        file.write_bytes(os.urandom(100))
    with bench.server("second", cache) as server, bench.page(f"{server.url}/?seq=1152") as page:
        page.get_by_text("it is computed again").wait_for()
        return f"({len(kept)} files overwritten) ... " + page.get_by_text("it is computed again").inner_text()[-75:]


HOSTILE = {
    "huge": "?seq=99999999999999999999&batch=99999999999&tp=1e308",
    "negative": "?seq=-7&batch=-1&heads_q=-5&llm=bare",
    "NaN": "?seq=NaN&set=l2.bytes%3DNaN",
    "infinite": "?set=sm.clock_hz%3D1e999%0Al2.bytes%3D1e400",
    "Unicode": "?llm="
    + quote("\u0663\u0664")
    + "&seq="
    + quote("\u0663")
    + "&set="
    + quote("l2.bytes=\u0663\u202e"),
    "script": "?set=" + quote("<script>document.title='broken'</script>=1") + "&llm=" + quote("<img src=x>"),
    "markup": "?baseline=" + quote("llm=**x**&set=[a](http://example.org)=1") + "&second=" + quote("$x$ :red[y]"),
    "paths": "?gpu=" + quote("../../../etc/passwd") + "&kernel=/etc/shadow&llm=x.toml",
    "unknown keys": "?" + "&".join(f"unknown{n}={n}" for n in range(2000)),
    "sweep": "sweep?vary=" + quote("seq=1.5..1e308*1e200") + "&by=" + quote("'; drop") + "&metric=x",
    "sweep size": "sweep?vary=" + quote("seq=1..999999999999+1\nbatch=1..99999+1\ntp=1..99999+1"),
    "regimes": "regimes?if_l2_mib=NaN&if_tm=-1&if_sms=1e9&if_grid=" + quote("<b>"),
    "timeline": "timeline?sm=99999&align=" + quote("<i>") + "&nth_cta=0&second=" + quote("l2.bytes=-1 sm.count=0"),
}


def hostile_urls(bench: Bench) -> str:
    """Every one of them opens a page with an answer or a sentence."""
    said = []
    with bench.server("hostile") as server:
        for name, query in HOSTILE.items():
            with bench.page(f"{server.url}/{query}") as page:
                page.locator("[data-testid=stMain] h4, [data-testid=stAlertContainer]").first.wait_for()
                page.locator("[data-test-script-state=notRunning]").first.wait_for()
                if page.title() != "Sim-FA" or page.locator("img[src=x], a[href*='example.org']").count():
                    raise Wrong(f"{name}: the URL reached the page as mark-up")
                boxes = page.get_by_test_id("stAlertContainer").count()
                seen = alert(page) if boxes else page.locator("h4").first.inner_text()
                said.append(f"\n    {name}: {' '.join(seen.split())[:150]}")
    return "".join(said)


def url_of_1_mb(bench: Bench) -> str:
    """The server refuses to read it, and a page whose address grows to that size goes on working."""
    long = "x" * 1_000_000
    with bench.server("long") as server, bench.page(f"{server.url}/?seq=500000") as page:
        page.get_by_text("500,000 tokens").first.wait_for()
        status = page.request.get(f"{server.url}/?set={long}").status
        page.evaluate("text => history.replaceState(null, '', '/?seq=500000&set=' + text)", long)
        page.get_by_label("Sequence length (tokens)").fill("400000")
        page.keyboard.press("Enter")
        page.get_by_text("400,000 tokens").first.wait_for()
        if not server.healthy():
            raise Wrong("the server is not healthy any more")
        return f"requested: HTTP {status}; grown in the page: answered as before"


def browser_closed(bench: Bench) -> str:
    """The run goes on without it; the next browser finds it, and it is kept."""
    with bench.server("closed") as server:
        address = server.url + LONG.format(seq=4864)
        with bench.page(address) as page:
            progressing(page)
        with bench.page(address) as page:
            page.get_by_text("of the CTAs retired").wait_for()
            said = page.get_by_test_id("stProgress").first.inner_text().strip()
            page.get_by_text("Simulated: ").first.wait_for()
            return f"the next browser saw: {said}; then the result"


def _server_ended(bench: Bench, sign: signal.Signals, seq: int) -> str:
    with bench.server(sign.name) as server, bench.page(server.url + LONG.format(seq=seq)) as page:
        progressing(page)
        with bench.page(f"{server.url}/sweep?estimator=sim-fa&llm=llama3.1-405b&vary=seq%3D5248,5376") as other:
            other.get_by_role("button", name="Run the sweep").click()
            other.get_by_text("Simulating: ").first.wait_for()
            count = len(server.pids())
            took = server.end(sign)
            left = server.left_over()
            if took is None or left:
                raise Wrong(f"the server took {took} s to end; processes left: {left}")
            page.get_by_text("Connection error").first.wait_for(timeout=60_000)
            said = " ".join(page.get_by_role("dialog").first.inner_text().split())
            return f"{count} processes gone, the server after {took:.1f} s; the page says: {said[:160]}"


def server_terminated(bench: Bench) -> str:
    """SIGTERM with a simulation and a sweep under way."""
    return _server_ended(bench, signal.SIGTERM, 4992)


def server_killed(bench: Bench) -> str:
    """SIGKILL with a simulation and a sweep under way."""
    return _server_ended(bench, signal.SIGKILL, 5120)


def time_limit(bench: Bench) -> str:
    """A simulation over the limit is stopped and said."""
    address = LONG.format(seq=6144)
    with bench.server("limit", SIMFA_TIMEOUT_S="3") as server, bench.page(server.url + address) as page:
        page.get_by_text("The simulation was stopped after 3 s").wait_for()
        page.get_by_role("button", name="Run again").wait_for()
        return alert(page)


FAULTS: tuple[Callable[[Bench], str], ...] = (
    worker_killed_once,
    worker_killed_twice,
    disk_full,
    corrupt_cache,
    hostile_urls,
    url_of_1_mb,
    browser_closed,
    server_terminated,
    server_killed,
    time_limit,
)


def main() -> int:
    """Do every fault, print what was said, return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=[fault.__name__ for fault in FAULTS])
    only = parser.parse_args().only
    path = chromium()
    if path is None:
        print("no Chromium found", file=sys.stderr)
        return 2
    wrong = 0
    folder = Path(tempfile.mkdtemp(prefix="sim-fa-faults-"))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=CHROMIUM_FLAGS)
        for fault in FAULTS:
            if only in (None, fault.__name__):
                wrong += not _done(fault, Bench(browser, folder))
        browser.close()
    shutil.rmtree(folder, ignore_errors=True)
    print(f"{wrong} faults not answered as they should be")
    return 1 if wrong else 0


def _done(fault: Callable[[Bench], str], bench: Bench) -> bool:
    started = time.monotonic()
    try:
        print(f"{fault.__name__}: {fault(bench)} [{time.monotonic() - started:.0f} s]", flush=True)
    except Exception as error:  # the next fault is tried whatever became of this one
        print(f"{fault.__name__}: WRONG: {type(error).__name__}: {error}", flush=True)
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
