"""Sweeps as figures: units on the axes, gaps where there is no answer."""

from dashboard.figures import sweep as figures
from dashboard.recipe import Recipe
from dashboard.sweep import analysis, evaluate, headlines, plan, views

METRIC = analysis.METRICS["dram_bytes"]
MADE = plan.make(Recipe(), plan.GRID, "seq=4096,65536\nl2.effective_bytes=25MiB,50MiB,60MiB")
ROWS = evaluate.instant(MADE, "simfa-python")


def test_lines_leave_out_impossible_points():
    groups = views.groups(MADE, ROWS, METRIC)
    assert list(groups) == ["l2.effective_bytes 25 MiB", "l2.effective_bytes 50 MiB"], "60 MiB exceed the L2"
    chart = figures.lines(groups, views.axis_title("seq"), METRIC.label, "title", 1.0)
    assert chart.layout.xaxis.title.text == "seq (tokens)" and chart.layout.xaxis.type == "log"
    assert chart.layout.yaxis.title.text == "DRAM traffic (GB)"
    assert list(chart.data[0].x) == [4096, 65536]


def test_a_heat_map_has_a_gap_where_there_is_no_answer():
    seq, l2 = MADE.axes
    columns, lines, cells = views.cells(MADE, ROWS, METRIC, seq, l2, {})
    assert (columns, lines) == (["4,096 tokens", "65,536 tokens"], ["25 MiB", "50 MiB", "60 MiB"])
    assert cells[2] == [None, None] and cells[0][0] == 0.08388608
    chart = figures.heat(columns, lines, cells, ("a", "b", METRIC.label), "title")
    assert chart.data[0].text[2] == ["", ""]


def test_the_pareto_view_joins_the_front():
    points, front, titles = views.pareto(MADE, ROWS, "l2.effective_bytes", "dram_bytes")
    assert titles == ("l2.effective_bytes (MiB)", "DRAM traffic (GB)")
    assert [points[index][0] for index in front] == [25.0]
    assert "".join(headlines.numeric_axes(MADE, ROWS)) == "seql2.effective_bytes"


def test_the_tornado_names_both_values():
    made = plan.sensitivity(Recipe(), ["sm.clock_hz"], 10)
    bars, _, _ = analysis.tornado(evaluate.instant(made, "simfa-python"), analysis.METRICS["latency_us"])
    shown = headlines.bars(bars)
    assert shown[0][:3] == ("sm.clock_hz", "1.647 GHz", "2.013 GHz")
    chart = figures.tornado(shown, "Change", headlines.tornado(bars, analysis.METRICS["latency_us"], 10))
    assert "sm.clock_hz moves the latency of one layer most: 11.1 %" in chart.layout.title.text
    assert chart.layout.xaxis.range[1] > 11.1
