"""`python -m dashboard report PAGE`: the same numbers as the headless command of the page, in one file."""

import json
from contextlib import suppress

import pytest

from dashboard.__main__ import main
from dashboard.recipe import Recipe, choices
from dashboard.validation.catalog import VIEWS
from dashboard.validation.view import NotStored
from tests.dashboard.report.reading import Read

DATA = "tests/dashboard/measured/data/"
GB10 = DATA + "gb10_b1_h8_s4096_d128_float16_noncausal.csv"


@pytest.fixture
def made(tmp_path, capsys):
    """`made("compare --seq 4096")` writes a report and reads it back."""

    def run(words, *more):
        file = tmp_path / "report.html"
        status = main(["report", *words.split(), *more, "-o", str(file)])
        assert status == 0, capsys.readouterr().err
        assert str(file) in capsys.readouterr().out
        read = Read(file.read_text("utf-8"))
        assert read.fetched() == []
        return read

    return run


def headless(capsys, words):
    assert main(words.split()) == 0
    return capsys.readouterr().out


def test_compare_holds_the_records_of_the_command_in_full(made, capsys):
    words = "--llm llama3.1-405b --seq 65536 --estimators simfa-python,genz"
    read = made(f"compare {words}")
    records = json.loads(headless(capsys, f"compare {words} --format json"))
    for row, record in zip(read.downloads[0], records, strict=True):
        assert row["dram_bytes"] == str(record["dram_bytes"])
        assert row["latency_us"] == str(record["latency_us"])
    assert ["DRAM traffic (MB)", "21,206", "4,563  (-78.5 %)"] in read.table("Quantity")
    assert "Llama 3.1 405B, 65,536 tokens" in read.words and len(read.blocks) == 2


def test_a_report_about_the_simulator_has_its_pipeline(made):
    read = made("compare --llm llama3-8b --seq 128")
    assert len(read.blocks) == 3 and "SM 0 ran" in read.blocks["plot-5"]["layout"]["title"]["text"]
    assert read.downloads[0][2]["estimator"] == "sim-fa" and int(read.downloads[0][2]["cycles"]) > 0


def test_a_baseline_is_named_and_every_number_shows_its_difference(made):
    read = made("compare --seq 4096 --llm llama3-8b --estimators simfa-python,genz", "--baseline", "seq=2048")
    table = {row[0]: row[1:] for row in read.table("Quantity")}
    assert table["DRAM traffic (MB)"] == ["83.9  (+100.0 %)"] * 2
    assert "to the baseline (Llama 3 8B, 2,048 tokens" in read.words and "Parameters: baseline" in read.words
    assert "SimFA-python, baseline" in json.dumps(read.blocks)


def test_of_two_settings_of_a_key_the_last_holds_as_in_the_other_commands(made):
    read = made("compare --llm llama3-70b --seq 512 --estimators genz --set sm.count=100 --set sm.count=90")
    assert "set=sm.count%3D90" in read.words and "sm.count%3D100" not in read.words


@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("compare --llm llama3-70b --seq 512 --causal --set sm.count=100 --estimators genz", ""),
        ("regimes --heads-q 8 --head-dim 64 --seq 4096 --gpu gb10 --dtype bf16", "regimes"),
        ("sweep --llm llama3-70b --seq 512 --vary batch=1,2 --params calibrated", "sweep"),
    ],
)
def test_the_state_in_a_report_is_the_experiment(made, words, page):
    read = made(words)
    path, _, query = next(text for text in read.text if text.startswith((f"{page}?", "/?"))).partition("?")
    recipe = Recipe.from_query(query, choices())
    assert path.strip("/") == page and recipe.experiment().words() in read.words
    assert ("sm.count=100" in recipe.set) == ("sm.count" in words)


def test_regimes_holds_its_curves_and_the_transition(made):
    read = made("regimes --llm llama3.1-405b --seq 65536")
    assert "The boundary is 51,200 tokens of K/V." in read.words
    rows = {row[0]: row for row in read.table("Length (tokens)")}
    assert rows["65,536"][1:3] == ["21,206,401,024", rows["65,536"][2]] and rows["4,096"][1] == rows["4,096"][3]
    curve = read.rows("effective_l2_bytes")
    assert {row["estimator"] for row in curve} == {"simfa-python", "simfa-launch-order", "genz"}
    assert {row["effective_l2_bytes"] for row in curve} == {"26214400"}


def test_timeline_lays_two_runs_beside_each_other(made):
    read = made("timeline --llm llama3-8b --seq 256 --sm 1 --second tma.inflight_lines=128")
    table = read.table("Window")
    assert [row[0] for row in table] == ["Window", "This experiment", "tma.inflight_lines=128", "Difference"]
    assert table[2][5].endswith("of 128") and "SM 1 of each" in json.dumps(read.blocks)
    assert float(read.downloads[0][0]["tensor_core"]) == pytest.approx(
        float(table[1][1].rstrip("%")) / 100, abs=1e-3
    )
    assert "Parameters: tma.inflight_lines=128" in read.words


def test_sweep_holds_every_point(made, capsys):
    words = "--vary seq=1024..8192*2 --vary l2.effective_bytes=12MiB,25MiB"
    read = made(f"sweep {words}")
    rows = json.loads(headless(capsys, f"sweep {words} --format json"))
    assert [row["dram_bytes"] for row in read.downloads[0]] == [str(row["dram_bytes"]) for row in rows]
    assert len(read.blocks) == 3
    assert "varied as a grid: seq=1024..8192*2; l2.effective_bytes=12MiB,25MiB" in read.words


def test_sensitivities_are_a_tornado(made):
    read = made("sweep --seq 65536 --sensitivity l2.effective_bytes,sm.count --change 50")
    assert len(read.blocks) == 1 and "moves the dram traffic most" in json.dumps(read.blocks)


def test_sweep_knows_the_parameter_set(capsys):
    paper, calibrated = (
        json.loads(headless(capsys, f"sweep --vary seq=4096 --format json --params {name}"))[0]
        for name in ("paper", "calibrated")
    )
    assert (paper["params"], calibrated["params"]) == ("paper", "calibrated")


def test_measured_holds_the_public_measurements_with_their_sources(made):
    read = made("measured --quantity dram_bytes --estimators simfa-python,simfa-launch-order")
    assert "57 public measurements against the estimators" in read.words
    assert "TiledAttention benchmark-gb10" in read.words and "of the person who made it" not in read.words
    rows = [row for row in read.rows("measured_source") if row["quantity"] == "dram_bytes"]
    assert {row["measured"] for row in rows} >= {"55635904.0", "19250000.0"}


def test_a_report_of_own_files_says_that_it_holds_them_and_that_its_link_does_not(made):
    read = made(f"measured {GB10}")
    assert "holds numbers and names from files of the person who made it" in read.words
    assert "They do not travel by URL" in read.words
    assert any("flash_fwd_kernel" in row[0] for row in read.table("Kernel"))
    address = next(text for text in read.text if text.startswith("measured?"))
    assert "gb10_b1" not in address and "flash" not in address


def test_validation_holds_every_view_with_its_rows(made):
    read, answers = made("validation"), {}
    for view in VIEWS.values():
        with suppress(NotStored):
            answers[view.label] = view.build("#000000")
    assert len(answers) >= len(VIEWS) - 3
    assert all(label in read.words and answer.title in read.words for label, answer in answers.items())
    assert [len(rows) for rows in read.downloads] == [len(answer.rows) for answer in answers.values()]


HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>"


def test_a_hostile_preset_name_is_text(made, tmp_path):
    from presets import loader

    text = (loader.ROOT / "gpus" / "h800.toml").read_text()
    title = next(line for line in text.splitlines() if line.startswith("title"))
    file = tmp_path / "h800.toml"
    file.write_text(text.replace(title, f"title = '{HOSTILE}'"))
    read = made("compare --llm llama3-8b --seq 512 --estimators simfa-python,genz", "--gpu", str(file))
    assert HOSTILE in read.words and "alert(1)" not in "".join(read.scripts[1:])
    assert len(read.scripts) == 2 and not [given for tag, given in read.tags if tag == "img"]
    assert "does not travel by URL" in read.words


def test_hostile_kernel_and_file_names_are_text(made, tmp_path):
    file = tmp_path / "<script>alert(2)<b>.csv"
    name = HOSTILE.replace("<", "a<")
    file.write_text(f"label,llm,gpu,seq,latency_us,dram_bytes\n{name},llama3-8b,h800,4096,400,83886080\n")
    read = made("measured --estimators simfa-python,genz", str(file))
    assert name in " ".join(row[0] for row in read.table("Kernel"))
    assert len(read.scripts) == 2 and not [given for tag, given in read.tags if tag == "img"]
    titles = json.dumps([block["layout"]["title"] for block in read.blocks.values()])
    assert "<script" not in titles and "<img" not in json.dumps(read.blocks)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("compare --llm llama3-8b --seq 512,1024 -o x.html", "--seq: 512,1024 are several"),
        ("compare --llm llama3-8b --seq 512", "the following arguments are required: -o/--output"),
        ("nowhere -o x.html", "invalid choice: 'nowhere'"),
        ("timeline --llm llama3-8b --seq 512 --sm 999 -o x.html", "--sm: 999 is out of range; allowed: 0 to 131"),
        ("timeline --llm llama3-8b --seq 512 --gpu gb10 --kernel fa3 -o x.html", "no timeline of This experiment"),
        ("timeline --llm llama3-8b --seq 128 --sm 100 -o x.html", "SM 100 ran no CTA"),
        ("sweep --vary seq=512 --metric speed -o x.html", "--metric: unknown quantity 'speed'"),
        ("compare --seq 512 --baseline nonsense -o x.html", "--baseline: 'nonsense' names no run"),
        ("measured tests/dashboard/measured/data/page.html -o x.html", "no report: a file was refused"),
        ("compare --seq 512 --estimators genz -o /nowhere/x.html", "--output: /nowhere/x.html: No such file"),
    ],
)
def test_bad_input_is_one_sentence_and_no_file(words, message, tmp_path, monkeypatch, capsys):
    where = tmp_path / "x.html"
    assert main(["report", *(str(where) if word == "x.html" else word for word in words.split())]) == 2
    said = capsys.readouterr().err
    assert message in said and "Traceback" not in said and not where.exists()
