"""The Validation page through AppTest, and the stored studies behind it."""

import pytest
from streamlit.testing.v1 import AppTest

from dashboard import examples
from tests.ui.conftest import ROOT


def test_every_study_shows_all_its_points_and_what_was_fitted():
    app = AppTest.from_file(str(ROOT / "dashboard" / "app.py"), default_timeout=60).run()
    app.switch_page("views/validation.py").run()
    assert not app.exception and not app.warning
    studies = examples.studies()
    assert list(app.table[0].value.index) == [study["title"] for study in studies]
    assert [len(frame.value) for frame in app.dataframe] == [study["points"] for study in studies]
    captions = " ".join(item.value for item in app.caption)
    assert all(study["source"] in captions and study["fitted"] in captions for study in studies)


def test_the_stored_studies_are_those_of_these_very_sources():
    assert examples.studies_are_current(), (
        "the simulator changed: run `python -m dashboard example`, commit its files"
    )


@pytest.mark.slow
def test_the_stored_studies_equal_a_fresh_run():
    from simfa.validate_command import STUDIES

    fresh = [run().record() for run in STUDIES.values()]
    assert examples.studies() == fresh
