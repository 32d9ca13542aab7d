"""Journeys through the Measured page in a real browser: upload, match, table, download, equal numbers."""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ui.conftest import ROOT, screenshot

pytestmark = pytest.mark.browser

DATA = Path(__file__).parents[1] / "dashboard" / "measured" / "data"
GB10 = DATA / "gb10_b1_h8_s4096_d128_float16_noncausal.csv"
HOSTILE = "attn<img src=x onerror=document.title='broken'> **b** :red[x] :smile: $y$ [z](http://example.org)"


def headless(*options):
    """What `python -m dashboard measured --compare` says, by its own process."""
    command = [sys.executable, "-m", "dashboard", "measured", *options, "--compare", "--json"]
    return json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout)


@pytest.fixture
def measured(open_page):
    """`measured(**how)`: the page, reached from the first screen as a user does."""

    def opened(**how):
        page = open_page(**how)
        page.get_by_role("link", name="Measured").click()
        page.get_by_text("public measurements against the estimators").wait_for()
        page.locator(".js-plotly-plot").first.wait_for()
        return page

    return opened


def upload(page, *files):
    page.locator("input[type=file]").set_input_files([*files])


def as_file(name, content):
    return {"name": name, "mimeType": "text/csv", "buffer": content.encode()}


def download(page, label):
    with page.expect_download() as came:
        page.get_by_role("button", name=label).click()
    return came.value.path().read_bytes()


def sideways(page):
    return page.evaluate(
        "Math.max(...[document.scrollingElement, document.querySelector('[data-testid=stMain]')]"
        ".map(e => e.scrollWidth - e.clientWidth))"
    )


def type_into_cell(page, column_centre_px, text):
    """Type into the first row of the matching table, which is drawn on a canvas."""
    grid = page.get_by_test_id("stDataFrame").first
    grid.click(position={"x": column_centre_px, "y": 52})
    page.keyboard.press("Enter")
    page.locator("#portal input").fill(text)
    page.keyboard.press("Enter")


def wait_for_explained(page, shape):
    """Wait until the kernel that is explained has this shape: it stands in the value of a select box."""
    page.wait_for_function(
        "shape => [...document.querySelectorAll('input')].some(e => e.value.includes(shape))", arg=shape
    )


def instant(rows):
    """Those of estimators that answer at once: nobody has asked the page to simulate."""
    return [row for row in rows if row["estimator"] != "sim-fa"]


def test_upload_match_table_download_and_the_same_numbers_as_headless(measured, tmp_path):
    file = tmp_path / "fa_noncausal.csv"
    file.write_bytes(GB10.read_bytes())
    page = measured()
    upload(page, file)
    page.get_by_text("1 of them attention by name").wait_for()
    page.get_by_text("Your files: nothing to compare yet").wait_for()
    screenshot(page, "measured-missing-1280")
    type_into_cell(page, 765, "128")  # head dimension
    page.get_by_text("1 kernel of your files").wait_for()
    page.get_by_text("exactly Eq. (2) (1,090,519,040 B)").wait_for()
    rows = instant(csv.DictReader(io.StringIO(download(page, "Errors as CSV").decode())))
    report = headless(str(file), "--head-dim", "128", "--estimators", "simfa-python,genz")
    assert len(rows) == len(report["rows"]) == 6
    for row, expected in zip(rows, report["rows"], strict=True):
        for key, value in expected.items():
            text = "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
            assert row[key] == text, key
    l2 = next(row for row in rows if (row["estimator"], row["quantity"]) == ("simfa-python", "l2_bytes"))
    assert float(l2["error_pct"]) == 0.0
    record = json.loads(download(page, "Full record as JSON"))
    assert instant(record["rows"]) == report["rows"] and instant(record["summary"]) == report["summary"]
    assert download(page, "Errors as Parquet")[:4] == b"PAR1"
    assert b"plotly" in download(page, "Figure as HTML")
    screenshot(page, "measured-upload-1280")


def test_edits_and_files_outlive_a_visit_to_another_page(measured):
    page = measured()
    upload(page, GB10)
    page.get_by_text("1 kernel of your files").wait_for()
    type_into_cell(page, 420, "2048")  # query length
    wait_for_explained(page, "L 2,048, 8 heads of 128")
    page.get_by_role("link", name="Compare").click()
    page.get_by_role("heading", name="Llama 3 8B, 4,096 tokens").wait_for()
    page.get_by_role("link", name="Measured").click()
    page.get_by_text("1 kernel of your files").wait_for()
    wait_for_explained(page, "L 2,048, 8 heads of 128")
    assert page.get_by_text("Traceback").count() == 0


def test_a_refusal_a_question_and_its_answer(measured):
    page = measured()
    upload(page, DATA / "all_na.csv", DATA / "ambiguous.csv")
    page.get_by_text("Not read. all_na.csv: every metric reads n/a").wait_for()
    page.get_by_text("which decimal separator do its numbers have?").wait_for()
    screenshot(page, "measured-refusal-1280")
    page.get_by_role("button", name="Comma, as in 1.234,5").click()
    page.get_by_text("which decimal separator do its numbers have?").wait_for(state="detached")
    assert page.get_by_text("Traceback").count() == 0


def test_a_kernel_name_with_markup_is_shown_as_text(measured):
    page = measured()
    content = GB10.read_text().replace("flash_fwd_kernel_fp32acc_aligned", HOSTILE)
    title = page.title()
    upload(page, as_file("b1_h8_s4096_d128 **x** :red[y].csv", content))
    page.get_by_text("b1_h8_s4096_d128 **x** :").first.wait_for()
    page.get_by_text("GPU (1 without)").wait_for(state="detached")
    page.get_by_text("1 kernel of your files").wait_for()
    page.locator(".js-plotly-plot").first.wait_for()
    assert page.title() == title
    assert page.locator("img[src=x]").count() == 0
    assert page.locator("[data-testid=stMain] a[href*='example.org']").count() == 0
    screenshot(page, "measured-hostile-1280")


@pytest.mark.parametrize(
    ("width", "dark"),
    [
        (1280, False),
        pytest.param(1920, True, marks=pytest.mark.slow),
        pytest.param(1280, True, marks=pytest.mark.slow),
        pytest.param(1920, False, marks=pytest.mark.slow),
    ],
)
def test_the_gallery_fits_and_does_not_scroll_sideways(measured, width, dark):
    page = measured(width=width, dark=dark)
    assert sideways(page) <= 0
    screenshot(page, f"measured-gallery-{width}-{'dark' if dark else 'light'}")


@pytest.mark.slow  # the page's own tests hold the same without a browser
def test_two_browsers_see_their_own_files_only(measured):
    first, second = measured(), measured()
    upload(first, GB10)
    first.get_by_text("1 kernel of your files").wait_for()
    second.reload()
    second.get_by_text("public measurements against the estimators").wait_for()
    assert second.get_by_text(GB10.name).count() == 0
