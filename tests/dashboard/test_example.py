"""The worked example on the first screen is what the simulator says today."""

from dashboard import examples, spans
from simfa.coverage import answer_key


def test_the_stored_answer_is_that_of_these_very_sources():
    stored = examples.stored()
    fresh = answer_key(examples.experiment(), examples.SEED, examples.TIMELINE_SM)
    assert stored["key"] == fresh, "the simulator changed: run `python -m dashboard example` and commit its file"


def test_the_stored_numbers_equal_a_fresh_run():
    from simfa import simulate

    fresh = spans.answer(examples.experiment(), simulate.run(examples.experiment(), examples.SEED, 0))
    stored = examples.answer_for(examples.stored()["key"])
    assert {**stored["record"], "wall_s": 0} == {**fresh["record"], "wall_s": 0}
    assert (stored["sm"], stored["left_out"]) == (0, 0)
    for name in ("timeline", "occupancy", "ctas"):
        assert (stored[name] == fresh[name]).all(axis=None)
        assert list(stored[name].dtypes) == list(fresh[name].dtypes)


def test_another_experiment_or_source_has_no_stored_answer():
    assert examples.answer_for("0" * 32) is None
