"""Parity plot and traffic with measured points: what is drawn, in which unit, under which title."""

import pandas as pd
import pytest

from dashboard.catalog import ESTIMATORS
from dashboard.figures import measured_traffic, parity

MARKS = {entry.name: (entry.short, entry.color, entry.symbol) for entry in ESTIMATORS.values()}


def row(name="genz", measured=100.0, estimated: float | None = 80.0, label="k"):
    error = None if estimated is None else (estimated - measured) / measured * 100
    return {"estimator": name, "measured": measured, "estimated": estimated, "error_pct": error, "label": label}


def drawn(rows):
    return parity.figure(rows, MARKS, "L2 traffic", "MB", 1e-6, "title")


def test_each_estimator_has_its_colour_and_marker_and_measured_is_a_black_line():
    chart = drawn([row(), row("simfa-python")])
    by_name = {trace.name: trace for trace in chart.data}
    assert by_name["measured"].line.color == "#000000"
    for name in ("genz", "simfa-python"):
        short, color, symbol = MARKS[name]
        assert (by_name[short].marker.color, by_name[short].marker.symbol) == (color, symbol)


def test_values_are_in_the_unit_of_the_axis_and_absent_ones_are_not_drawn():
    chart = drawn([row(measured=2e6, estimated=1e6), row("sim-fa", estimated=None)])
    points = chart.data[-1]
    assert (points.x[0], points.y[0]) == (2.0, 1.0)
    assert [trace.name for trace in chart.data] == ["within 20 %", "measured", "GenZ"]
    assert chart.layout.xaxis.type == chart.layout.yaxis.type == "log"
    assert "(MB)" in chart.layout.xaxis.title.text and "(MB)" in chart.layout.yaxis.title.text


@pytest.mark.parametrize(
    ("high", "ticks"), [(30.0, ["10", "20"]), (1e5, ["10", "100", "1,000", "10,000", "100,000"])]
)
def test_ticks_are_round_numbers(high, ticks):
    chart = parity.figure([row(measured=10.0, estimated=high / 1.4)], MARKS, "x", "y", 1.0, "t")
    assert list(chart.layout.xaxis.ticktext)[: len(ticks)] == ticks


def test_without_any_value_the_figure_is_empty_and_says_so():
    assert len(drawn([]).data) == 2
    assert parity.title([], MARKS, "l2_bytes") == "No measured value of this kind to compare"


def test_the_title_gives_every_mean_absolute_error():
    summary = [
        {"quantity": "q", "estimator": "genz", "mape_pct": 26.94, "values": 19},
        {"quantity": "q", "estimator": "simfa-python", "mape_pct": 0.0, "values": 19},
        {"quantity": "q", "estimator": "sim-fa", "mape_pct": None, "values": 0},
    ]
    assert (
        parity.title(summary, MARKS, "q") == "Mean absolute error on 19 kernels: GenZ 26.9 %, SimFA-python 0.00 %"
    )


def test_a_kernel_name_with_tags_is_text_in_the_hover_box():
    assert drawn([row(label="<b>x</b>")]).data[-1].customdata[0][0] == "&lt;b&gt;x&lt;/b&gt;"


def test_measured_traffic_is_black_and_estimates_are_hollow():
    curve = pd.DataFrame(
        {"length": [1024, 4096], "l2_bytes": [1e6, 2e6], "dram_bytes": [1e5, 2e5], "dram_ideal_bytes": [1e5, 2e5]}
    )
    points = [
        {"quantity": "l2_bytes", "length": 2048, "bytes": 3e6, "kind": "counter", "label": "k"},
        {"quantity": "dram_bytes", "length": 2048, "bytes": 4e6, "kind": "estimate", "label": "k"},
    ]
    chart = measured_traffic.figure(curve, points, 2000, "<i>t</i>", "tokens")
    l2, dram = chart.data[-2:]
    assert (l2.marker.color, l2.marker.symbol, l2.y[0]) == ("#000000", "circle", 3.0)
    assert (dram.name, dram.marker.symbol) == ("DRAM, measured (estimate)", "diamond-open")
    assert "MB" in chart.layout.yaxis.title.text and chart.layout.title.text == "&lt;i&gt;t&lt;/i&gt;"
    assert any("2,000 tokens" in note.text for note in chart.layout.annotations)
