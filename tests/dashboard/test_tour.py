"""The tour's numbers against hand calculation and the data files, and what each step must have."""

import csv
from urllib.parse import parse_qsl

import pytest

from dashboard import examples, tour
from dashboard.recipe import DEFAULTS, Recipe, choices
from presets.measured_points import FOLDER

WORDS_A_MINUTE = 220  # silent reading of prose by adults is some 240


@pytest.fixture(scope="module")
def steps():
    return tour.steps()


def by_title(steps, start):
    return next(step for step in steps if step.title.startswith(start))


def by_hand(L, size_bytes, P=2, B=1, H_KV=8, G=16, D=128, T_M=128, residents=132):
    """Eqs. (3) to (6) of the paper for Llama 3.1 405B on H800: ideal, realistic or ideal, waves."""
    ideal = P * B * D * (2 * H_KV * G * L + 2 * H_KV * L)
    waves = max(1, -(-G * -(-L // T_M) // residents))
    real = 2 * P * B * H_KV * G * L * D + 2 * P * B * H_KV * L * D * waves
    return ideal, ideal if size_bytes > 2 * P * L * D else real, waves


def test_the_finding_is_eq_6_over_eq_3(steps):
    ideal, real, waves = by_hand(65_536, 25 * 2**20)
    assert steps[0].number == f"{real / ideal:.3g} times" == "4.65 times"
    assert f"{ideal / 1e9:.3g} GB" in steps[0].text and f"{real / 1e9:.3g} GB" in steps[0].text
    assert f"{waves} waves of 132 CTAs" in steps[1].text


def test_the_boundary_is_where_one_head_no_longer_fits(steps):
    boundary = int(steps[1].number.removesuffix(" tokens").replace(",", ""))
    assert by_hand(boundary, 25 * 2**20)[0] < by_hand(boundary, 25 * 2**20)[1]
    assert by_hand(boundary - 1, 25 * 2**20)[0] == by_hand(boundary - 1, 25 * 2**20)[1]


def test_the_least_l2_restores_the_ideal_traffic(steps):
    size = int(by_title(steps, "What if").number.removesuffix(" MiB"))
    ideal, restored, _ = by_hand(65_536, size * 2**20)
    assert restored == ideal != by_hand(65_536, (size - 1) * 2**20)[1]


def test_the_time_hardly_differs(steps):
    assert by_title(steps, "The time").number == "+0.3 %"


def counters():
    with (FOLDER / "measured_traffic.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_where_counters_agree_is_read_from_the_data_file(steps):
    """Eq. (2) for 8 heads of 128 at 4,096 tokens, by hand; a causal mask halves the K/V up to the diagonal tile."""
    exact = 0
    kernels = {(row["kernel"], row["causal"]) for row in counters() if row["metric"].startswith("l2_")}
    for kernel, causal in kernels:
        own = {row["metric"]: row for row in counters() if (row["kernel"], row["causal"]) == (kernel, causal)}
        T_M, L = int(own["l2_read_bytes"]["block_m"]), 4096
        blocks = L // T_M
        keys = T_M * blocks * (blocks + 1) // 2 if causal == "1" else blocks * L
        by_eq2 = 2 * 8 * 128 * (2 * L + 2 * keys)
        measured = int(own["l2_read_bytes"]["bytes"]) + int(own["l2_write_bytes"]["bytes"])
        exact += measured == by_eq2
    assert by_title(steps, "Where public counters agree").number == f"{exact} of {len(kernels)}"


def test_where_they_disagree_is_read_from_the_data_file(steps):
    step = by_title(steps, "Where they disagree")
    misses = next(
        int(row["bytes"])
        for row in counters()
        if row["metric"] == "l2_miss_bytes" and row["causal"] == "0" and row["kernel"].startswith("cuTile")
    )
    ideal = 2 * 128 * (2 * 8 * 4096 + 2 * 8 * 4096)
    assert step.number == f"{misses / ideal:.2f} times" == "1.66 times"
    assert "ideal by Eq. (4)" in step.text and "8 are in flight" in step.text
    assert "beyond 4,096 tokens" in step.text and "the paper's own (Fig. 9)" in step.text
    for source in {row["source"] for row in counters() if row["metric"] in ("l2_miss_bytes", "dram_bytes")}:
        assert source in step.source


def test_the_transition_starts_before_the_boundary(steps):
    step = by_title(steps, "The transition")
    start = int(step.number.removesuffix(" tokens").replace(",", ""))
    assert start < 51_200 and "51,200" in step.text


def test_every_number_follows_the_experiment(steps):
    """With another model, length and L2 nothing of the paper's numbers is left."""
    other = tour.steps(Recipe(llm="llama3-8b", seq=131_072, set="l2.effective_bytes=40MiB"))
    for mine, paper in list(zip(other, steps, strict=True))[:3]:
        assert mine.number != paper.number and mine.text != paper.text
    assert other[1].number == "81,920 tokens" and "Llama 3 8B" in other[0].what


def test_it_can_be_read_in_two_minutes(steps):
    said = " ".join(f"{step.title} {step.number} {step.what} {step.text}" for step in steps)
    assert len(said.split()) <= 2 * WORDS_A_MINUTE
    assert "!" not in said


def test_every_step_has_a_figure_with_units_a_link_and_a_source(steps):
    assert len(steps) == 8
    for step in steps:
        assert step.number and step.what and step.source and step.links
        assert step.figure.layout.title.text and step.figure.layout.xaxis.title.text
    pages = {link.page for step in steps for link in step.links}
    assert pages == {"", "regimes", "sweep", "measured", "timeline", "validation"}


def test_links_hold_the_state_they_promise(steps):
    allowed = {*DEFAULTS, "vary", "measured_quantity"}
    for step in steps:
        for link in step.links:
            assert {key for key, _ in parse_qsl(link.query)} <= allowed
            Recipe.from_query(link.query, choices()).experiment()
    launch = Recipe.from_query(by_title(steps, "Where they disagree").links[1].query, choices()).experiment()
    assert (launch.heads_q, launch.gpu.name, launch.kernel.name) == (8, "gb10", "cutile-fa-64x64")


def test_without_a_current_stored_simulation_the_last_step_is_left_out(monkeypatch):
    monkeypatch.setattr(examples, "current", lambda: None)
    assert len(tour.steps()) == 7


def test_the_table_of_counters_has_a_source_in_every_row():
    rows = tour.table(tour.counters())
    assert len(rows) == 14 and all(row["Source"] for row in rows)
    assert {row["Estimator"] for row in rows} == {"SimFA-python", "SimFA, launch order"}
