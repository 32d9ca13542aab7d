"""Journeys through the Sweep page in a real browser."""

import csv
import io

import pytest

from tests.ui.conftest import screenshot

pytestmark = pytest.mark.browser


def test_a_simulated_sweep_is_found_finished_after_a_reload(open_page):
    page = open_page("sweep?estimator=sim-fa&metric=latency_us&llm=llama3.1-405b&vary=seq%3D1280,1408,1536")
    page.get_by_role("button", name="Run the sweep").click()
    page.get_by_text("Simulating: ").wait_for()
    page.reload()
    page.get_by_text("3 points: 3 done").wait_for()
    page.get_by_text("Latency of one layer from").first.wait_for()
    screenshot(page, "sweep-simulated-1280")
    again = open_page(page.url.split("/", 3)[3])
    again.get_by_text("3 points: 3 done").wait_for()
    told = [shown.get_by_text("Latency of one layer from").first.text_content() for shown in (page, again)]
    assert told[0] == told[1] and "µs" in told[0]


def test_sweep_a_what_if_see_the_best_and_take_the_rows(open_page):
    page = open_page("sweep?llm=llama3.1-405b&seq=65536&metric=dram_bytes&set=sm.count%3D96")
    page.get_by_text("sm.count").first.wait_for()
    varied = page.get_by_label("Varied, one parameter a line")
    varied.fill("l2.effective_bytes=20MiB,30MiB,50MiB\nseq=32768,65536")
    varied.press("Control+Enter")
    page.get_by_text("DRAM traffic").first.wait_for()
    page.get_by_role("tab", name="Heat map").click()
    page.locator(".js-plotly-plot .heatmaplayer image").first.wait_for()
    screenshot(page, "sweep-what-if-1280")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download CSV").click()
    rows = list(csv.DictReader(io.StringIO(download.value.path().read_text())))
    assert [(row["l2.effective_bytes"], row["seq"]) for row in rows] == [
        (str(size * 2**20), seq) for size in (20, 30, 50) for seq in ("32768", "65536")
    ]
    traffic = [float(row["dram_bytes"]) for row in rows if row["seq"] == "65536"]
    assert traffic[0] > traffic[2], "an L2 that holds K and V of a head reads them once"


def test_three_parameters_are_seen_at_once(open_page):
    page = open_page("sweep?vary=seq%3D1024%2C2048%0Abatch%3D1%2C2%0Acausal%3Dfalse%2Ctrue")
    varied = page.get_by_label("Varied, one parameter a line")
    varied.wait_for()
    page.get_by_text("DRAM traffic from").first.wait_for()
    assert varied.evaluate("field => field.scrollHeight - field.clientHeight") <= 0


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (1920, False), (1920, True)])
def test_nothing_scrolls_sideways(open_page, width, dark):
    page = open_page(
        "sweep?by=sensitivity&metric=latency_us&set=l2.effective_bytes%3D20MiB", width=width, dark=dark
    )
    page.get_by_text("moves the latency of one layer most").first.wait_for()
    overflow = page.evaluate(
        "[document.scrollingElement, document.querySelector('[data-testid=stMain]')]"
        ".map(e => e.scrollWidth - e.clientWidth)"
    )
    assert max(overflow) <= 0
    screenshot(page, f"sweep-{width}-{'dark' if dark else 'light'}")


def test_the_baseline_travels_in_the_link(open_page):
    page = open_page("?seq=1024")
    page.get_by_role("button", name="Set as baseline").click()
    page.get_by_text("Baseline: Llama 3 8B, 1,024 tokens").wait_for()
    page.wait_for_url("**baseline=**")
    page.get_by_role("link", name="Sweep").click()
    page.get_by_text("Baseline: Llama 3 8B, 1,024 tokens").wait_for()
    page.locator(".annotation-text", has_text="baseline").first.wait_for(timeout=20_000)
    other = open_page(page.url.split("/", 3)[3])
    other.get_by_text("Baseline: Llama 3 8B, 1,024 tokens").wait_for()
    marks = [shown.locator(".annotation-text", has_text="baseline").first for shown in (page, other)]
    marks[1].wait_for(timeout=20_000)
    assert marks[0].text_content() == marks[1].text_content() != ""
    screenshot(other, "sweep-baseline-1280")
