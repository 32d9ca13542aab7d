"""What a simulation hands to the pages: complete, compact, and the same after it was stored as plain values."""

import io
import json
from collections import Counter, defaultdict

import numpy as np
import pandas as pd
import pytest

from dashboard import spans
from simfa import simulate


@pytest.fixture(scope="module")
def small():
    from tests.dashboard.conftest import experiment

    todo = experiment(seq=512)
    return todo, simulate.run(todo, timeline_sm=3)


@pytest.fixture(scope="module")
def given(small):
    return spans.answer(*small)


def test_an_answer_has_spans_queues_and_every_cta(small, given):
    todo, run = small
    assert given["sm"] == 3 and given["left_out"] == 0
    assert len(given["ctas"]) == 32 * 4  # heads x query tiles of 128 rows
    assert given["occupancy"]["sm_tma_lines_max"].max() == todo.gpu.tma.inflight_lines
    assert given["record"]["cycles"] == run.result.extra["cycles"]


def test_spans_beyond_the_limit_are_counted(small, given):
    total = len(given["timeline"])
    cut = spans.answer(*small, shown=50)
    assert len(cut["timeline"]) == 50 and cut["left_out"] == total - 50
    assert cut["timeline"]["start_cycle"].max() <= given["timeline"]["start_cycle"].iloc[50]


def test_stored_as_plain_values_it_comes_back_equal(given):
    back = spans.unpacked(json.loads(json.dumps(spans.packed(given))))
    for name in ("timeline", "occupancy", "ctas"):
        pd.testing.assert_frame_equal(back[name], given[name], check_categorical=False)
    assert back["record"] == json.loads(json.dumps(given["record"]))


def test_tables_are_typed_and_small(given):
    assert given["ctas"]["sm"].dtype == np.int8 and given["ctas"]["kv_tiles"].dtype == np.int8
    assert {str(kind) for kind in given["occupancy"].dtypes[2:]} == {"float32"}
    assert given["occupancy"].memory_usage(deep=True).sum() / len(given["occupancy"]) < 80


def test_exponentials_are_inside_their_softmax_and_take_704_cycles(given):
    rows = given["timeline"]
    exps, softmax = rows[rows["row"].str.startswith("MUFU")], rows[rows["activity"] == "softmax"]
    assert len(exps) == len(softmax) > 0
    assert set(exps["end_cycle"] - exps["start_cycle"]) == {704}  # 64 x 176 exponentials, 16 per cycle
    offsets = exps["start_cycle"].to_numpy() - softmax["start_cycle"].to_numpy()
    assert set(offsets) == {88}  # after the row maxima (section 5.2)


def test_the_exported_trace_is_what_perfetto_reads(given):
    trace = json.loads(spans.chrome_trace(given, 1.83e9))
    events = trace["traceEvents"]
    assert set(Counter(event["ph"] for event in events)) == {"M", "X", "C"}
    names = {(e["pid"], e.get("tid")): e["args"]["name"] for e in events if e["name"].endswith("_name")}
    order = {e["tid"]: e["args"]["sort_index"] for e in events if e["name"] == "thread_sort_index"}
    threads = [names[1, track] for track in sorted(order, key=order.__getitem__)]
    assert threads == [
        "producer", "consumer 1", "consumer 2", "tensor core", "MUFU, consumer 1", "MUFU, consumer 2", "TMA",
    ]  # fmt: skip
    spans_of = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            assert (event["pid"], event["tid"]) in names and event["dur"] > 0 and event["ts"] >= 0
            assert event["name"] and event["cat"]
            spans_of[event["tid"]].append((event["args"]["start_cycle"], event["args"]["end_cycle"]))
        if event["ph"] == "C":
            (level,) = event["args"].values()
            assert (event["pid"], None) in names and level >= 0 and "tid" not in event
    for track in spans_of.values():
        assert all(one[1] <= two[0] for one, two in zip(sorted(track), sorted(track)[1:], strict=False))
    assert sum(map(len, spans_of.values())) == len(given["timeline"])


def test_csv_keeps_every_row_and_column(given):
    for name in ("timeline", "occupancy", "ctas"):
        read = pd.read_csv(io.BytesIO(spans.csv(given[name])))
        assert list(read.columns) == list(given[name].columns) and len(read) == len(given[name])
    assert (read["cycles"] == given["ctas"]["cycles"]).all()


@pytest.mark.parametrize("name", ["timeline", "occupancy", "ctas"])
def test_csv_json_and_parquet_hold_the_same_rows(given, name):
    table = given[name]
    rows = pd.DataFrame(json.loads(spans.json_rows(table)))
    stored = pd.read_parquet(io.BytesIO(spans.parquet(table)))
    read = pd.read_csv(io.BytesIO(spans.csv(table)))
    for found in (rows, stored, read):
        assert list(found.columns) == list(table.columns) and len(found) == len(table)
        for column in table:
            if table[column].dtype.kind in "if":
                np.testing.assert_allclose(found[column].astype(float), table[column].astype(float), rtol=1e-6)
            else:
                assert list(found[column].astype(str)) == list(table[column].astype(str))
