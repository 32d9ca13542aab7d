"""The Timeline page through AppTest: example, running, done, failed, stale, and second runs good and bad."""

import time

import pytest
from streamlit.testing.v1 import AppTest

from dashboard import state
from dashboard.jobs import FAILED
from dashboard.recipe import Recipe
from simfa import coverage
from tests.ui.conftest import ROOT


def opened(**query):
    app = AppTest.from_file(str(ROOT / "dashboard" / "app.py"), default_timeout=120)
    for key, value in query.items():
        app.query_params[key] = value
    return app.run().switch_page("views/timeline.py").run()


@pytest.fixture
def app():
    return opened()


def captions(app):
    return " ".join(item.value for item in app.caption)


def texts(app):
    return " ".join(item.value for item in app.markdown)


def until(app, condition):
    end = time.monotonic() + 120
    while not condition(app):
        assert time.monotonic() < end, captions(app)
        time.sleep(0.2)
        app.run()
    assert not app.exception
    return app


def simulated(app, runs=1):
    done = ("Simulated: ", "Worked example, stored")
    return until(app, lambda app: sum(captions(app).count(word) for word in done) >= runs)


def test_the_first_screen_is_the_worked_example(app):
    assert not app.exception and not app.error
    assert "Worked example, stored with this version of the simulator" in captions(app)
    assert "Visible window: 30,000 cycles (16.393 µs), from 0 to 30,000" in texts(app)
    utilization, waits = (table.value for table in app.table)
    assert utilization.loc["This experiment", "TMA lines in flight"].endswith("of 384")
    assert list(waits.columns) == ["producer", "consumer 1", "consumer 2"] and "wait for QK GEMM" in waits.index


def test_another_sm_is_another_run_and_the_last_one_stays_as_stale(app):
    app.number_input(key="sm").set_value(7).run()
    assert not app.exception
    if "Simulated: " not in captions(app):
        assert "Stale: this is Llama 3 8B" in captions(app) and "SM 0." in captions(app)
        assert app.table[0].value.index[0] == "An earlier run (stale)"
    simulated(app)
    assert "Stale" not in captions(app) and app.table[0].value.index[0] == "This experiment"


def test_while_the_first_run_of_a_session_is_under_way_the_worked_example_is_shown():
    app = opened(llm="llama3.1-405b", seq="65536")
    assert "Worked example meanwhile: Llama 3 8B" in captions(app)
    assert [button.label for button in app.button if button.label == "Run the simulation"]


def test_what_cannot_be_simulated_says_why_and_shows_the_worked_example():
    app = opened(gpu="gb10", kernel="fa3")
    assert not app.exception and not app.error
    assert "not modelled on gb10" in captions(app) and "Worked example meanwhile" in captions(app)


def test_a_second_run_is_laid_beside_the_first(app):
    app.text_input(key="second").set_value("tma.inflight_lines=128").run()
    simulated(app, runs=2)
    table = app.table[0].value
    assert list(table.index) == ["This experiment", "tma.inflight_lines=128", "Difference"]
    assert table.loc["tma.inflight_lines=128", "TMA lines in flight"].endswith("of 128")
    app.text_input(key="second").set_value("").run()
    assert list(app.table[0].value.index) == ["This experiment"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tma.inflight=12", "Did you mean 'tma.inflight_lines'? The Presets page lists every key."),
        ("tma.inflight_lines", "KEY=VALUE"),
        ("tma.inflight_lines=-1", "greater than 0"),
    ],
)
def test_a_wrong_second_run_is_answered_in_one_sentence_beside_the_first(app, text, message):
    app.text_input(key="second").set_value(text).run()
    assert message in app.error[0].value and app.error[0].value.startswith("No second run:")
    assert list(app.table[0].value.index) == ["This experiment"] and not app.exception


def test_a_second_run_that_does_not_fit_says_so(app):
    app.text_input(key="second").set_value("pipeline.occupancy_ctas=4").run()
    assert not app.exception and "does not fit" in captions(app)
    assert list(app.table[0].value.index) == ["This experiment"]


def test_cycle_zero_goes_to_a_tile_and_a_place_that_is_not_there_is_named(app):
    app.selectbox(key="align").set_value("tile").run()
    app.number_input(key="nth_tile").set_value(5).run()
    assert "from -3,000 to 27,000" in texts(app)
    app.number_input(key="nth_cta").set_value(500).run()
    assert "the SM ran 8 CTAs, there is no CTA 500; choose 1 to 8" in app.error[0].value


def test_the_whole_run_can_be_shown(app):
    app.segmented_control(key="timeline_view").set_value("Whole run").run()
    assert "Visible window: 606," in texts(app) and "µs)" in texts(app)


def test_the_window_moves_earlier_and_later(app):
    app.button(key="timeline_later").click().run()
    assert "from 24,000 to 54,000" in texts(app)
    app.button(key="timeline_earlier").click().run()
    assert "from 0 to 30,000" in texts(app) and not app.exception


def test_an_sm_without_a_cta_is_said():
    app = simulated(opened(llm="llama3-8b", seq="128", sm="100"))
    assert "SM 100 ran no CTA" in " ".join(item.value for item in app.info)


def test_a_failed_run_says_what_happened_and_offers_another_try():
    app = opened(seq="384", sm="9")
    todo = Recipe(seq=384).experiment()
    key = coverage.answer_key(todo, 0, 9)
    simulated(app)
    job = state.board().get(key)
    given = job.answer
    try:
        job.state, job.message = FAILED, "The worker process 1 of this simulation was killed."
        app.run()
        assert "was killed" in app.error[0].value and not app.exception
        assert [button.label for button in app.button if button.label == "Run again"]
        assert "Stale: this is Llama 3 8B, 384 tokens" in captions(app)
    finally:
        job.state, job.message, job.answer = "done", "", given


def test_what_is_set_is_in_the_link_and_a_link_restores_it():
    app = opened(sm="3", second="tma.lines_per_cycle=4", align="cta", nth_cta="2", seq="512")
    assert app.number_input(key="sm").value == 3 and app.text_input(key="second").value == "tma.lines_per_cycle=4"
    assert app.selectbox(key="align").value == "cta" and app.number_input(key="nth_cta").value == 2
    assert app.query_params["sm"] == "3" and app.query_params["align"] == "cta"


@pytest.mark.parametrize("sm", ["-1", "99999999", "x", "1e3"])
def test_a_hostile_link_falls_back(sm):
    app = opened(sm=sm, align="<b>", nth_tile="0", second="=")
    assert not app.exception
    assert app.number_input(key="sm").value == 0 and app.selectbox(key="align").value == "start"
    assert "KEY=VALUE" in app.error[0].value


def test_the_pinned_run_is_the_second_one_with_differences_in_words_and_shares():
    app = opened(seq="1024", baseline="llm=llama3-8b&seq=1024&set=tma.inflight_lines%3D128")
    simulated(app, runs=2)
    table = app.table[0].value
    assert list(table.index) == ["This experiment", "Baseline", "Difference"]
    tensor = [float(table.loc[run, "Tensor core busy"].rstrip("% points")) for run in table.index]
    assert tensor[2] == pytest.approx(tensor[0] - tensor[1], abs=0.11)
    assert table.loc["Baseline", "TMA lines in flight"].endswith("of 128")
    mine, baseline = (frame.value for frame in app.table[1:3])
    assert all("(" in cell or cell == "–" for cell in mine["consumer 1"])
    assert not any("(" in cell for cell in baseline["consumer 1"])
    app.text_input(key="second").set_value("tma.inflight_lines=32").run()
    assert "Baseline" not in app.table[0].value.index  # a what-if takes the place of the pinned run


def test_the_page_pins_its_run_and_stands_alone_against_itself(app):
    next(button for button in app.button if button.label == "Set as baseline").click().run()
    assert "**Baseline:** Llama 3 8B" in captions(app) and not app.exception
    assert list(app.table[0].value.index) == ["This experiment"]
    app.number_input(key="seq").set_value(1024).run()
    simulated(app, runs=2)
    assert list(app.table[0].value.index) == ["This experiment", "Baseline", "Difference"]


def test_a_baseline_that_is_not_simulated_says_why_beside_the_first_run():
    app = opened(baseline="llm=llama3-8b&seq=4096&gpu=gb10&kernel=fa3")
    assert not app.exception and "not modelled on gb10" in captions(app)
    assert list(app.table[0].value.index) == ["This experiment"]
