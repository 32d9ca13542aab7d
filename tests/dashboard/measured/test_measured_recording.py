"""The record: what is written reads back to the same page; hostile ones are refused in one sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.measured import Refused, comparison, gallery, intake, recording
from simfa.coverage import model_digest

DATA = Path(__file__).parent / "data"
ANSWER = {
    "latency_us": 500.0,
    "l2_bytes": 100,
    "l2_bytes_coalesced": 60,
    "dram_bytes": 10,
    "dram_read_bytes": 6,
    "dram_write_bytes": 4,
    "bottleneck": "tensor_cores",
    "utilization": {"dram": 0.5},
}


def record() -> recording.Record:
    cases = gallery.cases()
    first = comparison.to_simulate(cases, True)[0]
    answers = {comparison.simulation_key(first): ANSWER, "another": ANSWER}
    return recording.make(cases, ["sim-fa", "simfa-python"], True, answers)


def test_a_record_reproduces_the_page() -> None:
    text = recording.to_json(record())
    again = recording.read(text.encode(), "r.json")
    assert again == record() and recording.to_json(again) == text
    assert recording.compared(again) == recording.compared(record())
    assert again.estimators == ("simfa-python", "sim-fa")  # in the order of the catalogue


def test_only_answers_that_the_cases_use_are_kept() -> None:
    assert len(record().simulated) == 1
    known = [row for row in recording.compared(record()).rows if row["estimator"] == "sim-fa" and row["estimated"]]
    assert [(row["quantity"], row["estimated"]) for row in known] == [("dram_bytes", 10)]


def test_answers_of_another_simulator_are_not_shown() -> None:
    tree = json.loads(recording.to_json(record()))
    assert tree["simulator"] == model_digest()
    tree["simulator"] = "0" * 16
    again = recording.read(json.dumps(tree).encode(), "r.json")
    assert again.answers() == {} and again.cases == record().cases


def test_an_upload_of_a_record_a_table_and_an_export_are_told_apart() -> None:
    assert intake.load(recording.to_json(record()).encode(), "r.json").record == record()
    assert len(intake.load(b"llm,gpu,seq,latency_us\nllama3-8b,gb10,512,7\n", "t.csv").cases) == 1
    loaded = intake.load((DATA / "raw_us.csv").read_bytes(), "raw_us.csv")
    assert len(loaded.groups) == 1 and "1 launch of 1 kernel, 1 of them attention" in loaded.words()
    with pytest.raises(Refused, match="JSON"):
        intake.load((DATA / "data.json").read_bytes(), "data.json")


@pytest.mark.parametrize(
    ("name", "shown"),
    [("../../etc/passwd", "passwd"), ("C:\\x\\fa.csv", "fa.csv"), ("a\x1b[31m\n.csv", "a[31m.csv"), ("", "upload")],
)
def test_an_upload_has_no_path_and_no_control_characters(name: str, shown: str) -> None:
    assert intake.printable(name) == shown


def broken(**changes: Any) -> bytes:
    tree = json.loads(recording.to_json(record()))
    for path, value in changes.items():
        node = tree
        *parents, leaf = path.split("__")
        for part in parents:
            node = node[int(part) if part.isdigit() else part]
        node[leaf] = value
    return json.dumps(tree).encode()


@pytest.mark.parametrize(
    "changes",
    [
        {"version": 2},
        {"estimators": ["magic"]},
        {"measured_clock": "yes"},
        {"cases": "none"},
        {"cases__0__match__seq_q": -1},
        {"cases__0__match__bogus": 1},
        {"cases__0__latency_us__value": -5.0},
        {"cases__0__latency_us__value": "7"},
        {"cases__0__clock_hz": 0.0},
        {"simulated": {"x": {"latency_us": 1.0}}},
    ],
)
def test_a_changed_record_is_refused_with_the_place(changes: dict[str, Any]) -> None:
    with pytest.raises(Refused, match="^r.json: not a usable record: ") as caught:
        recording.read(broken(**changes), "r.json")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"null", b'{"format": NaN}', b"[" * 100_000, b"\xff\xfe{"])
def test_what_is_no_record_is_refused(text: bytes) -> None:
    with pytest.raises(Refused):
        recording.read(text, "r.json")


@pytest.mark.parametrize("field", ["gpu", "kernel"])
@pytest.mark.parametrize("name", ["/etc/hostname", "../presets/gpus/gb10.toml", "gb10.toml"])
def test_a_record_names_shipped_presets_only(field: str, name: str) -> None:
    hostile = recording.read(broken(**{f"cases__0__match__{field}": name}), "r.json")
    found = recording.compared(hostile)
    assert any(f"unknown {field}" in why for _, why in found.left_out)


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), lambda x: st.dictionaries(st.text(), x)))
def test_no_json_raises_anything_but_a_refusal(tree: Any) -> None:
    with pytest.raises(Refused):
        recording.read(json.dumps(tree).encode(), "r.json")
