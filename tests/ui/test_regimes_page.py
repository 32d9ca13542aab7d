"""The Regimes page through AppTest: what-ifs, impossible tiles, warnings, explanations, and the link."""

import re

import pytest
from streamlit.testing.v1 import AppTest

from tests.ui.cards import cards
from tests.ui.conftest import ROOT

GB10 = {"llm": "bare", "heads_q": "8", "heads_kv": "8", "gpu": "gb10", "kernel": "cutile-fa-64x64"}


def opened(**query):
    app = AppTest.from_file(str(ROOT / "dashboard" / "app.py"), default_timeout=60)
    _link(app, query)
    app.run()
    app = app.switch_page("views/regimes.py")
    _link(app, query)  # the first page has put its own state there
    app.run()
    assert not app.exception
    return app


def _link(app, query):
    for key, value in query.items():
        app.query_params[key] = value


@pytest.fixture
def app():
    return opened()


def text(app):
    return "\n".join(item.value for kind in (app.markdown, app.caption) for item in kind)


def traffic(app):
    return {card.name: card.value.removeprefix("DRAM ") for card in cards(app)}


def named(widgets, label):
    return next(widget for widget in widgets if widget.label == label)


def test_it_opens_on_a_full_answer(app):
    assert not app.error and not app.warning
    assert traffic(app) == {
        "SimFA-python": "83.9 MB",
        "GenZ-style ideal cache": "83.9 MB",
        "SimFA, launch order": "84.0 MB",
    }
    assert "Effective L2 25 MiB" in text(app) and "No public traffic counters" in text(app)
    # the worked example, and what other sessions of this server have asked for
    assert re.search(r"Simulated so far at [0-9, ]*\b4,096\b[0-9, ]* tokens", text(app))
    assert "What if:" not in text(app)


def test_gb10_shows_its_measured_point_and_eight_heads_in_flight():
    app = opened(**GB10)
    assert "8 KV heads must stay in L2" in text(app) and "13.2 % of K/V gone: 55.8 MB" in text(app)
    assert "Measured (DRAM by L2 misses: an estimate): cuTile flash_fwd (T_M=64) on GB10" in text(app)
    assert traffic(app)["SimFA, launch order"] == "55.8 MB"


@pytest.mark.parametrize(
    ("kind", "label", "value", "said"),
    [
        ("slider", "Effective L2 (MiB)", 20.0, "**l2.effective_bytes** = 20MiB"),
        ("slider", "Effective L2 (MiB)", 100.0, "**l2.bytes** = 100MiB"),
        ("slider", "SMs", 66, "**sm.count** = 66"),
        ("select_slider", "Tile T_M (query rows)", 64, "**tile.query_rows** = 64"),
        ("select_slider", "Occupancy (CTAs per SM)", 3, "**pipeline.occupancy_ctas** = 3"),
        ("select_slider", "KV heads in flight", 4, "**pipeline.live_heads** = 4"),
    ],
)
def test_each_slider_is_an_override_that_reset_takes_back(app, kind, label, value, said):
    before = named(getattr(app, kind), label).value
    named(getattr(app, kind), label).set_value(value).run()
    assert not app.exception and said in text(app)
    named(app.button, "Reset").click().run()
    assert named(getattr(app, kind), label).value == before and "What if:" not in text(app)


def test_a_smaller_l2_moves_the_boundary_in_the_words(app):
    named(app.slider, "Effective L2 (MiB)").set_value(10.0).run()
    assert "The boundary is 20,480 tokens of K/V" in text(app)


def test_the_switches_change_the_launch_order_answer_alone():
    app = opened(**GB10)
    app.segmented_control[1].set_value("sawtooth").run()
    assert "**pipeline.kv_traversal** = sawtooth" in text(app)
    assert traffic(app)["SimFA, launch order"] == "36.7 MB" and traffic(app)["SimFA-python"] == "33.6 MB"
    app.segmented_control[0].set_value("block_fastest").run()
    assert traffic(app)["SimFA, launch order"] == "33.6 MB"


def test_an_impossible_tile_is_said_with_its_sum_and_still_answered(app):
    named(app.select_slider, "Tile T_M (query rows)").set_value(256).run()
    assert "2 B x 128 x (256 + 4 x 176) rows = 245,760 B" in app.error[0].value
    assert "77,824 registers" in app.error[0].value and len(app.error) == 1
    assert len(cards(app)) == 3


def test_a_warning_at_the_boundary(app):
    app.number_input(key="seq").set_value(51_200).run()
    assert "exactly at the Eq. (4) boundary of 51,200" in app.warning[0].value
    app.number_input(key="seq").set_value(40_000).run()
    assert not app.warning


def test_a_link_restores_the_what_ifs_and_ignores_nonsense():
    app = opened(
        if_l2_mib="40.0", if_tm="64", if_heads="3", if_sms="-4", if_ctas="<b>", if_grid="x", if_kv="sawtooth"
    )
    assert "**l2.effective_bytes** = 40MiB" in text(app) and "**tile.query_rows** = 64" in text(app)
    assert "**pipeline.live_heads** = 3" in text(app) and "sawtooth" in text(app)
    assert named(app.slider, "SMs").value == 132 and named(app.select_slider, "Occupancy (CTAs per SM)").value == 1


def test_fewer_ctas_than_heads_asked_for_are_said():
    app = opened(if_sms="1", if_heads="8")
    assert "8 KV heads asked for, but only 1 CTA is resident, so at most 1 KV head is in flight" in text(app)
    named(app.slider, "SMs").set_value(132).run()
    assert "With launch order (as asked), 8 KV heads must stay in L2" in text(app)


def test_what_ifs_belong_to_their_gpu():
    app = opened(if_sms="100")
    assert "**sm.count** = 100" in text(app)
    app.selectbox(key="gpu").set_value("gb10").run()
    assert named(app.slider, "SMs").value == 48 and "What if:" not in text(app)


def test_the_peer_is_shown_on_request(app):
    app.toggle(key="peer").set_value(True).run()
    assert "LLM-Viewer (peer)" in traffic(app)


def test_wrong_input_is_one_sentence(app):
    app.text_area(key="set").set_value("l2.byte=5").run()
    assert "Did you mean 'l2.bytes'" in app.error[0].value and not cards(app)


@pytest.mark.parametrize(
    "query", [{"seq": "1", "split": "true"}, {"causal": "true", "seq": "16777216"}, {"seq": "1"}]
)
def test_the_ends_of_the_range_are_calm(query):
    app = opened(**query)
    assert not app.error and len(cards(app)) == 3


@pytest.mark.parametrize("estimator", ["simfa-python", "simfa-launch-order", "genz", "llm-viewer"])
def test_why_opens_the_equations_with_their_values_and_sources(estimator):
    app = opened(peer="true")
    app.session_state[f"why-regimes-{estimator}"] = True  # the box is open
    app.run()
    formulas = [item.value for item in app.markdown if item.value.startswith(r"$\begin{aligned}")]
    assert formulas[0].startswith(r"$\begin{aligned}M_{\mathrm{DRAM}} &=") and len(formulas) >= 4
    sources = app.dataframe[0].value
    assert {"B", "L", "S", "D", "P"} <= set(sources["Symbol"])
    assert (sources["Source"].str.len() > 0).all() and (sources["Label"].str.len() > 0).all()
    picker = app.selectbox(key=f"why-number-regimes-{estimator}")
    picker.set_value("latency_us").run()
    assert not app.exception
    assert r"t_{\mathrm{us}} &= t \cdot 1{,}000{,}000" in "".join(item.value for item in app.markdown)


def test_the_data_is_written_out_when_its_box_is_opened(app):
    assert "Download CSV" not in [button.label for button in app.button]
    app.session_state["regimes-download"] = True
    app.run()
    labels = [button.label for button in app.button if button.label.startswith("Download")]
    assert labels[:3] == ["Download CSV", "Download JSON", "Download Parquet"]


def deltas(app):
    return {card.name: card.beside for card in cards(app)}


def test_a_pinned_run_stays_as_light_curves_numbers_and_words(app):
    named(app.button, "Set as baseline").click().run()
    assert not app.exception and "**Baseline:** Llama 3 8B" in text(app)
    assert "the Eq. (4) boundary of one head stays at 51,200 tokens" in text(app)
    assert "no difference to the baseline" in deltas(app)["SimFA-python"]
    named(app.slider, "Effective L2 (MiB)").set_value(5.0).run()
    assert "moves from 51,200 to 10,240 tokens (-40,960 tokens, -80.0 %)" in text(app)
    assert "DRAM traffic by SimFA-python differs most at" in text(app)
    app.number_input(key="seq").set_value(8192).run()
    assert "+100.0 % to the baseline" in deltas(app)["SimFA-python"]


def test_moved_sliders_are_pinned_as_what_ifs_and_travel_in_the_link(app):
    named(app.slider, "Effective L2 (MiB)").set_value(10.0).run()
    named(app.button, "Set as baseline").click().run()
    assert "what if l2.effective_bytes=10MiB" in text(app).replace("\\", "")
    named(app.button, "Reset").click().run()
    assert "moves from 20,480 to 51,200 tokens (+30,720 tokens, +150.0 %)" in text(app)
    again = opened(baseline=app.query_params["baseline"])
    assert "moves from 20,480 to 51,200 tokens" in text(again)


def test_the_calibrated_set_stays_when_a_slider_moves():
    app = opened(params="calibrated")
    named(app.slider, "SMs").set_value(66).run()
    assert "calibrated parameters" in text(app) and not app.exception
