"""A server set up for several people, as dashboard/SHARED.md says: address, base path, hosts, uploads."""

import http.client
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.ui.conftest import ROOT, free_port

APP = ROOT / "dashboard" / "app.py"
WEBSOCKET = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "c2ltLWZhLXNpbS1mYS1zaQ==",
}


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    """A server below /fa, for one host name, with uploads of 1 MB, started from a folder of no meaning."""
    port = free_port()
    environment = os.environ | {
        "STREAMLIT_SERVER_PORT": str(port),
        "STREAMLIT_SERVER_BASE_URL_PATH": "fa",
        "STREAMLIT_SERVER_MAX_UPLOAD_SIZE": "1",
        "STREAMLIT_SERVER_ALLOWED_HOSTS": "simfa.example.org 127.0.0.1",
    }
    command = [sys.executable, "-m", "streamlit", "run", str(APP)]
    folder = tmp_path_factory.mktemp("elsewhere")
    process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while time.monotonic() < until and process.poll() is None and status(port, "/fa/_stcore/health") != 200:
        time.sleep(0.2)
    yield port
    process.terminate()
    process.wait(30)


def status(port, path, **headers):
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        connection.request("GET", path, headers=headers)
        return connection.getresponse().status
    except OSError:
        return None


def stream(port, host, origin):
    """The status of asking for the page's websocket: 101 when it is let in."""
    return status(port, "/fa/_stcore/stream", Host=host, Origin=origin, **WEBSOCKET)


def test_the_health_endpoint_stands_below_the_base_path(port):
    assert status(port, "/fa/_stcore/health") == 200 == status(port, "/fa/")


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="reads listening addresses from /proc")
def test_it_listens_on_loopback_only_wherever_it_was_started(port):
    lines = [line.split() for file in ("tcp", "tcp6") for line in _table(file)]
    listening = [line[1].split(":") for line in lines if line[3] == "0A"]
    addresses = {socket.inet_ntoa(bytes.fromhex(a)[::-1]) for a, p in listening if int(p, 16) == port}
    assert addresses == {"127.0.0.1"}


def _table(name):
    file = Path("/proc/net") / name
    return file.read_text().splitlines()[1:] if file.exists() else []


def test_a_proxys_host_is_let_in_and_other_hosts_and_origins_are_not(port):
    assert stream(port, "simfa.example.org", "https://simfa.example.org") == 101
    assert stream(port, "evil.example.org", "https://evil.example.org") == 403
    assert stream(port, "simfa.example.org", "https://evil.example.org") == 403


@pytest.mark.browser
def test_an_upload_over_the_limit_is_refused_in_words(browser, port):
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.goto(f"http://127.0.0.1:{port}/fa/measured")
    page.locator("input[type=file]").set_input_files(
        [{"name": "large.csv", "mimeType": "text/csv", "buffer": b"0" * 1_200_000}]
    )
    page.get_by_text("File must be 1.0MB or smaller").wait_for()
    assert page.get_by_text("Traceback").count() == 0
    context.close()


@pytest.mark.browser
def test_a_server_with_a_wrong_value_says_so_on_its_page(browser):
    port = free_port()
    environment = os.environ | {"SIMFA_SIMULATIONS": "many", "STREAMLIT_SERVER_PORT": str(port)}
    command = [sys.executable, "-m", "streamlit", "run", str(APP)]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 60
        while time.monotonic() < until and status(port, "/_stcore/health") != 200:
            time.sleep(0.2)
        context = browser.new_context()
        page = context.new_page()
        page.goto(f"http://127.0.0.1:{port}/")
        page.get_by_text("SIMFA_SIMULATIONS: 'many' is not a whole number of simulations; write it as 4").wait_for()
        assert page.get_by_text("Traceback").count() == 0
        context.close()
    finally:
        process.terminate()
        process.wait(30)
