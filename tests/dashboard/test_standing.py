"""The mark of a simulated number outside the validated range."""

from dashboard import compare, standing
from dashboard.catalog import ESTIMATORS
from dashboard.recipe import Recipe
from dashboard.sweep import evaluate, plan, views
from tests.dashboard.conftest import experiment

INSIDE = Recipe(llm="bare", seq=2048, gpu="h100-sxm", params="calibrated").experiment()
OUTSIDE = experiment()  # the paper's set on H800


def test_inside_there_is_no_mark_and_outside_a_reason() -> None:
    assert standing.mark(INSIDE) == "" and standing.reason(INSIDE) == ""
    assert standing.mark(OUTSIDE) == " †"
    assert standing.reason(OUTSIDE).startswith("† Outside the validated range: paper parameter set")


def test_a_caution_of_the_experiment_comes_first() -> None:
    decode = experiment(seq=1, seq_kv=4096)
    assert "decode" in standing.reason(decode)


def test_only_the_simulators_name_is_marked() -> None:
    names = {entry.name: (entry.title, entry.color) for entry in ESTIMATORS.values()}
    marked = standing.marked(names, OUTSIDE)
    assert {name for name in names if marked[name] != names[name]} == {"sim-fa"}
    assert marked["sim-fa"] == ("Sim-FA cycle simulation †", "#009E73")
    assert standing.marked(names, INSIDE) == names


def test_the_comparisons_column_takes_the_marked_title() -> None:
    answers = compare.records([OUTSIDE], ["simfa-python", "genz"])
    titles = {"simfa-python": "closed", "genz": "ideal †"}
    assert list(compare.table(answers, None, titles=titles).columns) == ["closed", "ideal †"]


def test_several_are_counted_with_their_reasons() -> None:
    assert standing.count([INSIDE, None]) == ""
    assert standing.count([INSIDE, OUTSIDE, None]).startswith("† 1 of 2 simulated experiments lie outside")


def test_a_sweeps_answered_rows_carry_it() -> None:
    recipe = Recipe(llm="bare", gpu="h100-sxm", params="calibrated")
    made = plan.make(recipe, plan.GRID, "seq=2048,16384")
    rows = [evaluate.row(made, point, "sim-fa", evaluate.DONE, {}) for point in made.points]
    assert list(views.table(made, rows, [], None)["State"]) == ["done", "done †"]
    waiting = [evaluate.row(made, point, "sim-fa", evaluate.WAITING, None) for point in made.points]
    assert set(views.table(made, waiting, [], None)["State"]) == {"waiting"}
    closed = evaluate.instant(made, "simfa-python")
    assert set(views.table(made, closed, [], None)["State"]) == {"done"}
