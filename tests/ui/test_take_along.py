"""Report, citation and downloads of every page, as a button press would get them."""

import io
import json
from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from dashboard import citation, provenance
from dashboard.widgets import browser_download
from tests.dashboard.report.reading import Read
from tests.ui.conftest import ROOT
from tests.ui.test_links import opened, query

ANSWERS = ("compare", "regimes", "timeline", "sweep", "measured", "validation")


@dataclass
class Pressed:
    """A download button: its file name and what pressing it gives."""

    name: str
    make: Callable[[], str | bytes]

    def content(self) -> bytes:
        given = self.make()
        return given.encode() if isinstance(given, str) else given


@pytest.fixture
def buttons(monkeypatch):
    """The download buttons drawn so far, by label (the last of several) and by file name."""
    found: dict[str, Pressed] = {}

    def made(label, make, name, mime, key, **button):
        found[label] = found[name] = Pressed(name, make)

    monkeypatch.setattr(browser_download, "download", made)
    return found


@pytest.mark.parametrize("page", ANSWERS)
def test_every_page_with_an_answer_has_a_report_with_its_state(page, buttons):
    state = {"llm": "llama3-70b", "seq": "512"} if page in ("compare", "regimes", "sweep") else {}
    state |= {"study": "fig6"} if page == "validation" else {}
    app = opened(page, state)
    report = buttons["Download the report"]
    read = Read(report.content().decode())
    assert report.name.endswith(".html") and read.fetched() == [] and len(read.scripts) == 2
    assert read.blocks and read.tables and "Versions" in read.words
    assert all(f"{key}={value}" in read.words for key, value in query(app).items() if key in state)
    if page in ("compare", "regimes", "timeline"):
        assert "tokens, batch 1, FP16, NVIDIA H800 SXM5, FlashAttention-3" in read.words


@pytest.mark.parametrize("page", ANSWERS)
def test_every_page_with_an_answer_has_a_citation_to_copy(page):
    blocks = [block.value for block in opened(page).code]
    line, bibtex = (text for text in blocks if citation.TITLE in text)
    assert provenance.said() in line and "\n" not in line
    assert bibtex.startswith("@misc{") and bibtex.count("{") == bibtex.count("}")


def test_the_citation_names_the_changed_experiment():
    app = opened("compare", {"llm": "llama3.1-405b", "set": "l2.effective_bytes=30MiB", "params": "calibrated"})
    line = app.code[0].value
    assert "Llama 3.1 405B" in line and "calibrated parameters" in line
    assert "what if l2.effective_bytes=31457280" in line


def test_the_report_holds_the_numbers_of_the_page(buttons):
    app = opened("compare", {"llm": "llama3.1-405b", "seq": "65536", "peer": "true"})
    read = Read(buttons["Download the report"].content().decode())
    page = app.table[0].value
    assert read.table("Quantity")[1:] == [
        [title, *row] for title, row in zip(page.index, page.values.tolist(), strict=True)
    ]


def test_a_report_follows_the_baseline_and_the_what_ifs(buttons):
    app = opened("compare", {"seq": "2048"})
    app.button(key="pin").click().run()
    app.number_input(key="seq").set_value(4096).run()
    read = Read(buttons["Download the report"].content().decode())
    assert "to the baseline (Llama 3 8B, 2,048 tokens" in read.words and "(+300.0 %)" in read.words
    app.text_area(key="set").set_value("sm.count=100").run()
    read = Read(buttons["Download the report"].content().decode())
    assert "changed; preset: 132" in read.words


def test_a_timeline_report_has_the_window_of_the_page(buttons):
    opened("timeline", {"window": "1000..5000", "box": "2000..2500"})
    read = Read(buttons["Download the report"].content().decode())
    assert "Selected window: 500 cycles" in read.words and "window=1000..5000" in read.words.replace("%2E", ".")


def test_uploads_are_in_the_report_by_wish_and_in_no_link(buttons):
    app = AppTest.from_file(str(ROOT / "dashboard" / "app.py"), default_timeout=60).run()
    app = app.switch_page("views/measured.py").run()
    name = "<script>alert(1)<b>"
    table = f"label,llm,gpu,seq,latency_us,dram_bytes\n{name},llama3-8b,h800,4096,400,83886080\n"
    app.file_uploader[0].set_value([("<img src=x>.csv", table.encode(), "text/csv")]).run()
    assert not app.exception and "<img" not in str(query(app)) and "script" not in str(query(app))
    assert "the link in it does not" in " ".join(item.value for item in app.caption)
    read = Read(buttons["Download the report"].content().decode())
    assert name in " ".join(row[0] for row in read.table("Kernel")) and len(read.scripts) == 2
    assert not [given for tag, given in read.tags if tag == "img"]


FORMS = ("CSV", "JSON", "Parquet")
TABLES = {
    "compare": ["Download"],
    "sweep": ["Download"],
    "presets": ["Download"],
    "timeline": ["Spans,", "Queues,", "CTAs,", "Utilisation as", "Stalls as"],
    "measured": ["Errors as", "Summary as"],
    "tour": ["Download"],
}


def rows_of(form, content):
    if form == "CSV":
        return pd.read_csv(io.BytesIO(content))
    return pd.DataFrame(json.loads(content)) if form == "JSON" else pd.read_parquet(io.BytesIO(content))


@pytest.mark.parametrize("page", TABLES)
def test_every_table_comes_as_csv_json_and_parquet_with_equal_rows(page, buttons):
    opened(page)
    for table in TABLES[page]:
        counts = {form: len(rows_of(form, buttons[f"{table} {form}"].content())) for form in FORMS}
        assert len(set(counts.values())) == 1 and counts["CSV"] > 0, (table, counts)
        endings = {buttons[f"{table} {form}"].name.rpartition(".")[2] for form in FORMS}
        assert endings == {"csv", "json", "parquet"}


def test_the_curves_of_regimes_and_what_is_not_compared_too(buttons):
    app = opened("regimes")
    app.session_state["regimes-download"] = True
    app.run()
    assert {len(rows_of(form, buttons[f"Download {form}"].content())) > 500 for form in FORMS} == {True}
    app = opened("measured")
    app.toggle(key="measured_unknown_clock").set_value(True).run()
    names = [f"measured_not_compared.{form.lower()}" for form in FORMS]
    told = next(box.label for box in app.expander if box.label.startswith("Not compared"))
    counts = {len(rows_of(form, buttons[name].content())) for form, name in zip(FORMS, names, strict=True)}
    assert len(counts) == 1 and told.startswith(f"Not compared: {counts.pop()},")


def test_the_sources_behind_a_number_too(buttons):
    app = opened("compare")
    app.session_state["why-compare-simfa-python"] = True
    app.run()
    assert not app.exception
    tables = [rows_of(form, buttons[f"sources_latency_us.{form.lower()}"].content()) for form in FORMS]
    assert all(len(table) == len(tables[0]) > 3 and "Source" in table for table in tables)


def test_what_is_behind_a_simulated_number_too(buttons):
    app = opened("compare")
    app.session_state["why-compare-simulated"] = True
    app.run()
    assert not app.exception
    for table in ("units", "waits"):
        files = [rows_of(form, buttons[f"simulated_{table}.{form.lower()}"].content()) for form in FORMS]
        assert all(len(file) == len(files[0]) >= 5 for file in files)
    assert "607,686 cycles / 1,830 MHz" in " ".join(item.value for item in app.markdown)
