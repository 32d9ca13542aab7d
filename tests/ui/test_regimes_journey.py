"""A journey through Regimes in a real browser: move a slider, read the transition, ask why, take the data."""

import csv
import io

import pytest

from analytical import explain
from tests.analytical.test_launch_order import gb10
from tests.ui.cards import VALUES
from tests.ui.conftest import screenshot

pytestmark = pytest.mark.browser

GB10 = "regimes?llm=bare&heads_q=8&heads_kv=8&gpu=gb10&kernel=cutile-fa-64x64"
OVERFLOW = (
    "[document.scrollingElement, document.querySelector('[data-testid=stMain]')]"
    ".map(e => e.scrollWidth - e.clientWidth)"
)


def drawn(page, charts: int = 2) -> None:
    page.locator(".js-plotly-plot").nth(charts - 1).wait_for()
    page.locator(VALUES).nth(2).wait_for()


def test_move_the_l2_read_the_transition_and_share_the_link(open_page):
    page = open_page("regimes?llm=llama3.1-405b&seq=32768")
    drawn(page)
    page.get_by_text("leaves the ideal line at 51,200 tokens (Eq. 4)").wait_for()
    slider = page.get_by_role("slider", name="Effective L2 (MiB)")
    slider.focus()
    for _ in range(10):
        slider.press("ArrowLeft")
    page.get_by_text("leaves the ideal line at 30,720 tokens (Eq. 4)").wait_for()  # 15 MiB / 512 B a token
    page.get_by_text("Eq. (4) does not hold: 32 waves of 132 CTAs").wait_for()
    page.wait_for_url("**if_l2_mib=15.0**")
    again = open_page(page.url.split("/", 3)[3])
    drawn(again)
    again.get_by_text("leaves the ideal line at 30,720 tokens (Eq. 4)").wait_for()
    assert "if_l2_mib=15.0" in again.url and again.get_by_text("Traceback").count() == 0
    screenshot(again, "regimes-what-if-1280")


def test_ask_why_and_take_the_data(open_page):
    page = open_page(GB10)
    drawn(page)
    page.get_by_role("button", name="Why?").nth(2).click()
    body = page.get_by_test_id("stPopoverBody")
    body.get_by_text("Share of K/V lost per pass").wait_for()
    body.get_by_text("Where the values come from").wait_for()
    step = explain.derive(gb10(False), "simfa-launch-order").steps["M_DRAM"]
    body.locator(".katex").first.wait_for()
    assert step.said() in body.locator(".katex").first.inner_text().replace("\xa0", " ")
    widths = body.evaluate("e => [...e.querySelectorAll('.katex-html')].map(k => k.scrollWidth - e.clientWidth)")
    assert max(widths) <= 0  # no formula is wider than its frame
    screenshot(page, "regimes-why-1280")
    page.keyboard.press("Escape")
    body.wait_for(state="detached")
    page.get_by_role("button", name="Download the data").click()
    with page.expect_download(timeout=30_000) as download:
        page.get_by_role("button", name="Download CSV").click()
    rows = list(csv.DictReader(io.StringIO(download.value.path().read_text())))
    values = {(row["estimator"], row["quantity"], row["length"]): row["bytes"] for row in rows}
    assert values["simfa-launch-order", "dram_bytes", "4096"] == str(step.value)
    assert values["measured", "dram_bytes", "4096"] == "55635904.0"


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (1920, False), (1920, True)])
def test_nothing_scrolls_sideways_and_the_chart_is_on_the_first_screen(open_page, width, dark):
    page = open_page(GB10, width=width, dark=dark)
    drawn(page)
    assert max(page.evaluate(OVERFLOW)) <= 0
    box = page.locator(".js-plotly-plot").first.bounding_box()
    assert box["y"] + box["height"] <= 800
    screenshot(page, f"regimes-{width}-{'dark' if dark else 'light'}")


def test_an_impossible_tile_and_the_boundary_look_like_what_they_are(open_page):
    page = open_page("regimes?seq=51200&if_tm=256&peer=true", width=1280)
    drawn(page)
    page.get_by_text("Impossible tile: ").wait_for()
    page.get_by_text("exactly at the Eq. (4) boundary").wait_for()
    assert max(page.evaluate(OVERFLOW)) <= 0
    screenshot(page, "regimes-impossible-1280")


def test_back_and_forward_go_from_page_to_page(open_page):
    """Each step waits until its page stands: a person looks at a page before leaving it."""
    pages = {"regimes": "Effective L2 (MiB)", "presets": "What is assumed", "validation": "Overview"}

    def stands(name):
        page.wait_for_url(f"**/{name}?seq=8192")
        page.get_by_text(pages[name]).first.wait_for()
        page.wait_for_function(
            "document.querySelector('[data-testid=stApp]').dataset.testScriptState === 'notRunning'"
        )
        page.wait_for_timeout(500)

    page = open_page("regimes?seq=1024")
    length = page.get_by_label("Sequence length (tokens)")
    length.fill("8192")
    length.press("Enter")
    stands("regimes")
    for name in ("presets", "validation"):
        page.get_by_role("link", name=name.capitalize()).click()
        stands(name)
    for name in ("presets", "regimes"):
        page.go_back()
        stands(name)
    assert length.input_value() == "8192"
    page.go_forward()
    stands("presets")
    assert page.get_by_role("heading", name="What is assumed: Llama 3 8B, 8,192 tokens").is_visible()
