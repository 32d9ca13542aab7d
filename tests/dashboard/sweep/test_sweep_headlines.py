"""What a sweep's figures say: ties, unfinished sweeps, forecasts."""

import pytest

from dashboard.recipe import Recipe
from dashboard.sweep import analysis, evaluate, headlines, plan, summary, views
from dashboard.sweep.evaluate import CANCELLED, DONE, WAITING
from dashboard.sweep.run import Sweep

DRAM = analysis.METRICS["dram_bytes"]


def made(text: str, estimator: str = "simfa-python"):
    found = plan.make(Recipe(), plan.GRID, text)
    return found, evaluate.instant(found, estimator)


def test_a_title_names_only_what_the_best_points_have_in_common():
    """At 1,024 tokens K and V fit every one of these L2s, so none of them is the one with least traffic."""
    found, rows = made("seq=1024,65536\nl2.effective_bytes=12.5MiB,25MiB,50MiB")
    assert headlines.lines(found, rows, DRAM).endswith("least at seq 1,024 tokens")


def test_a_title_of_an_unfinished_sweep_says_how_many_points_it_is_of():
    found, rows = made("seq=1024,2048,4096")
    rows[2] |= {"state": WAITING}
    assert "at 2 of 3 points" in headlines.lines(found, rows, DRAM)
    rows[2] |= {"state": CANCELLED}
    assert "at 2 of 3 points" in headlines.lines(found, rows, DRAM)


def test_the_horizontal_axis_has_every_value_before_its_points_are_there():
    found, rows = made("l2.effective_bytes=25MiB,50MiB\nbatch=1,2")
    assert views.places(found, [row | {"state": WAITING} for row in rows]) == [25, 50]


@pytest.mark.parametrize(("front", "said"), [(1, "1 of 3 points is on"), (2, "2 of 3 points are on")])
def test_the_pareto_front_is_counted(front, said):
    assert headlines.pareto(front, 3).startswith(said)


def test_a_cancelled_sweep_forecasts_the_points_that_are_left():
    sweep = Sweep("", plan.make(Recipe(llm="llama3.1-405b"), plan.GRID, "seq=512,1024,2048"), "sim-fa")
    before = summary.forecast(sweep)
    for row, became in zip(sweep.rows, (DONE, CANCELLED, CANCELLED), strict=True):
        row["state"] = became
    assert before.startswith("3 points, ") and summary.forecast(sweep).startswith("2 points, ")
    assert "0 million" not in summary.forecast(sweep)


def test_a_refused_value_is_named_without_the_option_of_the_command_line():
    found, rows = made("seq=0")
    assert rows[0]["reason"].startswith("seq: 0 is out of range")
