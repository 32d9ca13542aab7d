"""The comparison: headless records, the table people read, differences, and the reasons in words."""

import csv
import io
import json

import pytest

from dashboard import compare, export
from dashboard.__main__ import main
from dashboard.catalog import ESTIMATORS
from dashboard.recipe import Recipe
from presets.errors import PresetError
from presets.record import KEYS

NAMES = ["simfa-python", "genz", "sim-fa", "llm-viewer"]


@pytest.fixture(scope="module")
def answers():
    from tests.dashboard.conftest import experiment

    return compare.records([experiment(seq=512)], NAMES)


def test_every_record_starts_with_the_common_keys(answers):
    for record in answers:
        assert list(record)[: len(KEYS)] == KEYS


def test_the_estimators_agree_on_what_is_not_a_matter_of_opinion(answers):
    closed, genz, run, _ = answers
    assert closed["flops"] == genz["flops"] == run["flops"] == 4 * 32 * 512 * 512 * 128
    assert closed["l2_bytes"] == run["l2_bytes"]
    assert closed["dram_bytes"] == genz["dram_bytes"] == run["dram_bytes"] + run["dirty_bytes_left"]


def test_an_estimator_that_cannot_answer_leaves_nulls_and_says_why(make_experiment):
    case = make_experiment(gpu="gb10")
    case = case.model_copy(update={"kernel": case.kernel.model_copy(update={"instruction": "wgmma"})})
    (record,) = compare.records([case], ["sim-fa"])
    assert record["latency_us"] is None and record["dram_bytes"] is None
    assert "not modelled on gb10" in record["notes"][-1] and "wgmma" in record["notes"][-1]


def test_an_unknown_estimator_is_named_with_the_allowed_ones(make_experiment):
    with pytest.raises(PresetError, match=r"unknown estimator 'genzz'.*Did you mean 'genz'.*simfa-python"):
        compare.records([make_experiment()], ["genzz"])


def test_table_has_a_unit_in_every_numeric_row_and_differences_to_the_reference(answers):
    table = compare.table(answers, "simfa-python")
    assert list(table.columns) == [ESTIMATORS[name].title for name in NAMES]
    assert table.loc["DRAM traffic (MB)", "SimFA-python"] == "10.5"
    run_us, closed_us = answers[2]["latency_us"], answers[0]["latency_us"]
    shown = table.loc["Latency, one layer (µs)", "Sim-FA cycle simulation"]
    assert shown == f"{compare.digits(run_us)}  ({(run_us / closed_us - 1) * 100:+.1f} %)"
    assert table.loc["L2 traffic at the SMs (MB)", "GenZ-style ideal cache"] == compare.ABSENT


@pytest.mark.parametrize(
    ("value", "base", "shown"),
    [
        (110.0, 100.0, "+10.0 %"),
        (90.0, 100.0, "-10.0 %"),
        (100.0, 100.0, ""),
        (None, 100.0, ""),
        (1.0, 0.0, ""),
        (6070.0, 100.0, "x 60.7"),
    ],
)
def test_difference(value, base, shown):
    assert compare.difference(value, base) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0, "0"), (0.01234, "0.0123"), (9.4543, "9.45"), (100.0, "100"), (999.6, "1,000"), (12345.6, "12,346")],
)
def test_three_significant_digits(value, shown):
    assert compare.digits(value) == shown


def test_reasons_say_what_binds_and_what_the_cache_does(answers, make_experiment):
    text = " ".join(compare.reasons(answers))
    assert "fit the effective L2 (Eq. 4)" in text
    assert "TMA lines in flight" in text and "stay dirty in L2" in text
    long = compare.records([make_experiment("llama3.1-405b", seq=65_536)], ["simfa-python", "genz"])
    assert "63 waves fetch K/V again" in " ".join(compare.reasons(long))
    assert "4.65 times GenZ's" in " ".join(compare.reasons(long))


def test_launch_order_says_how_many_heads_share_the_l2(make_experiment):
    (record,) = compare.records([make_experiment(seq=4096)], ["simfa-launch-order"])
    (sentence,) = compare.reasons([record])
    assert "2 KV heads must stay in L2 between 2 passes" in sentence
    assert "0.688 % of K/V gone" in sentence and "1.00 times the ideal" in sentence
    once = compare.records([make_experiment(seq=512)], ["simfa-launch-order"])
    assert compare.reasons(once)[0].startswith("In launch order a head's K/V are passed over once")


def test_csv_and_json_hold_the_same_numbers_in_full_precision(answers):
    rows = list(csv.DictReader(io.StringIO(export.to_csv(answers))))
    again = json.loads(export.to_json(answers))
    for row, record in zip(rows, again, strict=True):
        assert float(row["latency_us"]) == record["latency_us"]
        assert row["dram_bytes"] == str(record["dram_bytes"])
        assert row["causal"] == "false"
    assert rows[1]["l2_bytes"] == ""
    assert float(rows[2]["utilization.tensor_cores"]) == again[2]["utilization"]["tensor_cores"]


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_a_csv_cell_cannot_start_a_spreadsheet_formula(start):
    (row,) = csv.DictReader(io.StringIO(export.to_csv([{"llm": f"{start}cmd|' /C calc'!A0"}])))
    assert row["llm"].startswith("'" + start.replace("\r", " "))


def test_negative_numbers_stay_numbers_in_csv():
    assert export.to_csv([{"error_pct": -3.5}]).splitlines()[1] == "-3.5"


def test_a_causal_launch_is_told_that_genz_knows_no_mask(make_experiment):
    named = ("simfa-python", "genz")
    causal = " ".join(compare.reasons(compare.records([make_experiment(seq=8192, causal=True)], named)))
    assert "GenZ knows no mask: it counts 1,100 GFLOP, SimFA-python the 569 of the tiles" in causal
    assert "mask" not in " ".join(compare.reasons(compare.records([make_experiment(seq=8192)], named)))


def test_a_download_says_in_every_row_what_was_changed():
    todo = Recipe(gpu="h100-sxm", set="l2.bytes=100MiB").experiment()
    rows = compare.with_what_if(todo, compare.records([todo], ["simfa-python", "genz"]))
    assert {row["what_if"] for row in rows} == {"l2.bytes=104857600; l2.effective_bytes=52428800"}
    same = Recipe(gpu="h100-sxm").experiment()
    assert compare.with_what_if(same, compare.records([same], ["genz"]))[0]["what_if"] == ""


@pytest.mark.parametrize(
    ("value", "said"), [(100.0, ""), (100.01, "+0.01 %"), (99.99, "-0.01 %"), (112.34, "+12.3 %"), (2000, "x 20.0")]
)
def test_a_small_difference_is_never_minus_zero(value, said):
    assert compare.difference(value, 100) == said


def test_headless_compare_prints_models_times_lengths_times_estimators(capsys):
    options = (
        "compare --llm llama3-8b,llama3-70b --gpu h800 --seq 512,4096 --estimators simfa-python,genz --format json"
    )
    assert main(options.split()) == 0
    printed = json.loads(capsys.readouterr().out)
    assert [(r["llm"], r["seq_q"], r["estimator"]) for r in printed] == [
        (llm, seq, name)
        for llm in ("llama3-8b", "llama3-70b")
        for seq in (512, 4096)
        for name in ("simfa-python", "genz")
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--llm llama9 --seq 512", "unknown llm 'llama9'"),
        ("--llm llama3-8b --seq -5", "-5 is out of range"),
        ("--llm llama3-8b --seq 512 --estimators magic", "unknown estimator 'magic'"),
        ("--llm llama3-8b --seq 512 --set l2.byte=5", "Did you mean 'l2.bytes'"),
        ("--llm llama3-8b --seq 512 --format xml", "invalid choice: 'xml'"),
    ],
)
def test_headless_compare_answers_bad_input_with_one_sentence(options, message, capsys):
    assert main(["compare", *options.split()]) == 2
    captured = capsys.readouterr()
    assert message in captured.err and "Traceback" not in captured.err and captured.out == ""


def test_passes_that_differ_from_eq_5_are_explained() -> None:
    run = {"bottleneck": "mufu", "utilization": {}, "waves": 2, "latency_us": 3.0, "dirty_bytes_left": 0}
    closed = {"waves": 1, "latency_us": 2.0}
    words = compare._simulation_sentence(run, closed)
    assert "K/V of a head are passed 2 times (median of what happened), where Eq. (5) has 1" in words
    assert "Eq. (5)" not in compare._simulation_sentence(run | {"waves": 1}, closed)


def test_a_sampled_number_shows_its_error_and_others_none() -> None:
    whole = {"latency_us": 100.0, "dram_bytes": 5}
    part = whole | {"latency_error_pct": 1.26, "dram_error_pct": 3.0, "sample": {"ctas": 4}}
    assert compare.within(part) == " ± 1.3 %"
    assert compare.within(part, "dram_bytes") == " ± 3.0 %"
    assert compare.within(part, "l2_bytes") == ""
    assert compare.within(whole) == ""
    assert compare.within(whole | {"latency_error_pct": 0.0, "sampled_fraction": 1.0}) == ""


def test_the_sentence_of_a_sample_does_without_what_it_did_not_count() -> None:
    record = {"bottleneck": "tensor_cores", "utilization": {"tensor_cores": 0.75}, "dirty_bytes_left": 24_000_000}
    assert compare._simulation_sentence(record, None) == (
        "The simulation is bound by tensor cores (75% of its cycles). 24.0 MB of O stay dirty in L2 at the end and "
        "are not in its DRAM writes."
    )
