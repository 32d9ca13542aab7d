"""Figures: what is drawn, in which unit, and the sentence each states as its title."""

import math

import pytest

from dashboard import compare, spans, traffic
from dashboard.catalog import ESTIMATORS
from dashboard.figures import bars, gantt
from dashboard.figures import traffic as traffic_figure

NAMES = {entry.name: (entry.title, entry.color) for entry in ESTIMATORS.values()}


def test_colours_and_markers_are_one_per_estimator():
    assert len({entry.color for entry in ESTIMATORS.values()}) == len(ESTIMATORS)
    assert len({entry.symbol for entry in ESTIMATORS.values()}) == len(ESTIMATORS)


def test_bars_show_microseconds_and_megabytes_and_leave_absent_values_out(make_experiment):
    answers = compare.records([make_experiment(seq=4096)], ["simfa-python", "genz"])
    latency, l2, read, written = bars.figure(answers, NAMES, "title").data
    assert latency.y[0] == pytest.approx(295.449, abs=1e-3)
    assert l2.y[0] == pytest.approx(2214.592512) and l2.y[1] is None
    assert read.y[0] + written.y[0] == pytest.approx(83.886080)
    assert (latency.text[0], l2.text, read.text, written.text[0]) == ("295", ("2,215", ""), None, "83.9")


def test_traffic_curve_meets_the_closed_forms_on_both_sides_of_the_boundary(make_experiment):
    curve = traffic.curve(make_experiment("llama3.1-405b", seq=4096))
    points = curve.points.set_index("length")
    assert curve.first_unfit_tokens == 51_200  # 25 MiB / (2 x 2 B x 128)
    assert points.loc[51_199, "simfa_python"] == points.loc[51_199, "genz"]
    assert points.loc[51_200, "simfa_python"] > 3 * points.loc[51_200, "genz"]
    assert points.index.min() == 1024 and points.index.max() == 131_072


def test_gb10_fails_eq_4_at_48k_by_equality(make_experiment):
    assert traffic.curve(make_experiment(gpu="gb10")).first_unfit_tokens == 48 * 1024


def test_traffic_of_a_fixed_query_length_sweeps_only_the_keys(make_experiment):
    curve = traffic.curve(make_experiment(seq_q=1, seq_kv=4096))
    assert not curve.sweeps_query
    assert curve.points["genz"].is_monotonic_increasing


def test_traffic_figure_states_where_the_lines_part_and_marks_the_boundary(make_experiment):
    curve = traffic.curve(make_experiment("llama3.1-405b", seq=4096))
    chart = traffic_figure.figure(curve.points, curve.first_unfit_tokens, NAMES, (4096, 3e8), "tokens")
    assert "leaves the ideal line at 51,200 tokens" in chart.layout.title.text
    assert any("51,200" in note.text and note.x == math.log10(51_200) for note in chart.layout.annotations)
    assert "GB" in chart.layout.yaxis.title.text
    assert [trace.name for trace in chart.data][-1] == "Sim-FA cycle simulation"
    assert chart.data[-1].y[0] == 0.3


@pytest.mark.parametrize("length", [512, 1024, 131_072, 262_144])
def test_the_simulated_point_is_in_view_whatever_its_length(make_experiment, length):
    curve = traffic.curve(make_experiment())
    chart = traffic_figure.figure(curve.points, curve.first_unfit_tokens, NAMES, (length, 1e8), "tokens")
    low, high = chart.layout.xaxis.range
    assert low < math.log10(length) < high


def test_traffic_figure_without_a_boundary_in_view_says_so(make_experiment):
    curve = traffic.curve(make_experiment(), longest=32_768)
    chart = traffic_figure.figure(curve.points, curve.first_unfit_tokens, NAMES, None, "tokens")
    assert "stays on the ideal line" in chart.layout.title.text
    assert not chart.layout.shapes


SPANS = [
    {
        "row": "producer",
        "activity": "wait for a free K stage",
        "category": "wait",
        "start_cycle": 0,
        "end_cycle": 50,
    },
    {
        "row": "tensor core",
        "activity": "QK GEMM, consumer 1",
        "category": "compute",
        "start_cycle": 50,
        "end_cycle": 90,
    },
    {"row": "consumer 1", "activity": "softmax", "category": "softmax", "start_cycle": 90, "end_cycle": 100_000},
]
SPANS = [{**span, "issued_cycle": 0, "cta": 0} for span in SPANS]


def test_gantt_has_one_trace_per_activity_and_light_waits():
    chart = gantt.figure(spans.frame(SPANS), 1.83e9, (0, 100), "title")
    by_name = {trace.name: trace for trace in chart.data}
    assert set(by_name) == {"QK GEMM, consumer 1", "softmax", "wait for a free K stage"}
    assert list(by_name["softmax"].base) == [90] and list(by_name["softmax"].x) == [99_910]
    assert chart.layout.yaxis.ticktext[int(by_name["softmax"].y[0])] == "consumer 1"
    wait = by_name["wait for a free K stage"]
    assert wait.width < by_name["softmax"].width and wait.marker.color.startswith("rgba")
    assert "0.546 µs" in chart.layout.xaxis.title.text


def test_gantt_window_is_30k_cycles_at_a_place_or_the_whole_run():
    rows = spans.frame(SPANS)
    assert gantt.window(rows, 0.0) == (0, 30_000)
    assert gantt.window(rows, 1.0) == (70_000, 100_000)
    assert gantt.window(rows, None) == (0, 100_000)


def test_the_gantt_takes_a_second_cta_slot_of_the_sm():
    span = {
        "activity": "softmax",
        "category": "softmax",
        "start_cycle": 0,
        "end_cycle": 9,
        "issued_cycle": 0,
        "cta": 0,
    }
    names = ["consumer 1", "consumer 1, CTA slot 2", "TMA"]
    chart = gantt.figure(spans.frame([{**span, "row": name} for name in names]), 1.83e9, (0, 9), "two slots")
    assert list(chart.layout.yaxis.ticktext) == ["TMA", "consumer 1", "consumer 1, CTA slot 2"]


def test_a_timeline_as_columns_takes_a_tenth_of_the_memory_of_its_rows():
    table = spans.frame(SPANS * 10_000)
    assert table.memory_usage(deep=True).sum() / len(table) < 50
    assert spans.frame([]).empty
