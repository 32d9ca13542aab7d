"""`python -m simfa run`: records, a timeline that any trace viewer opens, wrong input in words."""

import csv
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from presets.record import KEYS
from simfa.__main__ import main
from tests.simfa.experiments import SMALL

RUN = f"run {SMALL} --seq 512 --quiet"
OWN_KEYS = {"cycles", "line_requests", "l2_bytes_coalesced", "wall_s"}


def answer(capsys: pytest.CaptureFixture[str], line: str) -> Any:
    assert main([*line.split(), "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return json.loads(out)


def refusal(capsys: pytest.CaptureFixture[str], line: str, status: int) -> str:
    assert main(line.split()) == status
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in err
    return err


def test_a_record_has_the_common_keys_first_and_the_simulators_own(capsys: pytest.CaptureFixture[str]) -> None:
    record = answer(capsys, "run --llm llama3-8b --gpu h800 --seq 512")
    assert list(record)[: len(KEYS)] == KEYS
    assert set(record) >= OWN_KEYS
    assert record["estimator"] == "sim-fa"
    for key in ("cycles", "line_requests", "l2_bytes", "l2_bytes_coalesced", "dram_bytes", "flops"):
        assert type(record[key]) is int
    assert record["latency_us"] == pytest.approx(record["cycles"] / 1830)
    assert record["tflops"] == pytest.approx(record["flops"] / record["latency_us"] / 1e6)
    assert record["l2_bytes_coalesced"] < record["l2_bytes"]


def test_several_experiments_are_a_list_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    records = answer(capsys, f"run {SMALL} --seq 128,256")
    assert [record["seq_q"] for record in records] == [128, 256]


def test_without_json_a_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(f"run {SMALL} --seq 128,256 --quiet".split()) == 0
    out = capsys.readouterr().out.splitlines()
    assert len(out) == 2
    assert out[0].startswith("bare shape  L=128")


@pytest.mark.parametrize(("options", "words"), [
    ("run --llm llama3-7b --seq 512", "unknown llm 'llama3-7b'. Did you mean 'llama3-70b'?"),
    ("run --llm llama3-8b --seq -512", "--seq: -512 is out of range"),
    ("run --llm llama3-8b --seq 5x", "--seq: '5x' is not a whole number"),
    ("run --llm llama3-8b", "the following arguments are required: --seq"),
    ("run --seq 512", "give --llm NAME, or a bare shape"),
    (f"{RUN} --set tma.inflight=3", "unknown key 'tma.inflight'"),
    (f"{RUN} --set tma.inflight_lines=0", "tma.inflight_lines"),
    (f"{RUN} --seed -1", "--seed: -1 is out of range; allowed: 0 or more"),
    (f"{RUN} --seed x", "argument --seed: invalid int value"),
    (f"{RUN} --timeline /no/such/folder/t.json", "--timeline: no such folder: /no/such/folder"),
    (f"{RUN} --timeline .", "is a folder; give the name of a file"),
    (f"{RUN} --timeline t.json --timeline-sm 4", "--timeline-sm: 4 is out of range; allowed: 0 to 3"),
    (f"run {SMALL} --seq 128,256 --timeline t.json", "--timeline takes one experiment"),
    (f"run {SMALL} --seq 128,256 --ctas c.csv", "--ctas takes one experiment, the options describe 2"),
    (f"{RUN} --occupancy /no/such/folder/o.csv", "--occupancy: no such folder: /no/such/folder"),
    (f"{RUN} --ctas .", "--ctas: . is a folder; give the name of a file"),
    (f"{RUN} --occupancy o.csv --timeline-sm -1", "--timeline-sm: -1 is out of range; allowed: 0 to 3"),
    ("fly", "invalid choice: 'fly'"),
])  # fmt: skip
def test_wrong_input_is_answered_with_status_2(
    capsys: pytest.CaptureFixture[str], options: str, words: str
) -> None:
    assert words in refusal(capsys, options, 2)


def test_what_is_not_modelled_is_answered_with_status_3(capsys: pytest.CaptureFixture[str]) -> None:
    assert "not modelled on gb10" in refusal(capsys, "run --llm llama3-8b --gpu gb10 --kernel fa3 --seq 512", 3)


SHAPES = {"a cluster": "--seq 700", "causal": "--seq 700 --causal",
          "two CTAs on an SM": "--seq 700 --set pipeline.occupancy_ctas=2 --set tile.kv_rows=64"}  # fmt: skip


@pytest.mark.parametrize("options", SHAPES.values(), ids=SHAPES)
def test_the_timeline_is_a_chrome_trace_of_named_rows_without_overlaps(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, options: str
) -> None:
    path = tmp_path / "t.json"
    record = answer(capsys, f"run {SMALL} {options} --timeline {path} --timeline-sm 1")
    trace = json.loads(path.read_text("utf-8"))
    names = {e["tid"]: e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "thread_name"}
    assert {"producer", "consumer 1", "consumer 2", "tensor core", "TMA"} <= set(names.values())
    processes = {e["pid"]: e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "process_name"}
    assert processes == {1: "SM 1", 2: "GPU, mean over units"}
    rows: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for event in trace["traceEvents"]:
        if event["ph"] == "X":
            start, end = event["args"]["start_cycle"], event["args"]["end_cycle"]
            first, last = (round(cycle / 1.83) for cycle in (start, end))  # nanoseconds at 1.83 GHz
            assert (event["ts"], event["dur"]) == (first / 1000, (last - first) / 1000)
            rows[event["tid"]].append((start, end))
    assert set(rows) == set(names)
    for spans in rows.values():
        ordered = sorted(spans)
        assert all(0 <= start < end <= record["cycles"] for start, end in ordered)
        assert all(one[1] <= two[0] for one, two in zip(ordered, ordered[1:], strict=False))


def test_counters_of_the_timeline_are_the_levels_of_the_occupancy_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    trace_path, csv_path = tmp_path / "t.json", tmp_path / "o.csv"
    answer(capsys, f"run {SMALL} --seq 512 --timeline {trace_path} --occupancy {csv_path}")
    events = json.loads(trace_path.read_text("utf-8"))["traceEvents"]
    levels = list(csv.DictReader(csv_path.read_text("utf-8").splitlines()))
    of_sm, of_gpu = (
        {" ".join([e["name"], *e["args"]]) for e in events if e["ph"] == "C" and e["pid"] == pid} for pid in (1, 2)
    )
    assert of_sm >= {"TMA lines in flight (lines)", "WGMMA issue buffer (entries)"}
    assert of_gpu >= {"L2 slice backlog (cycles)", "DRAM channel backlog (cycles)"}
    shown = [e for e in events if e["name"] == "TMA lines in flight"]
    assert all(set(e) == {"ph", "pid", "name", "ts", "args"} for e in shown)
    level_at = {round(e["ts"] * 1000): e["args"]["(lines)"] for e in shown}  # by nanoseconds
    level = 0.0
    for row in levels:
        level = level_at.get(round(int(row["start_cycle"]) / 1.83), level)
        assert level == pytest.approx(float(row["sm_tma_lines"]), rel=1e-6)
    assert shown[-1]["args"]["(lines)"] == 0


@pytest.mark.parametrize("options", ["--seq 700", "--seq 700 --causal --batch 2"])
def test_the_cta_file_has_a_row_per_cta_and_says_what_it_computed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, options: str
) -> None:
    path = tmp_path / "c.csv"
    record = answer(capsys, f"run {SMALL} {options} --ctas {path}")
    rows = [{key: int(value) for key, value in row.items()} for row in csv.DictReader(path.open())]
    assert [row["cta"] for row in rows] == list(range(record["batch"] * 4 * 6))  # 6 query tiles of 128 rows
    assert max(row["end_cycle"] for row in rows) <= record["cycles"]
    for row in rows:
        assert row["cycles"] == row["end_cycle"] - row["start_cycle"] > 0
        assert (row["head_kv"], row["slot"]) == (row["head_q"] // 2, 0)
        visible = min(700, 128 * (row["query_tile"] + 1)) if record["causal"] else 700
        assert row["kv_tiles"] == -(-visible // 176)
    for name in ("producer", "consumer 1", "consumer 2"):
        total = sum(row[f"{name.replace(' ', '_')}_stall_cycles"] for row in rows)
        assert total == sum(record["stall_cycles"][name].values()) > 0
