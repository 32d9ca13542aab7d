"""The Sweep page, the what-if rows and the baseline through AppTest: every state, without a browser."""

import json
import time

import pytest
from streamlit.testing.v1 import AppTest

from dashboard import state
from tests.ui.cards import cards
from tests.ui.conftest import ROOT


def opened(page="views/sweep.py", **query):
    app = AppTest.from_file(str(ROOT / "dashboard" / "app.py"), default_timeout=60)
    for key, value in query.items():
        app.query_params[key] = value
    app.run()
    return app.switch_page(page).run() if page else app


def table(app):
    return app.dataframe[0].value


def said(app, kind="caption"):
    return " ".join(item.value for item in getattr(app, kind))


def test_the_page_opens_with_a_worked_example():
    app = opened()
    assert not app.exception and not app.error
    assert len(table(app)) == 16 and set(table(app)["State"]) == {"done"}


def test_the_example_is_a_list_as_well():
    app = opened(by="list")
    assert not app.exception and not app.error
    assert list(table(app)["State"]) == ["done"] * 4


def test_each_l2_of_the_example_has_a_line_of_its_own():
    shown = table(opened())
    lines = shown.groupby("l2.effective_bytes")["DRAM traffic (GB)"].agg(tuple)
    assert "25 MiB" in lines and len(set(lines)) == len(lines) == 4


def test_state_and_reason_stand_before_the_numbers_and_are_wide_enough():
    app = opened(vary="tile.kv_rows=176,240")
    assert list(table(app))[:3] == ["tile.kv_rows", "State", "Why"]
    widths = {name: told.get("width") for name, told in json.loads(app.dataframe[0].proto.columns).items()}
    assert widths["State"] >= 80 and widths["Why"] >= 300, "'impossible' takes 76 px with its margins"


def test_without_a_reason_there_is_no_column_for_it():
    assert "Why" not in table(opened(vary="seq=1024,2048"))


def test_impossible_points_say_why():
    app = opened(vary="tile.kv_rows=176,240")
    assert list(table(app)["State"]) == ["done", "impossible"]
    assert "278,528 B of shared memory" in table(app)["Why"][1]
    words = said(app).replace("\\", "")
    assert "1 of 2 points is impossible: the tile does not fit" in words and "278,528 B of shared memory" in words
    assert "at 1 of 2 points" in charts(app)


@pytest.mark.parametrize("by", ["list", "sensitivity"])
def test_impossible_points_say_why_whatever_the_points_are(by):
    app = opened(by=by, vary="tile.kv_rows=176,240", keys="tile.kv_rows", change="20", params="paper")
    assert "points is impossible: the tile does not fit" in said(app).replace("\\", "") and not app.exception


@pytest.mark.parametrize(
    ("text", "message"),
    [("seq=1..9", "say how to go on"), ("l2.byte=1", "Did you mean 'l2.bytes'"), ("", "nothing is varied")],
)
def test_a_wrong_sweep_is_answered_in_one_sentence(text, message):
    app = opened()
    app.text_area(key="vary").set_value(text).run()
    assert message in app.error[0].value and not app.exception


def test_a_parameter_is_added_from_the_picker():
    app = opened()
    app.selectbox(key="vary_pick").set_value("tma.inflight_lines").run()
    assert app.text_area(key="vary").value.endswith("tma.inflight_lines=32,64,128")
    assert len(table(app)) == 48 and not app.exception


def test_sensitivities_are_ranked():
    app = opened(by="sensitivity", metric="latency_us")
    assert not app.exception and table(app)["Varied"][0] == "base"
    assert any("values without effect" in folded.label for folded in app.expander)


def test_a_simulated_sweep_waits_for_a_click_and_brings_its_rows():
    app = opened(estimator="sim-fa", vary="seq=128,192,0")
    assert list(table(app)["State"]) == ["waiting", "waiting", "impossible"]
    assert "million line requests" in said(app)
    app.button(key="sweep_start").click().run()
    until = time.monotonic() + 120
    while "waiting" in set(table(app)["State"]):
        assert time.monotonic() < until and not app.exception
        time.sleep(0.2)
        app.run()
    assert list(table(app)["State"]) == ["done †", "done †", "impossible"]  # the paper's set: not validated
    assert "† 2 of 2 simulated experiments lie outside the validated range" in said(app)
    app.run()
    assert "3 points: 2 done, 1 impossible" in said(app)


def test_a_click_on_cancel_counts_when_rows_came_in_since_the_page_was_drawn():
    app = opened(estimator="sim-fa", llm="llama3.1-405b", vary="seq=129,12288,12416,12544")
    app.button(key="sweep_start").click().run()
    (sweep,) = state.sweeps().active()
    until = time.monotonic() + 120
    while len(sweep.open()) == 4:
        assert time.monotonic() < until and sweep.active
        time.sleep(0.1)
    app.button(key="sweep_cancel").click().run()
    assert sweep.cancelled.is_set() and not app.exception
    while sweep.active:
        assert time.monotonic() < until
        time.sleep(0.1)
    app.run()
    assert "1 done, 3 cancelled" in said(app)


def test_hostile_values_in_a_link_are_defaults_or_sentences():
    app = opened(estimator="<b>", metric="__class__", by="x", vary="<script>=1", baseline="<script>")
    assert not app.exception and "unknown parameter" in app.error[0].value


def test_a_what_if_row_is_picked_edited_and_reset():
    app = opened(page=None)
    app.selectbox(key="whatif_pick").set_value("l2.effective_bytes").run()
    assert app.text_area(key="set").value == "l2.effective_bytes=25MiB"
    app.text_input(key="whatif-l2.effective_bytes=25MiB").set_value("12.5MiB").run()
    assert app.text_area(key="set").value == "l2.effective_bytes=12.5MiB"
    assert "Preset: 25 MiB (above 0 B, at most l2.bytes). published: Sim-FA paper" in said(app)
    assert app.text_input(key="whatif-l2.effective_bytes=12.5MiB").label.startswith(":orange")
    app.button(key="whatif-reset-l2.effective_bytes").click().run()
    assert app.text_area(key="set").value == "" and not app.exception


def test_a_wrong_what_if_is_said_at_its_row():
    app = opened(page=None, set="tma.inflight_lines=0")
    assert ":red[tma.inflight_lines: input should be greater than 0 (got 0)]" in said(app)


def test_a_baseline_is_pinned_named_on_every_page_and_unpinned():
    app = opened(page=None)
    app.button(key="pin").click().run()
    app.number_input(key="seq").set_value(2048).run()
    assert "**Baseline:** Llama 3 8B, 4,096 tokens" in said(app)
    assert app.table[0].value.loc["Work (GFLOP)", "SimFA-python"].endswith("(-75.0 %)")
    for page in (
        "views/validation.py",
        "views/sweep.py",
        "views/measured.py",
        "views/presets.py",
        "views/compare.py",
    ):
        app.switch_page(page).run()
        assert "**Baseline:** Llama 3 8B, 4,096 tokens" in said(app) and not app.exception, page
    app.button(key="unpin").click().run()
    assert "Baseline" not in said(app)
    assert app.table[0].value.loc["Work (GFLOP)", "GenZ-style ideal cache"].endswith("68.7")


def test_a_link_brings_the_baseline_with_the_stored_simulation():
    app = opened(page=None, seq="2048", baseline="llm=llama3-8b&seq=4096")
    assert "**Baseline:** Llama 3 8B, 4,096 tokens" in said(app)
    assert cards(app)[0].beside == "-75.0 % to the baseline"


def test_figures_show_the_difference_to_the_baseline_until_values_are_asked_for():
    app = opened(baseline="llm=llama3-8b&seq=8192")
    assert not app.exception and app.toggle(key="difference").value
    assert table(app)["DRAM traffic to baseline"][0] == "+0.0 %"
    assert "against the baseline" in charts(app)
    app.toggle(key="difference").set_value(False).run()
    assert "against the baseline" not in charts(app) and not app.exception
    assert app.query_params["difference"] == "false"


def charts(app):
    return "".join(item.proto.spec for item in app.get("plotly_chart"))


def test_without_a_baseline_there_is_no_difference_to_switch():
    assert not [toggle for toggle in opened().toggle if toggle.key == "difference"]


def test_a_row_of_the_table_becomes_the_baseline():
    app = opened(vary="seq=1024,2048\nl2.effective_bytes=12.5MiB,25MiB")
    assert "Select an answered row to set it as baseline." in said(app)
    app.session_state["sweep_table"] = {"selection": {"rows": [2], "columns": []}}
    app.run()
    app.button(key="pin").click().run()
    words = said(app).replace("\\", "")
    assert "Llama 3 8B, 2,048 tokens" in words and "what if l2.effective_bytes=12.5MiB" in words
    assert list(table(app)["Latency of one layer to baseline"])[2] == "+0.0 %" and not app.exception
