"""A pinned run and the differences to it."""

import re

import pytest

from dashboard import baseline, compare
from dashboard.figures import bars
from dashboard.recipe import Recipe
from dashboard.sweep import analysis, evaluate, plan, views
from presets.errors import PresetError

NAMES = ["simfa-python", "genz"]


def records(**changes):
    return compare.records([Recipe(**changes).experiment()], NAMES)


def test_each_estimator_is_compared_with_its_own_pinned_answer():
    pinned = baseline.pin(Recipe(seq=2048), records(seq=2048))
    shown = records(seq=4096)
    against = baseline.against(shown, baseline.NAME, pinned)
    table = compare.table(shown, baseline.NAME, against)
    # Four times the work at the same rate.
    assert table.loc["Work (GFLOP)", "GenZ-style ideal cache"].endswith("(+300.0 %)")
    assert table.loc["DRAM traffic (MB)", "SimFA-python"].endswith("(+100.0 %)")
    assert against["genz"]["seq_q"] == 2048


def test_without_a_baseline_the_reference_is_compared_with_as_before():
    shown = records()
    against = baseline.against(shown, "genz", None)
    assert against["simfa-python"] is shown[1] and against["genz"] is None


def test_a_url_brings_it_back_with_its_what_ifs():
    pinned = baseline.pin(Recipe(set="l2.effective_bytes=50MiB"), records(set="l2.effective_bytes=50MiB"))
    again = baseline.from_query(pinned.recipe.query())
    assert again.experiment == pinned.experiment
    assert again.records["genz"] == pinned.records["genz"]
    assert again.words().endswith("what if l2.effective_bytes=50MiB")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<script>", "'<script>' names no run; write it as llm=llama3-8b&seq=4096"),
        ("bogus=1", "'bogus=1' names no run"),
        ("set=l2.byte%3D5", "l2.byte"),
        ("tp=3", "tensor"),
        ("llm=llama9&seq=8192", "llm: unknown name 'llama9'"),
    ],
)
def test_a_url_that_names_no_run_is_refused_with_the_reason(text, said):
    with pytest.raises(PresetError, match=re.escape(said)):
        baseline.from_query(text)


def test_the_bars_carry_line_and_difference():
    pinned = baseline.pin(Recipe(seq=2048), records(seq=2048))
    shown = records(seq=4096)
    names = {"simfa-python": ("SimFA-python", "#0072B2"), "genz": ("GenZ", "#E69F00")}
    chart = bars.figure(shown, names, "title", baseline.against(shown, baseline.NAME, pinned))
    latency = next(trace for trace in chart.data if trace.type == "scatter")
    assert latency.y[0] == pytest.approx(pinned.records["simfa-python"]["latency_us"])
    bar = next(trace for trace in chart.data if trace.type == "bar")
    assert (
        bar.text[0] == "295<br>+300.0 %" and bar.textposition == "outside"
    )  # on the page's ground, not on a colour
    assert chart.layout.yaxis.range[1] > 1.2 * max(bar.y)


def test_a_sweeps_table_shows_the_difference():
    made = plan.make(Recipe(), plan.GRID, "seq=2048,4096")
    found = evaluate.instant(made, "genz")
    table = views.table(made, found, [analysis.METRICS["dram_bytes"]], found[0])
    assert list(table["DRAM traffic to baseline"]) == ["+0.0 %", "+100.0 %"]
