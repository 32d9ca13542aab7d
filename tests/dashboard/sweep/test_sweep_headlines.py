"""What a sweep's figures say: ties, unfinished sweeps, forecasts."""

import pytest

from dashboard.recipe import Recipe
from dashboard.sweep import analysis, evaluate, headlines, plan, summary, views
from dashboard.sweep.evaluate import CANCELLED, DONE, FAILED, WAITING
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


def test_a_title_counts_impossible_points_too():
    """H800 has 50 MiB of L2: at 100 MiB there is nothing to plot, so "everywhere" would be wrong."""
    found, rows = made("l2.effective_bytes=25MiB,100MiB")
    assert headlines.lines(found, rows, DRAM) == "DRAM traffic is 0.0839 GB at 1 of 2 points"
    assert "at 4 of 6 points, least at" in headlines.lines(
        *made("seq=1024,65536\nl2.effective_bytes=12.5MiB,25MiB,100MiB"), DRAM
    )
    assert headlines.lines(*made("l2.effective_bytes=25MiB,50MiB"), DRAM) == "DRAM traffic is 0.0839 GB everywhere"


def test_points_without_an_answer_are_counted_with_the_first_reason():
    assert headlines.unanswered(made("seq=1024,2048")[1]) == ""
    one = headlines.unanswered(made("l2.effective_bytes=25MiB,100MiB")[1])
    assert one.startswith("1 of 2 points is impossible: l2.effective_bytes (") and one.endswith(").")
    assert "must not exceed l2.bytes" in one and "other" not in one


def test_further_reasons_are_counted():
    same = headlines.unanswered(made("seq=1024,2048\nl2.effective_bytes=25MiB,100MiB")[1])
    assert same.startswith("2 of 4 points are impossible: ") and "other" not in same
    several = headlines.unanswered(made("seq=1024\nl2.effective_bytes=25MiB,100MiB,200MiB,400MiB")[1])
    assert several.endswith("; 2 of them for other reasons (column Why).")


def test_failed_points_are_told_apart_from_impossible_ones():
    _, rows = made("l2.effective_bytes=25MiB,50MiB,100MiB")
    rows[1] |= {"state": FAILED, "reason": "out of memory"}
    assert headlines.unanswered(rows).endswith(". 1 of 3 points failed: out of memory.")


def test_a_list_of_what_is_allowed_does_not_fill_the_sentence():
    _, rows = made("seq=0")
    rows[0]["reason"] = "unknown key 'x'. Allowed: " + ", ".join(f"key{n}" for n in range(200))
    assert headlines.unanswered(rows).endswith("unknown key 'x'. The Presets page lists every key.")


def test_the_horizontal_axis_has_every_value_before_its_points_are_there():
    found, rows = made("l2.effective_bytes=25MiB,50MiB\nbatch=1,2")
    assert views.places(found, [row | {"state": WAITING} for row in rows]) == [25, 50]


@pytest.mark.parametrize(("front", "said"), [(1, "1 of 3 points is on"), (2, "2 of 3 points are on")])
def test_the_pareto_front_is_counted(front, said):
    assert headlines.pareto(front, 3, 3).startswith(said)


def test_the_pareto_front_is_one_of_answered_points():
    assert headlines.pareto(1, 2, 3).startswith("1 of 2 answered points is on")


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
