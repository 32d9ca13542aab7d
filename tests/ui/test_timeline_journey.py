"""Journeys through the Timeline page in a real browser: zoom, select, lay two runs side by side, export."""

import json

import pytest

from tests.ui.conftest import screenshot

pytestmark = pytest.mark.browser

PLOT = ".st-key-timeline .js-plotly-plot"
RANGES = f"""() => {{
    const layout = document.querySelector('{PLOT}')?.layout;  // for a moment there is no figure
    return layout ? [...layout.xaxis.range, ...layout.xaxis2.range] : [];
}}"""


WATCH_TABLE = """() => {
    window.places = [];
    const look = () => {
        const table = document.querySelector('[data-testid=stTable]');
        if (table) window.places.push(table.getBoundingClientRect().y);
        requestAnimationFrame(look);
    };
    look();
}"""


IN_PLACE = f"""() => {{
    const plots = document.querySelectorAll('{PLOT}'), app = document.querySelector('[data-testid=stApp]');
    const bars = document.querySelectorAll('{PLOT} .bars path').length;
    const now = plots.length === 1 && plots[0].offsetWidth > 0 && bars > 20 && plots[0];
    const calm = now && now === window.wasInPlace && app.dataset.testScriptState !== 'running';
    window.wasInPlace = now;
    return calm;
}}"""


def drawn(page) -> None:
    """One figure in sight, with its bars, and no other on its way: a new one hides the one that it replaces."""
    page.wait_for_function(IN_PLACE, polling=200)


def status(page, runs: int = 1) -> None:
    page.wait_for_function(
        f"(document.body.innerText.match(/Simulated: |Worked example, /g) || []).length >= {runs}"
    )
    page.get_by_text("Stale: this is").wait_for(state="detached")
    drawn(page)


def drag(page, start: float, end: float, rows: float = 0.5) -> None:
    """Drag over the pipeline from one share of its width to another."""
    drawn(page)
    box = page.locator(f"{PLOT} .nsewdrag").first.bounding_box()
    y = box["y"] + box["height"] * rows
    page.mouse.move(box["x"] + box["width"] * start, y)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * end, y + 4, steps=6)
    page.mouse.up()


def put(page, label: str, value: str) -> None:
    field = page.get_by_label(label, exact=True).and_(page.locator("input"))
    field.fill(value)
    field.press("Enter")


def test_zoom_is_reported_below_and_outlives_another_sm_and_a_second_run(open_page):
    page = open_page("timeline")
    status(page)
    page.get_by_text("Visible window: 30,000 cycles").wait_for()
    screenshot(page, "timeline-1280")
    drag(page, 0.25, 0.40)
    page.get_by_text("Visible window: 30,000 cycles").wait_for(state="detached")
    zoomed = page.evaluate(RANGES)
    assert zoomed[0] == pytest.approx(7_500, abs=300) and zoomed[1] == pytest.approx(12_000, abs=300)
    assert [edge / 1830 for edge in zoomed[:2]] == pytest.approx(zoomed[2:])  # microseconds follow the cycles
    page.get_by_text(f"from {zoomed[0]:,.0f} to {zoomed[1]:,.0f}").wait_for()
    put(page, "SM", "5")
    page.get_by_text("Simulated: ").wait_for()
    status(page)
    assert page.evaluate(RANGES) == pytest.approx(zoomed)
    put(page, "Second run: what if", "tma.inflight_lines=128")
    page.get_by_text("against 336 µs").first.wait_for()
    status(page, runs=2)
    assert page.evaluate(RANGES) == pytest.approx(zoomed)
    page.get_by_text(f"from {zoomed[0]:,.0f} to {zoomed[1]:,.0f}").wait_for()


def test_the_keyboard_moves_the_window(open_page):
    page = open_page("timeline")
    status(page)
    page.get_by_text("Visible window: 30,000 cycles").wait_for()
    page.keyboard.press("Shift+ArrowRight")
    page.get_by_text("from 24,000 to 54,000").wait_for()
    page.wait_for_function(f"({RANGES})()[0] === 24000")
    page.wait_for_timeout(1500)  # a late word of the figure before it would bring that one back, and so on for ever
    drawn(page)
    assert page.evaluate(RANGES)[:2] == pytest.approx([24_000, 54_000])
    assert page.get_by_text("from 24,000 to 54,000").count() == 1


def test_windows_asked_for_faster_than_they_are_drawn_end_at_one(open_page):
    page = open_page("timeline")
    status(page)
    page.get_by_text("Visible window: 30,000 cycles").wait_for()
    for key in ("Shift+ArrowRight", "Shift+ArrowRight", "ArrowRight", "Shift+ArrowLeft", "Shift+ArrowRight"):
        page.keyboard.press(key)
        page.wait_for_timeout(250)
    page.wait_for_timeout(2500)
    drawn(page)
    start, end = page.evaluate(RANGES)[:2]
    page.get_by_text(f"from {start:,.0f} to {end:,.0f}").wait_for(timeout=5_000)
    page.wait_for_timeout(1000)
    assert page.evaluate(RANGES)[:2] == [start, end] != [0, 30_000]


def test_arrow_keys_pan_the_figure_but_not_from_a_field(open_page):
    page = open_page("timeline")
    status(page)
    page.locator(f"{PLOT}[tabindex='0']").wait_for()  # by now the page listens
    page.keyboard.press("ArrowRight")
    page.get_by_text("from 7,500 to 37,500").wait_for()
    page.locator(PLOT).focus()
    page.keyboard.press("ArrowLeft")
    page.get_by_text("from 0 to 30,000").wait_for()
    page.get_by_label("Second run: what if", exact=True).and_(page.locator("input")).focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_timeout(600)
    assert page.evaluate(RANGES)[:2] == pytest.approx([0, 30_000])


def test_arrow_keys_stay_within_the_run(open_page):
    page = open_page("timeline")
    status(page)
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
        page.wait_for_timeout(400)
    start, end = page.evaluate(RANGES)[:2]
    assert start >= -1 and end - start == pytest.approx(30_000, abs=30)
    page.keyboard.press("ArrowRight")
    page.wait_for_function(f"Math.abs(({RANGES})()[0] - 7500) < 10")


def test_a_double_click_goes_back_after_later_too(open_page):
    page = open_page("timeline")
    status(page)
    page.get_by_role("button", name="Later").click()
    page.get_by_text("from 24,000 to 54,000").wait_for()
    drawn(page)
    box = page.locator(f"{PLOT} .nsewdrag").first.bounding_box()
    page.mouse.dblclick(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.get_by_text("from 0 to 30,000").wait_for()
    drawn(page)
    assert page.evaluate(RANGES)[:2] == pytest.approx([0, 30_000])


def test_a_double_click_goes_back_where_a_zoom_was_drawn_finer(open_page):
    page = open_page(
        "timeline?params=paper&second=tma.inflight_lines%3D128"
    )  # with more spans than are drawn at once
    status(page, runs=2)
    page.get_by_text("from 0 to 30,000").wait_for()
    drag(page, 0.3, 0.6)
    page.get_by_text("from 0 to 30,000").wait_for(state="detached")
    page.wait_for_function("location.search.includes('window=')")
    drawn(page)
    box = page.locator(f"{PLOT} .nsewdrag").first.bounding_box()
    page.mouse.dblclick(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.get_by_text("from 0 to 30,000").wait_for()
    page.wait_for_timeout(1500)  # it used to jump back
    assert page.evaluate(RANGES)[:2] == pytest.approx([0, 30_000])


def test_a_box_selects_a_window_for_the_table(open_page):
    page = open_page("timeline?seq=1024")
    status(page)
    page.locator(f"{PLOT} .modebar-btn[data-title='Box Select']").click()
    drag(page, 0.1, 0.6)
    selected = page.get_by_text("Selected window: ")
    selected.wait_for()
    assert float(selected.inner_text().split(" ")[2].replace(",", "")) == pytest.approx(15_000, abs=600)


@pytest.mark.parametrize(("width", "dark"), [(1280, True), (1920, False), (1920, True)])
def test_two_aligned_runs_fit_the_page(open_page, width, dark):
    query = "timeline?second=tma.inflight_lines%3D128&align=tile&nth_cta=2&nth_tile=3"
    page = open_page(query, width=width, dark=dark)
    status(page, runs=2)
    page.get_by_text("SM cycles from the softmax of K/V tile 3 of CTA 2").first.wait_for()
    drawn(page)
    overflow = page.evaluate(
        "[document.scrollingElement, document.querySelector('[data-testid=stMain]')]"
        ".map(e => e.scrollWidth - e.clientWidth)"
    )
    assert max(overflow) <= 0
    screenshot(page, f"timeline-two-{width}-{'dark' if dark else 'light'}")


def test_the_trace_is_downloaded_with_threads_and_counters(open_page):
    page = open_page("timeline?seq=512")
    status(page)
    page.get_by_test_id("stPopoverButton").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Chrome trace").click()
    assert download.value.suggested_filename == "llama3-8b_h800_512_sm0.json"
    events = json.loads(download.value.path().read_text())["traceEvents"]
    assert {"M", "X", "C"} == {event["ph"] for event in events}


def test_arriving_results_do_not_move_the_figure(open_page):
    page = open_page("timeline")
    status(page)
    page.evaluate(WATCH_TABLE)
    put(page, "SM", "11")
    page.get_by_text("Simulated: ").wait_for()
    status(page)
    page.get_by_text("SM 11: tensor core busy").first.wait_for()
    places = page.evaluate("window.places")
    assert max(places) - min(places) <= 1
