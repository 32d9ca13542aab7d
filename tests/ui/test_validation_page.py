"""The Validation page through AppTest, and the stored studies behind it."""

import pytest
from streamlit.testing.v1 import AppTest

from dashboard import examples
from dashboard.examples import long
from dashboard.validation.catalog import VIEWS
from tests.ui.conftest import ROOT


def opened(**query: str):
    app = AppTest.from_file(str(ROOT / "dashboard" / "app.py"), default_timeout=120)
    app.run()
    app = app.switch_page("views/validation.py")
    for key, value in query.items():
        app.query_params[key] = value
    return app.run()


def text(app) -> str:
    return "\n".join(item.value for kind in (app.markdown, app.caption, app.info) for item in kind)


def test_it_opens_on_every_study_at_a_glance():
    app = opened()
    assert not app.exception and not app.warning
    table = app.dataframe[0].value
    assert {"Study", "Points", "Simulation", "SimFA-python", "GenZ", "Fitted", "Outside the range"} <= set(table)
    assert list(table["Study"])[0] == "FlashAttention-3, H100 at 1500 MHz"
    assert "calibrated parameter set" in text(app)  # where the other pages' experiment stands
    assert "study" not in app.query_params


@pytest.mark.parametrize("name", [name for name in VIEWS if name != "overview"])
def test_every_view_opens_by_its_address(name):
    app = opened(study=name)
    view = VIEWS[name]
    assert not app.exception and not app.warning
    assert f"{view.label}: {view.about}".split(":")[0] in text(app)
    assert app.query_params["study"] in (name, [name])
    stored = not app.info
    assert stored or "python -m dashboard example --all" in app.info[0].value
    if stored:
        assert len(app.dataframe) == 1 and len(app.dataframe[0].value)
        assert "Reference" in text(app) and "Fitted" in text(app)


def test_the_papers_figures_and_tables_come_first():
    labels = [view.label for view in VIEWS.values() if view.section == "paper"]
    assert sorted(labels) == sorted([f"Table {n}" for n in range(2, 7)] + [f"Fig. {n}" for n in range(3, 10)])
    sections = [view.section for view in list(VIEWS.values())[1:]]
    assert sections == sorted(sections)  # paper before public


@pytest.mark.parametrize("wrong", ["fig99", "<b>", "../fig6", ""])
def test_a_wrong_address_gives_the_overview_and_says_so(wrong):
    app = opened(study=wrong)
    assert not app.exception
    said = app.warning[0].value.replace("\\", "")
    assert wrong in said and "overview" in said
    assert len(app.dataframe) == 1


def test_the_choices_lead_from_one_view_to_another_and_into_the_address():
    app = opened()
    app.segmented_control(key="validation_section").set_value("paper").run()
    assert "Table 2" in text(app) and app.query_params["study"] in ("table2", ["table2"])
    app.pills(key="validation_paper").set_value("fig9").run()
    assert "GB10 fails" in text(app).replace("\\", "")
    app.segmented_control(key="validation_section").set_value("public").run()
    assert not app.exception and app.query_params["study"] in ("fa3", ["fa3"])


def test_an_experiment_in_the_address_survives_the_page():
    app = opened(study="table6")
    assert app.session_state["initial"]["seq"] == 4096
    app = app.switch_page("views/compare.py").run()
    assert not app.exception and app.number_input(key="seq").value == 4096


def test_the_stored_studies_are_those_of_these_very_sources():
    assert examples.studies_are_current(), (
        "the simulator changed: run `python -m dashboard example`, commit its files"
    )


@pytest.mark.slow
def test_the_long_answers_are_those_of_these_very_sources():
    from simfa.validate_command import ON_REQUEST

    stale = [name for name in (*ON_REQUEST, long.LAUNCHES, long.FIG7) if not long.is_current(name)]
    assert not stale, f"run `python -m dashboard example --all` for {', '.join(stale)}, commit its file"


@pytest.mark.slow
def test_the_stored_studies_equal_a_fresh_run():
    from simfa.validate_command import STUDIES

    fresh = [run().record() for run in STUDIES.values()]
    assert examples.studies() == fresh
