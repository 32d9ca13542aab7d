"""The Timeline's figure: traces by state, units on every axis, two runs on one scale."""

import numpy as np
import pytest

from dashboard import spans
from dashboard.figures import gantt, timeline
from simfa import simulate
from tests.dashboard.conftest import experiment

CLOCK_HZ = 1.83e9


@pytest.fixture(scope="module")
def answer():
    todo = experiment(seq=1024)
    return spans.answer(todo, simulate.run(todo, timeline_sm=0))


def run_of(answer, name="This experiment", **changes):
    values = {"clock_hz": CLOCK_HZ, "inflight_lines": 64} | changes
    return timeline.Run(name, answer["timeline"], answer["occupancy"], **values)


def figure(*runs, view=(0, 30_000), aligned_at=""):
    return timeline.figure(runs, view, "title", aligned_at, "revision")


def bars(chart):
    return [trace for trace in chart.data if trace.type == "bar"]


def test_the_number_of_traces_does_not_grow_with_the_number_of_spans(answer):
    one = figure(run_of(answer))
    many = answer | {"timeline": spans.frame(answer["timeline"].to_dict("records") * 40)}
    assert len(many["timeline"]) > 10_000
    assert len(figure(run_of(many)).data) == len(one.data) <= 30
    drawn = [trace for trace in bars(figure(run_of(many))) if not trace.name.startswith("wait")]
    near = many["timeline"][many["timeline"]["start_cycle"] <= 45_000]  # the view and half of it again
    assert sum(len(trace.x) for trace in drawn) == (near["category"] != "wait").sum()


def test_rows_are_the_warpgroups_the_units_and_one_mufu(answer):
    chart = figure(run_of(answer))
    assert list(chart.layout.yaxis.ticktext) == [
        "TMA", "MUFU", "tensor core", "consumer 2", "consumer 1", "producer",
    ]  # fmt: skip
    exps = {trace.name: set(np.unique(trace.y)) for trace in bars(chart) if trace.name.startswith("exp")}
    assert all(abs(place - 1) < 0.5 for places in exps.values() for place in places)
    assert not exps["exp, consumer 1"] & exps["exp, consumer 2"]


def test_a_hover_box_tells_a_spans_own_length(answer):
    """`%{x}` would be the bar's end: a bar with a base stands on it."""
    for bar in bars(figure(run_of(answer))):
        assert "%{x" not in bar.hovertemplate and "(%{customdata[6]:,} long)" in bar.hovertemplate
        rows = np.asarray(bar.customdata, float)
        assert np.array_equal(rows[:, 6], rows[:, 1] - rows[:, 0]) and np.array_equal(rows[:, 6], bar.x)


def test_waits_are_named_and_light(answer):
    waits = [trace for trace in bars(figure(run_of(answer))) if trace.name.startswith("wait")]
    assert {"wait for K", "wait for V", "wait for a free K stage"} <= {trace.name for trace in waits}
    assert all(trace.marker.color.startswith("rgba") and trace.width == 0.45 for trace in waits)


def test_every_axis_has_its_unit_and_time_is_in_cycles_and_microseconds(answer):
    layout = figure(run_of(answer), view=(1830, 3660)).layout
    assert layout.xaxis.title.text == "SM cycles" and list(layout.xaxis.range) == [1830, 3660]
    assert "µs" in layout.xaxis2.title.text and list(layout.xaxis2.range) == pytest.approx([1, 2])
    assert "lines" in layout.yaxis2.title.text and "cycles" in layout.yaxis3.title.text


def test_both_time_axes_move_together_in_every_panel(answer):
    panels = {trace.yaxis for trace in figure(run_of(answer)).data if trace.xaxis == "x2"}
    assert panels == {"y", "y2", "y3"}
    assert all(figure(run_of(answer)).layout[axis].fixedrange for axis in ("yaxis", "yaxis2", "yaxis3"))


def test_the_drawing_says_where_the_runs_end(answer):
    times = answer["timeline"]
    chart = figure(run_of(answer), run_of(answer, "second", origin_cycle=5000), view=(-100, 30_000))
    assert chart.layout.meta["ends"] == [
        min(-100, int(times["start_cycle"].min()) - 5000),
        max(30_000, int(times["end_cycle"].max())),
    ]


def test_two_runs_stand_one_above_the_other_with_their_places_at_zero(answer):
    first = run_of(answer, origin_cycle=5000)
    second = run_of(answer, "tma.inflight_lines=128", inflight_lines=128, origin_cycle=8000)
    chart = figure(first, second, aligned_at="the start of CTA 2 of the SM")
    softmax = [trace for trace in bars(chart) if trace.name == "softmax"]
    assert softmax[0].base[0] - softmax[1].base[0] == 3000
    assert min(softmax[0].y) > max(softmax[1].y)
    assert [trace.showlegend for trace in softmax] == [True, False]
    assert chart.layout.xaxis.title.text == "SM cycles from the start of CTA 2 of the SM"
    texts = [note.text for note in chart.layout.annotations]
    assert texts == ["<b>This experiment</b>", "<b>tma.inflight_lines=128</b>", "limit 64", "limit 128"]
    assert len(chart.data) <= 60


def test_runs_of_two_clocks_share_cycles_but_no_microseconds(answer):
    chart = figure(run_of(answer), run_of(answer, "slow", clock_hz=1e9))
    assert "xaxis2" not in chart.layout.to_plotly_json()
    assert not [trace for trace in chart.data if trace.xaxis == "x2"]


def test_a_stale_run_is_pale(answer):
    chart = figure(run_of(answer, stale=True))
    assert {trace.opacity for trace in bars(chart)} == {0.35}


def test_curves_are_steps_of_the_levels(answer):
    lines = next(trace for trace in figure(run_of(answer)).data if trace.name == "TMA lines in flight")
    assert lines.line.shape == "hv"
    assert np.allclose(lines.y, answer["occupancy"]["sm_tma_lines"])


def test_the_longest_queue_is_within_its_axis(answer):
    levels = answer["occupancy"]
    long = levels.assign(l2_backlog_cycles=levels["l2_backlog_cycles"] + 54_321)
    for occupancy in (levels, long):
        chart = figure(run_of({**answer, "occupancy": occupancy}))
        low, high = chart.layout.yaxis3.range
        curves = [trace.y for trace in chart.data if (trace.name or "").endswith("backlog")]
        assert len(curves) == 2
        assert all(10**low <= y.min() and y.max() <= 10**high for y in curves)


def test_waits_back_to_back_are_drawn_as_one_and_others_apart():
    buffer = "wait for room in the WGMMA buffer"
    rows = [
        {"row": row, "activity": buffer, "category": "wait", "start_cycle": start, "end_cycle": end, "cta": cta}
        for row, start, end, cta in (
            ("consumer 1", 0, 10, 0),
            ("consumer 1", 11, 20, 0),  # an issue cycle between them
            ("consumer 1", 22, 30, 0),
            ("consumer 2", 31, 40, 0),
            ("consumer 2", 40, 50, 7),
        )
    ]
    frame = spans.frame([row | {"issued_cycle": row["start_cycle"]} for row in rows])
    (trace,) = gantt.bars(frame, 1.0, 0, 0, stale=False)
    drawn = sorted(zip(trace.base, trace.base + trace.x, strict=True))
    assert drawn == [(0, 20), (22, 30), (31, 40), (40, 50)]
