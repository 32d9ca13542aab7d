"""A report as bytes: one file that parses, fetches nothing, and lets nothing hostile through."""

import base64
import datetime
import hashlib

import pandas as pd
import plotly.graph_objects as go
import pytest
from plotly.offline import get_plotlyjs

from dashboard import provenance
from dashboard.recipe import Recipe
from dashboard.report import parameters, render
from dashboard.report.document import Figure, Link, Report, Table, Text
from tests.dashboard.report.reading import Read

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'&{{ 7 * 7 }}"
NOW = datetime.datetime(2030, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)


def report(text="plain", link=None, **more):
    chart = go.Figure(go.Scatter(x=[1, 2], y=[3.5, 4], name=text), {"title": {"text": text}, "height": 250})
    sections = [
        Text(text, [text]),
        Figure(chart, text),
        Table(text, pd.DataFrame({text: [text, "y"], "n": [1234.5, None]}), text, [{"a": text, "b": 0.1 + 0.2}]),
    ]
    return Report(
        text, text, sections, link or Link("compare", f"llm={text}"), subject=text, remarks=[text], **more
    )


def test_it_parses_and_holds_its_tables_figures_and_date():
    read = Read(render.html(report(), NOW))
    assert read.tables[0] == [["plain", "n"], ["plain", "1,234.5"], ["y", "–"]]
    figure = next(iter(read.blocks.values()))
    assert figure["data"][0]["name"] == "plain" and figure["layout"]["height"] == 250
    assert read.downloads == [[{"a": "plain", "b": "0.30000000000000004"}]]
    assert "2030-01-02T03:04:05+00:00" in read.words


def test_nothing_is_fetched_and_plotly_is_inside():
    read = Read(render.html(report(), NOW))
    assert read.fetched() == []
    assert read.scripts[0] == get_plotlyjs() and "Plotly.react" in read.scripts[1]


def test_only_its_own_two_scripts_may_run_and_nothing_may_be_loaded():
    read = Read(render.html(report(), NOW))
    policy = next(given["content"] for tag, given in read.tags if given.get("http-equiv"))
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    digests = [base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in read.scripts]
    assert rules["script-src"].split() == [f"'sha256-{digest}'" for digest in digests]
    assert rules["default-src"] == "'none'" and "connect-src" not in rules


def test_hostile_text_is_text_everywhere():
    harmless, hostile = (render.html(report(text), NOW) for text in ("x" * len(HOSTILE), HOSTILE))
    read = Read(hostile)
    shape = [(tag, sorted(given)) for tag, given in Read(harmless).tags]
    assert [(tag, sorted(given)) for tag, given in read.tags] == shape
    assert read.tables[0][0][0] == HOSTILE and "{{ 7 * 7 }}" in read.words and "49" not in read.tables[0][1]
    assert next(iter(read.blocks.values()))["data"][0]["name"] == HOSTILE
    assert "<script>alert(1)" not in hostile and "onerror=alert(1)>" not in hostile


@pytest.mark.parametrize("address", ["javascript:alert(1)", "data:text/html,x", "http://127.0.0.1:8501"])
def test_the_state_is_text_and_no_link_to_click(address):
    read = Read(render.html(report(link=Link("regimes", "llm=x&seq=1", address)), NOW))
    assert f"{address}/regimes?llm=x&seq=1" in read.words
    assert all(given["href"].startswith("data:text/csv") for tag, given in read.tags if tag == "a")


def test_a_state_that_fits_into_no_url_says_why():
    read = Read(render.html(report(link=Link("compare", why_not="Files do not travel.")), NOW))
    assert "Files do not travel." in read.words and "brings the page back" not in read.words


def test_versions_and_citation_are_at_the_end():
    read = Read(render.html(report(), NOW))
    stated = {row[0]: row[1] for row in read.table("sim-fa")}
    assert stated | {"date": ""} == provenance.versions() | {"date": ""}
    assert "Zhongchun Zhou" in read.words and "@misc{zhou2026simfa" in read.words


def test_changed_parameters_stand_first_are_marked_and_say_what_the_preset_has():
    experiment = Recipe(set="l2.effective_bytes=30MiB").experiment()
    read = Read(render.html(report(experiments={"this": experiment}), NOW))
    head, first, second = read.table("Preset")[:3]
    assert dict(zip(head, first, strict=True)) == {
        "Preset": "NVIDIA H800 SXM5",
        "Key": "l2.effective_bytes",
        "Value": "31,457,280",
        "Unit": "B",
        "Label": "override",
        "Source": "--set l2.effective_bytes=30MiB",
        "Changed": "changed; preset: 25 MiB",
    }
    assert second[-1] == ""
    assert sum(given.get("class") == "changed" for tag, given in read.tags if tag == "tr") == 1


@pytest.mark.parametrize("params", ["paper", "calibrated"])
def test_a_changed_kernel_value_knows_its_preset_in_both_sets(params):
    experiment = Recipe(params=params, set="pipeline.occupancy_ctas=2").experiment()
    table = parameters.table(experiment)
    assert table["Key"][0] == "pipeline.occupancy_ctas" and table["Changed"][0] == "changed; preset: 1"
    assert (table["Changed"] != "").sum() == 1


def test_every_parameter_has_a_label_and_a_source():
    table = parameters.table(Recipe().experiment())
    assert (table["Label"] != "").all() and (table["Source"] != "").all() and len(table) > 40


def test_a_preset_from_a_file_has_nothing_to_compare_with(tmp_path):
    from presets import loader

    text = (loader.ROOT / "gpus" / "h800.toml").read_text().replace('name = "h800"', 'name = "mine"')
    (tmp_path / "mine.toml").write_text(text)
    experiment = Recipe(gpu=str(tmp_path / "mine.toml"), set="l2.effective_bytes=30MiB").experiment()
    assert parameters.table(experiment)["Changed"][0] == "changed"
