"""The worked example on the first screen is what the simulator says today."""

from dashboard import examples
from simfa.coverage import answer_key


def test_the_stored_answer_is_that_of_these_very_sources():
    stored = examples.stored()
    fresh = answer_key(examples.experiment(), examples.SEED, examples.TIMELINE_SM)
    assert stored["key"] == fresh, "the simulator changed: run `python -m dashboard example` and commit its file"


def test_the_stored_numbers_equal_a_fresh_run():
    from presets.record import to_record
    from simfa import simulate, timeline

    run = simulate.run(examples.experiment(), examples.SEED, examples.TIMELINE_SM)
    fresh = to_record(examples.experiment(), run.result)
    stored = examples.stored()
    assert {**stored["record"], "wall_s": 0} == {**fresh, "wall_s": 0}
    assert stored["timeline"] == timeline.rows(run.spans, 3)


def test_another_experiment_or_source_has_no_stored_answer():
    assert examples.answer_for("0" * 32) is None
