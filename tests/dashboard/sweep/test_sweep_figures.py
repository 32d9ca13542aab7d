"""Sweeps as figures: units on the axes, gaps where there is no answer."""

import re

import pytest

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
    bars, _ = analysis.tornado(evaluate.instant(made, "simfa-python"), analysis.METRICS["latency_us"])
    shown = headlines.bars(bars)
    assert shown[0][:3] == ("sm.clock_hz", "1.647 GHz", "2.013 GHz")
    chart = figures.tornado(shown, "Change", headlines.tornado(bars, analysis.METRICS["latency_us"], 10))
    assert "sm.clock_hz moves the latency of one layer most: 11.1 %" in chart.layout.title.text
    assert chart.layout.xaxis.range[1] > 11.1


def test_differences_to_a_baseline_are_percent_on_a_linear_axis_through_zero():
    made = plan.make(Recipe(), plan.GRID, "seq=1024,2048,16384")
    found = evaluate.instant(made, "genz")
    metric = METRIC.against(found[1])
    groups = views.groups(made, found, metric)
    # GenZ's DRAM traffic is proportional to the length.
    assert groups["seq"][1] == [-50.0, 0.0, 700.0]
    chart = figures.lines(groups, "seq", metric.label, headlines.lines(made, found, metric), 0)
    assert chart.layout.yaxis.type is None and "against the baseline (%)" in chart.layout.yaxis.title.text
    assert chart.layout.title.text.startswith("DRAM traffic against the baseline from -50.0 % to +700.0 %")
    assert chart.layout.shapes[0].y0 == 0


def test_a_heat_map_of_differences_has_its_middle_at_zero():
    chart = figures.heat(["a"], ["b"], [[12.5]], ("x", "y", "z"), "title", figures.PERCENT)
    assert chart.data[0].zmid == 0 and list(chart.data[0].text[0]) == ["+12.5"]


def test_the_baseline_is_a_star_in_the_pareto_view_if_it_has_both_values():
    made = plan.make(Recipe(), plan.GRID, "seq=1024,2048")
    found = evaluate.instant(made, "simfa-python")
    place = views.place(found[0], "latency_us", "dram_bytes")
    assert place == (found[0]["latency_us"], found[0]["dram_bytes"] / 1e9)
    points, front, titles = views.pareto(made, found, "latency_us", "dram_bytes")
    assert figures.pareto(points, front, titles, "title", place).data[-1].marker.symbol == "star"
    assert views.place(found[0], "latency_us", "seq") is None and views.place(None, "latency_us", "tflops") is None


def test_the_tornado_marks_where_the_baseline_stands():
    chart = figures.tornado([("l2.bytes", "1", "2", -5.0, 6.0)], "Change", "title", baseline_pct=40.0)
    assert chart.layout.shapes[0].x0 == 40 and chart.layout.xaxis.range[1] > 40
    assert chart.layout.annotations[0].text == "baseline +40 %"


def test_a_baseline_without_the_quantity_leaves_values_as_they_are():
    assert METRIC.against(None) is METRIC
    assert METRIC.against({"dram_bytes": None}) is METRIC and METRIC.against({"dram_bytes": 0}) is METRIC


def test_points_tenfold_away_are_multiples_on_a_logarithmic_axis():
    made = plan.make(Recipe(), plan.GRID, "seq=1024,2048,65536\ngpu=h800,h100-sxm")
    found = evaluate.instant(made, "genz")
    metric = METRIC.against(found[0], found)
    groups = views.groups(made, found, metric)
    assert groups["gpu h800"][1] == [1.0, 2.0, 64.0]  # GenZ's DRAM traffic is proportional to the length
    chart = figures.lines(groups, "seq", metric.label, headlines.lines(made, found, metric), 1.0)
    assert chart.layout.yaxis.type == "log" and "times the baseline" in chart.layout.yaxis.title.text
    assert "from x 1.00 to x 64.0" in chart.layout.title.text
    columns, lines, cells = views.cells(made, found, metric, *made.axes, {})
    heat = figures.heat(columns, lines, cells, ("a", "b", "c"), "title", figures.MULTIPLES)
    assert heat.data[0].z[0][0] == 0 and list(heat.data[0].text[0]) == ["x 1", "x 2", "x 64"]


@pytest.mark.parametrize("kind", [figures.VALUES, figures.PERCENT, figures.MULTIPLES])
def test_numbers_in_a_heat_map_have_the_contrast_that_aa_asks_for(kind):
    (heat,) = figures.heat(["a"], ["b"], [[2.0]], ("x", "y", "z"), "title", kind).data
    assert heat.textfont.color == "#000000"
    for _, color in heat.colorscale:
        red, green, blue = (_linear(float(part) / 255) for part in re.findall(r"[0-9.]+", color))
        assert (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05) / 0.05 >= 4.5


def _linear(part):
    """WCAG 2.1, relative luminance."""
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4


def test_a_logarithmic_height_over_little_more_than_a_decade_has_several_ticks():
    groups = views.groups(MADE, ROWS, METRIC)
    chart = figures.lines(groups, "seq", METRIC.label, "title")
    heights = [y for _, ys in groups.values() for y in ys]
    assert chart.layout.yaxis.type == "log" and max(heights) / min(heights) < 100
    assert sum(min(heights) <= tick <= max(heights) for tick in chart.layout.yaxis.tickvals) >= 3
