"""What reports say of the simulation: why it has no numbers, and where these lie outside the validated range."""

from dataclasses import replace

import pytest

from dashboard import compare, shown, spans, what_if
from dashboard.baseline import from_query
from dashboard.report import common, render
from dashboard.report import compare as compare_report
from dashboard.report import timeline as timeline_report
from dashboard.report.document import Link, Report
from dashboard.shown import Shown
from simfa import simulate
from tests.dashboard.conftest import experiment
from tests.dashboard.report.reading import Read

REASON = "† Outside the validated range: paper parameter set"
TITLE = "Sim-FA cycle simulation"


def compared(why_not: str, **workload: object) -> Read:
    """The Compare report while the simulation gives no answer."""
    asked = experiment(**workload)
    answers = [*compare.records([asked], ["simfa-python", "genz"]), compare.unanswered(asked, "sim-fa", why_not)]
    return Read(render.html(compare_report.make(asked, answers, "simfa-python", None, None, Link(""))))


def test_a_report_made_during_the_simulation_says_that_it_was_running() -> None:
    read = compared("The simulation is running.")
    assert [row[3] for row in read.table("Quantity")[1:]] == [compare.ABSENT] * len(compare.ROWS)
    said = f"{TITLE}, no answer when this report was made: The simulation is running."
    assert read.words.count(said) == 2  # below the table and below the bars
    assert "running.." not in read.words


def test_the_reason_is_the_records_own_and_its_cautions_are_told_once() -> None:
    read = compared("longer than this server simulates", seq=1, seq_kv=4096)
    assert f"{TITLE}, no answer when this report was made: longer than this server simulates." in read.words
    assert "made: decode" not in read.words and "Outside the validated range: decode" in read.words


def test_answers_that_are_there_need_no_reason() -> None:
    assert common.absent(compare.records([experiment()], ["simfa-python", "genz"]), experiment()) == ""


@pytest.fixture(scope="module")
def run() -> Shown:
    todo = experiment(seq=256)
    return Shown(todo, spans.answer(todo, simulate.run(todo, timeline_sm=0)), "This experiment")


def timeline(runs: list[Shown], pinned: str = "") -> Read:
    made: Report = timeline_report.make(
        runs, shown.view(runs, None), None, "", from_query(pinned) if pinned else None, Link("timeline")
    )
    return Read(render.html(made))


def test_a_timeline_report_explains_its_mark(run: Shown) -> None:
    read = timeline([run])
    assert f"{TITLE} †" in read.table("Quantity")[0]
    assert read.words.count(REASON) == 2  # below the figure, whose title has the mark, and below the answers


def test_a_second_run_of_the_same_kind_needs_no_second_note(run: Shown) -> None:
    other = what_if.changed(run.experiment, "tma.inflight_lines=128")
    assert other is not None
    second = Shown(other, spans.answer(other, simulate.run(other, timeline_sm=0)), "tma.inflight_lines=128")
    assert timeline([run, second]).words.count(REASON) == 2


def test_beside_a_baseline_the_simulation_is_marked_too(run: Shown) -> None:
    record = run.answer["record"]
    pinned = replace(from_query("seq=512&params=paper"), records={"sim-fa": record})
    (table,) = common.baseline_sections([record], pinned, run.experiment)
    assert list(table.frame.columns) == [f"{TITLE} †"] and REASON in table.note
