"""A real server and a real browser for the journeys. Without Chromium they skip, unless that is forbidden."""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ARTIFACTS = ROOT / "artifacts"
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def chromium() -> str | None:
    """The path of a Chromium or Chrome on this machine."""
    return next((found for name in CHROMIUM_NAMES if (found := shutil.which(name))), None)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def server():
    """The app on a free loopback port; yields its address."""
    port = free_port()
    command = [sys.executable, "-m", "streamlit", "run", "dashboard/app.py", "--server.port", str(port)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        wait_until_answered(f"http://127.0.0.1:{port}/_stcore/health", process)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()


def wait_until_answered(address: str, process: subprocess.Popen[str]) -> None:
    """Until the server that `process` is answers there."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if process.poll() is not None:
            pytest.fail(f"the server ended at once:\n{process.stdout.read() if process.stdout else ''}")
        try:
            with urllib.request.urlopen(address, timeout=1):
                return
        except OSError:
            time.sleep(0.2)
    pytest.fail(f"{address} did not answer within 60 s")


@pytest.fixture(scope="session")
def browser():
    """Headless Chromium, or a skip that says how to get one; SIMFA_REQUIRE_BROWSER=1 makes that a failure."""
    path = chromium()
    if path is None:
        reason = f"no Chromium found (looked for {', '.join(CHROMIUM_NAMES)}): browser journeys did not run"
        if os.environ.get("SIMFA_REQUIRE_BROWSER") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=CHROMIUM_FLAGS)
        yield running
        running.close()


FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    report = yield
    if report.when == "call":
        item.stash[FAILED] = report.failed
    return report


def tell_what_was_seen(page, name: str) -> None:
    """After a failure: where the page was, what it said, and its picture."""
    ARTIFACTS.mkdir(exist_ok=True)
    try:
        print(f"{page.url}\n{page.locator('body').aria_snapshot(timeout=5_000)}")
        page.screenshot(path=ARTIFACTS / f"failed-{name}.png", timeout=20_000)
    except Exception as error:  # a page that is gone must not hide why the test failed
        print(f"the page could not be seen: {error}")


@pytest.fixture
def open_page(browser, server, request):
    """`open_page(query, width=1280, dark=False)`: a fresh session; fails on errors in the browser's console."""
    contexts, errors = [], []

    def opened(query: str = "", width: int = 1280, dark: bool = False):
        scheme = "dark" if dark else "light"
        context = browser.new_context(
            viewport={"width": width, "height": 800}, color_scheme=scheme, accept_downloads=True
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(120_000)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(f"{server}/{query}")
        return page

    yield opened
    for context in contexts:
        if request.node.stash.get(FAILED, False):
            for page in context.pages:
                tell_what_was_seen(page, re.sub(r"\W+", "-", request.node.name))
        context.close()
    assert errors == []


def screenshot(page, name: str) -> None:
    """Keep a picture of the whole page under artifacts/."""
    ARTIFACTS.mkdir(exist_ok=True)
    width = page.viewport_size["width"]
    height = page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight")
    page.set_viewport_size({"width": width, "height": int(height) + 40})
    page.wait_for_timeout(800)
    page.screenshot(path=ARTIFACTS / f"{name}.png")
    page.set_viewport_size({"width": width, "height": 800})
