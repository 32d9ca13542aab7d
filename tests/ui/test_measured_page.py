"""The Measured page through AppTest: gallery, upload, refusal, question, choices, and sessions apart."""

import json
import time
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.ui.cards import cards
from tests.ui.conftest import ROOT

DATA = Path(__file__).parents[1] / "dashboard" / "measured" / "data"
GB10 = "gb10_b1_h8_s4096_d128_float16_noncausal.csv"


@pytest.fixture
def app():
    return opened()


def opened():
    """The page as a new session sees it."""
    app = AppTest.from_file(str(ROOT / "dashboard" / "app.py"), default_timeout=60).run()
    return app.switch_page("views/measured.py").run()


def upload(app, *names, contents=None):
    files = [(name, contents or (DATA / name).read_bytes(), "text/csv") for name in names]
    app.file_uploader[0].set_value(files).run()
    assert not app.exception
    return app


def markdown(app):
    return "\n".join(item.value for item in app.markdown).replace("\\", "")


def shown(app):
    return {card.name: card.value for card in cards(app)}


def test_the_page_opens_with_public_measurements(app):
    assert not app.exception and not app.error
    assert "20 public measurements against the estimators" in markdown(app)
    assert shown(app) == {"SimFA-python": "37.7 %", "GenZ": "26.9 %", "Sim-FA": "–"}
    assert "GenZ knows no mask" in markdown(app) and "have not yet been run on a GPU" in captions(app)
    assert [button.label for button in app.button if button.label.startswith("Simulate")] == ["Simulate 19 kernels"]


def captions(app):
    return " ".join(item.value for item in app.caption).replace("\\", "")


def test_runs_without_a_clock_join_on_request_and_those_without_a_preset_say_why(app):
    app.toggle(key="measured_unknown_clock").set_value(True).run()
    assert "57 public measurements" in markdown(app)
    assert "37 of 57 kernels came without an SM clock" in markdown(app)
    assert any("no preset for B300" in str(frame.value) for frame in app.dataframe)


def test_quantity_estimators_and_clock_are_choices(app):
    app.segmented_control(key="measured_quantity").set_value("l2_bytes").run()
    assert shown(app)["SimFA-python"] == "0.31 %"
    app.pills(key="measured_estimators").set_value(["genz", "llm-viewer"]).run()
    assert "LLM-Viewer" in shown(app) and "SimFA-python" not in shown(app)
    app.toggle(key="measured_clock").set_value(False).run()
    assert not app.exception


def test_an_upload_is_matched_compared_and_explained(app):
    upload(app, GB10)
    assert "1 kernel of your files" in markdown(app)
    assert "7 launches of 2 kernels, 1 of them attention by name" in markdown(app)
    row = app.data_editor[0].value.iloc[0]
    assert (row["use"], row["gpu"], row["seq_q"], row["heads_q"], row["head_dim"]) == (True, "gb10", 4096, 8, 128)
    assert "cuTile kernel of the public GB10 exports" in row["reasons"]
    app.segmented_control(key="measured_quantity").set_value("l2_bytes").run()
    assert shown(app)["SimFA-python"] == "0.00 %"
    assert "exactly Eq. (2) (1,090,519,040 B)" in markdown(app)


def test_warm_up_launches_change_the_median(app):
    upload(app, GB10)
    assert app.data_editor[0].value.iloc[0]["launches"] == 5
    app.number_input(key="measured_warm_up").set_value(0).run()
    assert app.data_editor[0].value.iloc[0]["launches"] == 6


def test_every_kernel_can_be_listed_and_filtered(app):
    upload(app, GB10)
    assert len(app.data_editor[0].value) == 1
    app.toggle(key="measured_attention").set_value(False).run()
    assert list(app.data_editor[0].value["use"]) == [True, False]
    app.text_input(key="measured_filter").set_value("fill_").run()
    assert list(app.data_editor[0].value["title"]) == ["fill_random"]
    app.text_input(key="measured_filter").set_value("nothing like it").run()
    assert "No kernel of this name" in app.info[0].value and not app.exception


def test_what_files_do_not_say_is_asked_once_and_stays_in_the_table(app):
    upload(app, "raw_integrated.csv")
    assert "Your files: nothing to compare yet" in markdown(app)
    for field, value in (("heads_q", 8), ("head_dim", 64), ("seq_q", 4096)):
        app.number_input(key=f"measured_fill_{field}").set_value(value).run()
    row = app.data_editor[0].value.iloc[0]
    assert (row["gpu"], row["heads_q"], row["head_dim"], row["seq_q"]) == ("gb10", 8, 64, 4096)
    assert "1 kernel of your files" in markdown(app)
    app.switch_page("views/compare.py").run()
    app.switch_page("views/measured.py").run()
    assert app.data_editor[0].value.iloc[0]["seq_q"] == 4096 and "1 kernel of your files" in markdown(app)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("all_na.csv", "every metric reads n/a"),
        ("ncu_text.txt", "text page of ncu"),
        ("page.html", "HTML"),
        ("no_kernels.csv", "no kernels were profiled"),
    ],
)
def test_a_refusal_is_one_calm_sentence_and_the_gallery_stays(app, name, sentence):
    upload(app, name)
    said = app.warning[0].value.replace("\\", "").replace("\u2060", "")
    assert said.startswith(f"Not read. {name}: ") and sentence in said
    assert not app.error and "public measurements" in markdown(app)
    app.button(key=next(b.key for b in app.button if b.label == "Remove")).click().run()
    assert not app.warning


def test_an_ambiguous_file_asks_and_the_answer_reads_it(app):
    upload(app, "ambiguous.csv")
    assert "which decimal separator" in markdown(app) and "117,344 with a decimal comma" in markdown(app)
    assert "public measurements" in markdown(app)
    next(button for button in app.button if button.label.startswith("Comma")).click().run()
    app.toggle(key="measured_attention").set_value(False).run()
    assert app.data_editor[0].value.iloc[0]["latency_us"] == pytest.approx(117.344)


def test_two_sessions_never_see_each_others_files(app):
    upload(app, GB10)
    other = opened()
    assert "public measurements" in markdown(other) and not other.data_editor
    upload(other, "raw_us.csv")
    assert "gb10" not in markdown(other) and "raw_us" not in markdown(app.run())


def test_a_kernel_name_with_html_and_markdown_is_text(app):
    name = "attn<script>alert(1)</script> **b** :red[x] $y$"
    content = (DATA / GB10).read_text().replace("flash_fwd_kernel_fp32acc_aligned", name).encode()
    upload(app, "<b>b1_h8_s4096_d128.csv", contents=content)
    assert app.data_editor[0].value.iloc[0]["kernel_name"] == name
    for item in (*app.markdown, *app.caption):
        assert "<script" not in item.value.replace("\\<", "") and "<b>" not in item.value.replace("\\<", "")


def test_a_plain_table_is_compared_and_its_errors_are_said_line_by_line(app):
    table = b"llm,gpu,seq,latency_us,dram_bytes\nllama3-8b,h100-sxm,4096,412.5,98000000\n"
    upload(app, "t.csv", contents=table)
    assert "1 kernel of your files" in markdown(app)
    upload(app, "u.csv", contents=table.replace(b"4096", b"-1"))
    said = app.warning[0].value.replace("\\", "").replace("\u2060", "")
    assert "u.csv, line 2: seq: '-1' is not allowed" in said


def test_the_saved_record_brings_the_numbers_back(app):
    upload(app, GB10)
    from dashboard.measured import recording

    mine = app.session_state["measured_desk"]
    record = recording.make(mine.chosen(), ["simfa-python", "genz"], True, {})
    again = upload(opened(), "record.json", contents=recording.to_json(record).encode())
    assert shown(again) == shown(app)
    assert json.loads(recording.to_json(record))["rows"]


def test_simulations_start_by_a_button_and_their_numbers_come_in(app):
    upload(app, "t.csv", contents=b"llm,gpu,seq,latency_us\nllama3-8b,h800,256,9\nllama3-8b,h800,384,11\n")
    next(button for button in app.button if button.label == "Simulate 2 kernels").click().run()
    until = time.monotonic() + 120
    while shown(app)["Sim-FA"] == "–" or any(b.label == "Cancel" for b in app.button):
        assert time.monotonic() < until
        time.sleep(0.3)
        app.run()
    assert not app.exception and "%" in shown(app)["Sim-FA"]
    assert not [button for button in app.button if button.label.startswith("Simulate")]


def test_a_pinned_baselines_values_stand_beside_the_presets_errors():
    app = AppTest.from_file(str(ROOT / "dashboard" / "app.py"), default_timeout=60)
    app.query_params["baseline"] = "llm=llama3-8b&seq=4096&set=dram.bandwidth_bytes_per_s%3D1TB%2Fs"
    app.run().switch_page("views/measured.py").run()
    assert not app.exception and "every model with the baseline's values" in captions(app)
    assert {card.name: card.beside for card in cards(app)}["GenZ"].startswith("baseline ")
    assert "GenZ baseline error (%)" in app.dataframe[0].value.columns
    assert "With the baseline's values GenZ is off by" in markdown(app)
    app.button(key="unpin").click().run()
    assert "the baseline" not in captions(app) and "baseline" not in str(app.dataframe[0].value.columns)


def test_a_baseline_without_changed_values_has_the_same_errors():
    app = AppTest.from_file(str(ROOT / "dashboard" / "app.py"), default_timeout=60)
    app.query_params["baseline"] = "llm=llama3-8b&seq=2048"
    app.run().switch_page("views/measured.py").run()
    assert "so its errors are these" in captions(app) and not app.exception


def test_every_estimator_can_be_shown_and_taken_along(app):
    app.pills(key="measured_estimators").set_value(["simfa-launch-order", "llm-viewer"]).run()
    assert not app.exception and set(shown(app)) == {"Launch order", "LLM-Viewer"}
