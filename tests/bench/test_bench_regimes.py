"""How long the Regimes page takes to answer a moved slider: `pytest tests/bench --benchmark-enable`.

The target is 200 ms for the whole rerun. On one core of a shared 2-core virtual machine, Python 3.11: curves
3.4 ms, curves with words and both figures 23 ms, a rerun of the whole page through AppTest 59 ms with the other
core free and 122 ms in the median with both cores shared by other work (load 1.9).
"""

import pytest
from streamlit.testing.v1 import AppTest

from dashboard import compare, regimes, regimes_words, rooflines
from dashboard.catalog import ESTIMATORS
from dashboard.figures import regimes as regimes_figure
from dashboard.figures import roofline
from tests.dashboard.conftest import experiment
from tests.ui.conftest import ROOT

NAMES = {entry.name: (entry.title, entry.color) for entry in ESTIMATORS.values()}
MARKS = {entry.name: (entry.title, entry.color, entry.symbol) for entry in ESTIMATORS.values()}
CASE = experiment("llama3.1-405b", seq=65_536)


def test_curves(benchmark):
    assert len(benchmark(regimes.curves, CASE).points) > 300


def draw():
    shown = regimes.curves(CASE)
    marks = {
        "boundary": shown.boundary_tokens,
        "live_boundary": shown.live_boundary_tokens,
        "waves": shown.wave_steps,
        "length": shown.length,
    }
    regimes_figure.figure(shown.points, NAMES, marks, [], [], "tokens", regimes_words.title(shown))
    caps = rooflines.ceilings(CASE)
    answers = compare.records([CASE], ["simfa-python", "simfa-launch-order", "genz"])
    return roofline.figure(caps, rooflines.dots(answers), MARKS, rooflines.title(answers, caps))


def test_curves_words_and_both_figures(benchmark):
    assert benchmark(draw).data


@pytest.fixture
def page():
    app = AppTest.from_file(str(ROOT / "dashboard" / "app.py"), default_timeout=60).run()
    return app.switch_page("views/regimes.py").run()


def test_a_slider_moved_on_the_page(benchmark, page):
    sizes = iter([20.0, 30.0, 40.0] * 200)

    def move():
        page.slider[0].set_value(next(sizes)).run()

    benchmark(move)
    assert not page.exception
