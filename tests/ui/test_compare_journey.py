"""Journeys through the Compare page in a real browser."""

import csv
import io
import json
import subprocess
import sys

import pytest
from playwright.sync_api import expect

from tests.ui.cards import VALUES
from tests.ui.conftest import ROOT, screenshot

pytestmark = pytest.mark.browser


GANTT_IS_DRAWN = """rows => {
    const plot = [...document.querySelectorAll('.js-plotly-plot')].at(-1);
    const labels = plot ? [...plot.querySelectorAll('.ytick')].map(tick => tick.textContent.trim()) : [];
    return rows.every(row => labels.includes(row)) && plot.querySelectorAll('.bars path').length > 20;
}"""


def headless(options: str) -> list[dict[str, object]]:
    """What `python -m dashboard compare` says, by its own process."""
    command = [sys.executable, "-m", "dashboard", "compare", *options.split(), "--format", "json"]
    return json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout)


def wait_for_simulation(page) -> None:
    page.get_by_text("Simulated: ").wait_for()
    page.wait_for_function(
        f"[...document.querySelectorAll('{VALUES}')].length == 3"
        f" && [...document.querySelectorAll('{VALUES}')].every(e => e.innerText.includes('µs'))"
    )


def pick(page, label: str, option: str) -> None:
    choice = page.get_by_role("combobox", name=label)
    choice.click()
    page.get_by_role("option", name=option, exact=True).click()
    expect(choice).to_have_value(option)


def test_pick_a_model_wait_for_the_simulation_see_the_gantt_and_download_the_same_numbers(open_page):
    page = open_page()
    page.get_by_role("heading", name="Llama 3 8B, 4,096 tokens").wait_for()
    pick(page, "Model", "Llama 3 70B")
    page.get_by_role("heading", name="Llama 3 70B, 4,096 tokens").wait_for()
    wait_for_simulation(page)
    page.get_by_text("Stale: ").wait_for(state="detached")
    page.wait_for_function(GANTT_IS_DRAWN, arg=["producer", "consumer 1", "consumer 2", "tensor core"])
    with page.expect_download() as download:
        page.get_by_role("button", name="Download CSV").click()
    rows = list(csv.DictReader(io.StringIO(download.value.path().read_text())))
    records = headless("--llm llama3-70b --gpu h800 --seq 4096")
    assert [row["estimator"] for row in rows] == ["simfa-python", "genz", "sim-fa"]
    for row, record in zip(rows, records, strict=True):
        for key in ("latency_us", "tflops", "flops", "l2_bytes", "dram_read_bytes", "dram_write_bytes", "waves"):
            assert row[key] == ("" if record[key] is None else str(record[key])), key
    assert rows[2]["cycles"] == str(records[2]["cycles"])
    screenshot(page, "compare-1280")


def test_the_first_screen_has_all_three_answers_without_a_click(open_page):
    page = open_page()
    page.get_by_text("Worked example").wait_for()
    cards = page.locator(VALUES)
    cards.nth(2).wait_for()
    page.get_by_role("table").wait_for()
    assert [card.inner_text() for card in cards.all()] == ["295 µs", "278 µs", "336 µs"]
    table = page.get_by_role("table").inner_text()
    assert "DRAM traffic (MB)" in table and "tensor cores" in table
    screenshot(page, "first-screen-1280")


def test_compare_three_estimators_and_ask_why_they_differ(open_page):
    page = open_page("?llm=llama3.1-405b&seq=65536")
    page.get_by_role("heading", name="Llama 3.1 405B, 65,536 tokens").wait_for()
    page.locator(VALUES).nth(2).wait_for()
    assert page.locator(VALUES).all_inner_texts()[:2] == ["285,264 µs", "284,482 µs"]
    reasons = " ".join(page.get_by_role("listitem").all_inner_texts())
    assert "DRAM" in reasons
    page.get_by_role("button", name="Why?").first.click()
    body = page.get_by_test_id("stPopoverBody")
    body.get_by_text("Where the values come from").wait_for()
    body.get_by_role("combobox").click()
    page.get_by_role("option", name="DRAM traffic", exact=True).click()
    body.get_by_text("Eq. (6)").first.wait_for()  # the regime that the ideal cache leaves out
    body.locator(".katex").first.wait_for()
    screenshot(page, "compare-why-1280")


@pytest.mark.parametrize(("width", "dark"), [(1280, True), (1920, False)])
def test_nothing_scrolls_sideways(open_page, width, dark):
    page = open_page("?llm=llama3.1-405b&gpu=gb10&kernel=fa3&seq=49152&peer=true", width=width, dark=dark)
    page.get_by_role("heading", name="Llama 3.1 405B, 49,152 tokens").wait_for()
    page.get_by_text("not modelled on gb10").first.wait_for()
    page.get_by_text("leaves the ideal line at 49,152 tokens").wait_for()
    overflow = page.evaluate(
        "[document.scrollingElement, document.querySelector('[data-testid=stMain]')]"
        ".map(e => e.scrollWidth - e.clientWidth)"
    )
    assert max(overflow) <= 0
    screenshot(page, f"gb10-{width}-{'dark' if dark else 'light'}")


def test_a_link_brings_the_experiment_and_a_change_goes_into_the_link(open_page):
    page = open_page("?llm=llama3-70b&seq=1024&causal=true&batch=2")
    page.get_by_role("heading", name="Llama 3 70B, 1,024 tokens, batch 2, FP16, causal").wait_for()
    pick(page, "GPU", "NVIDIA H100 SXM5 80 GB")
    page.wait_for_url("**gpu=h100-sxm**")
    assert "llm=llama3-70b" in page.url and "seq=1024" in page.url and "causal=true" in page.url


@pytest.mark.parametrize(
    ("typed", "shown", "words"),
    [("1e5", "100000", "100,000 tokens"), ("2.5e3", "2500", "2,500 tokens"), ("700.5", "701", "701 tokens")],
)
def test_a_length_may_be_typed_as_engineers_type_it(open_page, typed, shown, words):
    page = open_page("?gpu=gb10&kernel=fa3&seq=512")  # nothing is simulated
    page.get_by_role("heading", name="512 tokens").wait_for()
    field = page.get_by_label("Sequence length (tokens)", exact=True).and_(page.locator("input"))
    field.press("Control+a")
    field.press_sequentially(typed)
    field.press("Enter")
    page.get_by_role("heading", name=words).wait_for()
    page.wait_for_url(f"**seq={shown}**")
    expect(field).to_have_value(shown)


def test_a_long_simulation_shows_progress_and_can_be_cancelled(open_page):
    page = open_page("?llm=llama3.1-405b&seq=6144")
    page.get_by_text("of the CTAs retired").wait_for()
    screenshot(page, "running-1280")
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Run the simulation").wait_for()
    page.get_by_text("million line requests, about").wait_for()
    assert page.locator(VALUES).nth(2).inner_text() == "–"


def test_wrong_input_is_answered_in_one_sentence(open_page):
    page = open_page("?set=l2.byte%3D5&llm=%3Cscript%3E&seq=-7&gpu=nope")
    page.get_by_text("unknown key 'l2.byte'").wait_for()
    page.get_by_text("Did you mean 'l2.bytes'?").wait_for()
    assert page.get_by_role("combobox", name="Model").input_value() == "Llama 3 8B"
    assert page.get_by_text("Traceback").count() == 0
    screenshot(page, "wrong-input-1280")
