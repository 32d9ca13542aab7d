"""A report taken from a page and opened offline, and the tour, in a real browser."""

import pytest

from tests.ui.conftest import screenshot

pytestmark = pytest.mark.browser

HOSTILE = "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"


@pytest.fixture
def offline(browser, tmp_path):
    """`offline(file, width, dark)`: the file opened without a network; fails on any request or console message."""
    contexts, seen = [], []

    def opened(file, width=1280, dark=False):
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light", offline=True
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: seen.append(message.text))
        page.on("pageerror", lambda error: seen.append(str(error)))
        page.on("request", lambda request: None if request.is_navigation_request() else asked(request.url))
        page.goto(file.as_uri())
        return page

    def asked(url):
        if not url.startswith(("data:", "blob:")):
            seen.append(url)

    yield opened
    for context in contexts:
        context.close()
    assert seen == []


def taken(page, tmp_path):
    with page.expect_download() as came:
        page.get_by_role("button", name="Download the report").click()
    file = tmp_path / came.value.suggested_filename
    came.value.save_as(file)
    return file


def plots(page):
    page.locator(".plot .main-svg").first.wait_for(state="attached")  # its policy forbids scripts in strings
    return page.locator(".plot").count()


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1920, True)])
def test_a_report_opens_offline_with_its_figures_and_the_numbers_of_the_page(
    open_page, offline, tmp_path, width, dark
):
    page = open_page("?llm=llama3.1-405b&seq=65536&peer=true", width=width, dark=dark)
    page.get_by_text("leaves the ideal line at 51,200 tokens").first.wait_for()
    page.get_by_text("Extrapolated from a sample").wait_for()  # else the page is drawn anew while it is read
    table = page.get_by_role("table").first.inner_text()
    report = offline(taken(page, tmp_path), width, dark)
    assert plots(report) == 2
    assert report.evaluate("document.documentElement.scrollWidth") <= width
    shown = report.get_by_role("table").first.inner_text()
    assert "21,206" in shown and shown.split() == table.split()
    address = report.locator("code").inner_text()
    assert address.startswith("http://127.0.0.1:") and "seq=65536" in address and "peer=true" in address
    again = open_page(address.partition("/")[2].partition("/")[2].partition("/")[2], width=width)
    again.get_by_text("Llama 3.1 405B, 65,536 tokens").first.wait_for()
    again.get_by_text("LLM-Viewer (peer)").first.wait_for()


def test_files_asked_for_at_once_come_once_each(open_page):
    page = open_page()
    page.get_by_role("button", name="Download CSV").wait_for()
    came = []
    page.on("download", lambda download: came.append(download.suggested_filename))
    for form in ("CSV", "JSON", "Parquet"):
        page.get_by_role("button", name=f"Download {form}").click()
    page.wait_for_timeout(4000)  # a file that was handed over again would have come by now
    stem = "compare_llama3-8b_h800_4096"
    assert sorted(came) == [f"{stem}.{ending}" for ending in ("csv", "json", "parquet")]


def test_a_click_while_the_page_is_drawn_anew_still_brings_the_report(open_page, tmp_path):
    page = open_page("timeline")
    page.get_by_text("Report and citation").wait_for()
    page.get_by_text("Visible window: ").wait_for()
    batch = page.get_by_label("Batch", exact=True).and_(page.locator("input"))
    for number, delay_ms in enumerate((0, 100, 1800), start=2):
        batch.fill(str(number))
        batch.press("Enter")
        page.wait_for_timeout(delay_ms)
        assert taken(page, tmp_path).stat().st_size > 10**6


def test_text_of_a_report_follows_the_colour_scheme_and_paper_is_light(open_page, offline, tmp_path):
    page = open_page("validation?study=fa3")
    page.get_by_text("Report and citation").wait_for()
    report = offline(taken(page, tmp_path), dark=True)
    plots(report)
    ink = "getComputedStyle(document.querySelector('.plot .xtitle')).fill"
    assert report.evaluate(ink) == "rgb(230, 233, 237)"
    report.emulate_media(color_scheme="light")
    report.wait_for_timeout(1000)
    assert report.evaluate(ink) == "rgb(27, 31, 36)"


def test_hostile_names_from_a_file_do_nothing_in_the_opened_report(open_page, offline, tmp_path):
    page = open_page("measured")
    page.get_by_text("public measurements against the estimators").wait_for()
    name = HOSTILE.replace(",", "")
    content = f'label,llm,gpu,seq,latency_us,dram_bytes\n"{name}",llama3-8b,h800,4096,400,83886080\n'
    page.locator("input[type=file]").set_input_files(
        {"name": "<img src=x>.csv", "mimeType": "text/csv", "buffer": content.encode()}
    )
    page.get_by_text("1 kernel of your files against the estimators").wait_for()
    report = offline(taken(page, tmp_path))
    assert plots(report) >= 1
    assert "window.hacked" in report.locator("body").inner_text()
    assert report.evaluate("window.hacked") is None and report.locator("img").count() == 0
    assert "window.hacked" not in page.url and "hacked" not in report.locator("code").inner_text()


def test_a_zoomed_timeline_is_in_the_url_and_opens_there(open_page):
    page = open_page("timeline?window=4000..9000")
    page.get_by_text("Visible window: 5,000 cycles").wait_for()
    page.get_by_role("button", name="Later").click()
    page.get_by_text("from 8,000 to 13,000").wait_for()
    page.wait_for_function("location.search.includes('window=8000..13000')")
    again = open_page("timeline" + page.evaluate("location.search"))
    again.get_by_text("from 8,000 to 13,000").wait_for()
    assert "window=8000..13000" in again.url


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (1920, False), (1920, True)])
def test_the_tour_fits_its_width(open_page, width, dark):
    page = open_page("tour", width=width, dark=dark)
    page.get_by_text("4.65 times").first.wait_for()
    page.wait_for_function("document.querySelectorAll('.js-plotly-plot .main-svg').length >= 8")
    overflow = "[...document.querySelectorAll('.main-svg')].map(e => e.getBoundingClientRect().right - innerWidth)"
    assert max(page.evaluate(overflow)) <= 0
    screenshot(page, f"tour-{width}-{'dark' if dark else 'light'}")


def test_a_link_of_the_tour_opens_the_page_it_promises(open_page):
    page = open_page("tour")
    with page.context.expect_page(timeout=120_000) as came:
        page.get_by_role("link", name="This launch in Regimes").click()
    came.value.get_by_text("8 KV heads must stay in L2").wait_for()
    came.value.get_by_text("Measured (DRAM by L2 misses: an estimate)").wait_for()
