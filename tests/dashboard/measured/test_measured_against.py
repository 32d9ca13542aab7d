"""Measured kernels with a pinned baseline's values: what carries over, what stays, and errors of both."""

import json

import pytest

from dashboard.catalog import ESTIMATORS
from dashboard.figures import measured_traffic, parity
from dashboard.measured import against, comparison, curves, gallery, recording, shown
from dashboard.recipe import Recipe

CASES = [case for case in gallery.cases() if case.clock_hz is not None]
NAMES = ["simfa-python", "genz"]
SLOWER = Recipe(set="sm.clock_hz=1GHz\ndram.bandwidth_bytes_per_s=1TB/s")
MARKS = {entry.name: (entry.short, entry.color, entry.symbol) for entry in ESTIMATORS.values()}


def pinned(recipe=SLOWER, clock=True):
    return [against.under(case, recipe, clock) for case in CASES]


def test_what_a_baseline_assumes_is_its_parameter_set_and_its_changed_values():
    assert against.assumed(Recipe(seq=512, llm="llama3-70b")) == ""
    assert against.assumed(Recipe(params="paper")) == "paper parameters"
    assert against.assumed(Recipe(params="calibrated", set="sm.count=100")) == "calibrated parameters, sm.count=100"


def test_a_measured_clock_and_what_the_file_says_of_its_kernel_stay():
    case = CASES[0]
    assert case.match.settings  # the gallery's kernels state their tiles
    key, value = case.match.settings.split(";")[0].split("=")
    other = Recipe(set=f"{key}=64\nsm.clock_hz=1GHz\nl2.effective_bytes=10MiB")
    settings = against.case_settings(against.under(case, other, True))
    assert settings[key] == value and settings["l2.effective_bytes"] == "10MiB" and "sm.clock_hz" not in settings
    assert against.case_settings(against.under(case, other, False))["sm.clock_hz"] == "1GHz"


@pytest.mark.parametrize(
    ("chosen", "hopper"), [("calibrated", "calibrated"), ("auto", "calibrated"), ("paper", "paper")]
)
def test_a_gpu_without_a_calibrated_set_keeps_the_papers(chosen, hopper):
    sets = {case.match.gpu: case.experiment(True).params for case in pinned(Recipe(params=chosen))}
    assert sets["gb10"] == "paper" and sets["h100-sxm"] == hopper


def test_errors_of_both_stand_in_one_row_and_in_the_means():
    found = against.compare(CASES, NAMES, False, {}, pinned(clock=False))
    alone = comparison.compare(pinned(clock=False), NAMES, False)
    for row, base in zip(found.rows, alone.rows, strict=True):
        assert (row["baseline_estimated"], row["baseline_error_pct"]) == (base["estimated"], base["error_pct"])
    by_estimator = {(row["quantity"], row["estimator"]): row for row in comparison.summary(found.rows)}
    then = {(row["quantity"], row["estimator"]): row for row in comparison.summary(alone.rows)}
    for place, row in by_estimator.items():
        assert row["baseline_mape_pct"] == pytest.approx(then[place]["mape_pct"], nan_ok=True)
    genz = found.of("latency_us")[1]
    assert genz["estimator"] == "genz" and genz["baseline_estimated"] > genz["estimated"]


def test_without_a_baseline_nothing_is_added():
    assert against.compare(CASES, NAMES, True, {}, []) == comparison.compare(CASES, NAMES, True, {})


def test_a_baseline_that_cannot_be_built_here_leaves_its_columns_empty_with_the_reason():
    broken = Recipe(set="l2.effective_bytes=1TiB")  # more than the L2 of any of these GPUs
    row = against.compare(CASES, NAMES, True, {}, pinned(broken)).rows[0]
    assert row["baseline_error_pct"] is None and "cannot be built" in row["baseline_remark"]
    assert row["error_pct"] is not None


def test_tables_figures_and_words_show_both():
    found = against.compare(CASES, NAMES, False, {}, pinned(clock=False))
    table = shown.errors(found, "latency_us", NAMES)
    assert {"GenZ error (%)", "GenZ baseline error (%)"} <= set(table.columns)
    assert "Baseline MAPE (%)" in shown.summary(comparison.summary(found.rows))
    chart = parity.figure(found.of("latency_us"), MARKS, "Latency", "µs", 1.0, "title")
    hollow = [trace for trace in chart.data if str(trace.marker.symbol).endswith("-open")]
    assert [trace.name for trace in hollow] == ["SimFA-python, baseline", "GenZ, baseline"]
    sentences = against.of_case(found, found.rows[0]["case"], "latency_us")
    assert len(sentences) == 2 and sentences[0].startswith("With the baseline's values SimFA-python is off by ")


def test_the_traffic_curve_of_the_baseline_is_light():
    family = curves.families(CASES, True)[0]
    then = curves.families(pinned(Recipe(set="l2.effective_bytes=1MiB")), True)[0]
    curve, base = curves.curve(family), curves.curve(then)
    chart = measured_traffic.figure(curve, curves.points(family), curves.boundary(family), "t", "x", baseline=base)
    assert [trace.showlegend for trace in chart.data if trace.opacity] == [True, False, False]
    assert base["dram_bytes"].sum() > curve["dram_bytes"].sum()


def test_the_traffic_figure_says_how_near_the_closed_form_is():
    family = next(family for family in curves.families(CASES, True) if "T_M=64" in family.title)
    assert curves.headline(family).startswith("L2 by Eq. (2) within ")
    assert " % of what was measured: cuTile" in curves.headline(family)


@pytest.mark.parametrize("name", list(ESTIMATORS))
def test_every_estimator_can_be_in_a_saved_record(name):
    record = recording.make(CASES[:1], [name], True, {})
    assert recording.read(recording.to_json(record).encode(), "r.json").estimators == (name,)
    assert json.loads(recording.to_json(record))["cases"][0]["match"]["params"] == ""
