"""The Presets page through AppTest: every value with its unit, label and source."""

from streamlit.testing.v1 import AppTest

from tests.ui.conftest import ROOT


def opened(**query):
    app = AppTest.from_file(str(ROOT / "dashboard" / "app.py"), default_timeout=60)
    for key, value in query.items():
        app.query_params[key] = value
    app.run()
    return app.switch_page("views/presets.py").run()


def test_every_value_has_a_label_and_a_source():
    app = opened()
    assert not app.exception
    values = app.dataframe[0].value
    assert {"l2.bytes", "tile.kv_rows", "heads_kv"} <= set(values["Key"])
    assert (values["Label"] != "").all() and (values["Source"] != "").all()
    row = values.set_index("Key").loc["l2.bytes"]
    assert (row["Value"], row["Unit"]) == ("52,428,800", "B")


def test_a_changed_value_is_marked_as_an_override():
    values = opened(set="l2.bytes=100MiB").dataframe[0].value.set_index("Key")
    assert values.loc["l2.bytes", "Label"] == "override"
    assert "l2.bytes=100MiB" in values.loc["l2.bytes", "Source"]
    assert values.loc["l2.effective_bytes", "Value"] == "52,428,800"


def test_values_can_be_filtered_by_label():
    app = opened()
    app.pills[0].set_value(["fitted"]).run()
    assert set(app.dataframe[0].value["Label"]) == {"fitted"}


def test_a_wrong_what_if_is_answered_in_one_sentence():
    app = opened(set="l2.byte=5")
    assert "Did you mean 'l2.bytes'" in app.error[0].value and not app.exception


def test_values_that_differ_from_the_baseline_stand_beside_each_other():
    app = opened(gpu="gb10", baseline="llm=llama3-8b&seq=4096&set=l2.bytes%3D100MiB")
    values = app.dataframe[0].value.set_index("Key")
    assert values.index.is_unique and not app.exception
    assert (values.loc["l2.bytes", "Baseline"], values.loc["sm.count", "Baseline"]) == ("104,857,600", "132")
    assert values.loc["heads_kv", "Baseline"] == ""  # the same model
    assert list(values.loc["sm.issue_per_cycle", ["Value", "Baseline"]]) == ["absent", "1"]
    assert list(values.loc["l2.ways", ["Value", "Baseline"]]) == ["16", "absent"]
    app.toggle(key="presets_differing").set_value(True).run()
    assert (app.dataframe[0].value["Baseline"] != "").all()


def test_without_a_baseline_there_is_no_such_column():
    assert "Baseline" not in opened().dataframe[0].value.columns


def test_a_wrong_what_if_is_said_and_the_presets_stay_to_look_the_key_up():
    app = opened(set="l2.bites=1")
    assert "unknown key 'l2.bites'" in app.error[0].value
    assert "l2.bytes" in set(app.dataframe[0].value["Key"]) and "without the changes" in app.info[0].value


def test_rates_have_units():
    values = opened().dataframe[0].value.set_index("Key")
    assert values.loc["tensor.fp16_flop_per_cycle", "Unit"] == "FLOP/cycle"
    assert values.loc["tensor.shared_bytes_per_cycle", "Unit"] == "B/cycle"
