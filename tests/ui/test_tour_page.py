"""The Tour page through AppTest."""

import pytest
from streamlit.testing.v1 import AppTest

from dashboard import tour
from tests.ui.cards import cards
from tests.ui.conftest import ROOT


@pytest.fixture(scope="module")
def app():
    found = AppTest.from_file(str(ROOT / "dashboard" / "app.py"), default_timeout=120).run()
    return found.switch_page("views/tour.py").run()


def test_every_step_stands_with_its_number_and_its_figure(app):
    assert not app.exception and not app.error and not app.warning
    steps = tour.steps()
    assert [(card.title, card.value) for card in cards(app)] == [(step.what, step.number) for step in steps]
    assert len(app.get("plotly_chart")) == len(steps)
    titles = [item.value for item in app.markdown if item.value.startswith("**")]
    assert titles == [f"**{n}. {step.title}**" for n, step in enumerate(steps, start=1)]


def test_links_lead_to_other_pages_with_their_state(app):
    addresses = [item.proto.url for item in app.get("link_button")]
    assert "./regimes?llm=llama3.1-405b&seq=65536&params=paper" in addresses and "./validation" in addresses
    assert addresses == [link.address for step in tour.steps() for link in step.links]


def test_the_counters_and_the_paper_are_named(app):
    assert any("Source" in frame.value.columns for frame in app.dataframe)
    assert "Zhongchun Zhou" in app.caption[-1].value


def test_it_has_no_sidebar_and_keeps_what_the_link_holds(app):
    assert not app.sidebar.selectbox
