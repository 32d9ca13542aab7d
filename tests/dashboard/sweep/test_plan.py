"""Sweep points: grids, lists, one at a time; ranges; and what is refused."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.recipe import PRESETS, WORKLOAD, Recipe
from dashboard.sweep import evaluate, plan, summary
from dashboard.sweep.axes import parse_axis
from presets import units
from presets.errors import PresetError
from presets.quantity import parse_number


def changes(made):
    return [dict(point.changes) for point in made.points]


def test_a_grid_is_every_combination_the_last_parameter_fastest():
    made = plan.make(Recipe(), plan.GRID, "seq=512,1024\ngpu=h800,gb10")
    assert [tuple(c.values()) for c in changes(made)] == [
        ("512", "h800"),
        ("512", "gb10"),
        ("1024", "h800"),
        ("1024", "gb10"),
    ]
    assert [p.experiment.gpu.name for p in made.points] == ["h800", "gb10"] * 2
    assert {p.experiment.kernel.name for p in made.points} == {"fa3-fp16-d128", "cutile-fa"}, "each with its own"
    assert [p.experiment.params for p in made.points] == ["calibrated", "paper"] * 2


def test_a_list_goes_row_by_row():
    made = plan.make(Recipe(), plan.LIST, "seq=512,1024\nbatch=8,4")
    assert changes(made) == [{"seq": "512", "batch": "8"}, {"seq": "1024", "batch": "4"}]
    with pytest.raises(PresetError, match="equally many values: seq has 2, batch has 1"):
        plan.make(Recipe(), plan.LIST, "seq=512,1024\nbatch=8")


def test_one_at_a_time_moves_a_single_value_down_and_up():
    made = plan.make(Recipe(), plan.SENSITIVITY, "l2.slices,sm.clock_hz", 10)
    assert [(p.role, dict(p.changes)) for p in made.points] == [
        ("base", {}),
        ("low", {"l2.slices": "72"}),
        ("high", {"l2.slices": "88"}),
        ("low", {"sm.clock_hz": "1.647GHz"}),
        ("high", {"sm.clock_hz": "2.013GHz"}),
    ]
    assert plan.around("tma.lines_per_cycle", 2, 10) == ("1", "3"), "a small count changes by one at least"


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("seq=1024..8192*2", ("1024", "2048", "4096", "8192")),
        ("tma.inflight_lines=32..128+32", ("32", "64", "96", "128")),
        ("l2.effective_bytes=10MiB..30MiB+10MiB", ("10MiB", "20MiB", "30MiB")),
        ("dram.latency_s=100ns,200ns", ("100ns", "200ns")),
        ("seq= 1 , 2,2", ("1", "2")),
    ],
)
def test_values_and_ranges(text, values):
    assert parse_axis(text).values == values


@pytest.mark.parametrize(
    ("mode", "text", "message"),
    [
        (plan.GRID, "", "nothing is varied"),
        (plan.GRID, "seq", "write it as KEY="),
        (plan.GRID, "seq=1..9", "say how to go on"),
        (plan.GRID, "seq=9..1+1", "never gets to"),
        (plan.GRID, "seq=1..9*1", "never gets to"),
        (plan.GRID, "seq=1,,2", "empty value"),
        (plan.GRID, "seq=abc", "not a whole number"),
        (plan.GRID, "l2.byte=3", "Did you mean 'l2.bytes'"),
        (plan.GRID, "gpu=h801", "Did you mean 'h800'"),
        (plan.GRID, "l2.bytes=3MHz", "is in hz"),
        (plan.GRID, "seq=1\nseq=2", "varied twice"),
        (plan.GRID, "seq=1\nbatch=2\ntp=1\ncausal=true", "at most 3"),
        (plan.GRID, "seq=1..100000+1", "at most 1,000"),
        (plan.GRID, "seq=1..100+1\nbatch=1..100+1", r"100 x 100 = 10,000 points are more than the 1,000"),
        (plan.SENSITIVITY, "l2_timing.slice_hash", "has no sensitivity"),
    ],
)
def test_a_wrong_sweep_is_answered_in_one_sentence(mode, text, message):
    with pytest.raises(PresetError, match=message):
        plan.make(Recipe(), mode, text, 10)


def test_an_impossible_point_is_a_row_that_says_why():
    made = plan.make(Recipe(), plan.GRID, "tile.kv_rows=176,240\ntma.inflight_lines=0,64")
    rows = evaluate.instant(made, "simfa-python")
    assert [row["state"] for row in rows] == ["impossible", "done", "impossible", "impossible"]
    assert "greater than 0 (got 0)" in rows[0]["reason"] and rows[0].get("latency_us") is None
    # 2 B x 128 x (128 + 4 x 240) = 278,528 B
    assert "= 278,528 B of shared memory" in rows[3]["reason"] and "allows 232,448 B a CTA" in rows[3]["reason"]


def test_a_kernel_the_simulator_does_not_cover_is_impossible_for_it_only():
    made = plan.make(Recipe(), plan.GRID, "kernel=cutile-fa")
    found = evaluate.impossible(made, made.points[0], "sim-fa")
    assert found is not None and "not modelled on h800" in found["reason"]
    assert evaluate.instant(made, "simfa-python")[0]["state"] == "done"


def test_the_key_follows_the_experiments_and_the_estimator():
    first = plan.make(Recipe(), plan.GRID, "seq=512,1024")
    assert first.key("genz") == plan.make(Recipe(seq=512), plan.GRID, "seq=512..1024*2").key("genz")
    assert len({first.key("genz"), first.key("sim-fa"), plan.make(Recipe(), plan.GRID, "seq=512").key("genz")}) == 3


KEYS = st.sampled_from(["l2.bytes", "sm.clock_hz", "dram.latency_s", "dram.bandwidth_bytes_per_s", "l2.slices"])


@given(KEYS, st.one_of(st.integers(1, 2**40), st.floats(1e-9, 1e15)))
def test_a_written_value_reads_back_exactly(key, value):
    assert parse_number(units.text(key, value), key, "test") == value


@pytest.mark.parametrize(
    ("key", "value", "shown"),
    [
        ("l2.bytes", 52_428_800, "50 MiB"),
        ("l2.bytes", 52_428_801, "52,428,801 B"),
        ("sm.clock_hz", 1_830_000_000, "1.83 GHz"),
        ("dram.latency_s", 169.5e-9, "169.5 ns"),
        ("tma.inflight_lines", 64, "64"),
        ("l2_timing.near_latency_cycles", 258, "258 cycles"),
        ("pipeline.ping_pong", True, "true"),
    ],
)
def test_shown_values_carry_their_unit(key, value, shown):
    assert units.shown(key, value) == shown


@given(
    st.builds(
        Recipe,
        seq=st.integers(1, 2**24),
        batch=st.integers(1, 65_536),
        causal=st.booleans(),
        gpu=st.sampled_from(["h800", "gb10"]),
        set=st.sampled_from(["", "l2.bytes=100MiB\ntma.inflight_lines=128"]),
    )
)
def test_a_recipe_survives_a_url(recipe):
    from dashboard.recipe import choices

    assert Recipe.from_query(recipe.query(), choices()) == recipe


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("seq=-7&gpu=<b>", "seq: '-7' is no whole number from 1 to 16,777,216"),
        ("seq=99999999999999999999", "seq: '99999999999999999999' is no whole number"),
        ("gpu=../../x", "gpu: unknown name '../../x'"),
        ("causal=perhaps", "causal: 'perhaps' is neither true nor false"),
        (f"set={'x' * 20_000}", "has 20,000 characters, 16,000 are allowed"),
    ],
)
def test_a_wrong_url_is_refused_by_key_and_value(text, said):
    from dashboard.recipe import choices

    with pytest.raises(PresetError, match=re.escape(said)):
        Recipe.from_query(text, choices())


@pytest.mark.parametrize("text", ["bogus=1", "%00", "sm=5&view=End"])
def test_a_url_of_other_things_is_the_default(text):
    from dashboard.recipe import choices

    assert Recipe.from_query(text, choices()) == Recipe()


@pytest.mark.parametrize(
    ("line", "count"),
    [("sm.clock_hz=1.5..1e308*1e200", 2), ("l2.bytes=1..1e308*1e300", 2), ("seq=1..1e308*1e308", 2)],
)
def test_a_range_beyond_floating_point_ends_there(line, count):
    assert len(parse_axis(line).values) == count


@pytest.mark.parametrize("params", ["paper", "calibrated"])
def test_a_study_of_the_simulator_starts_with_what_moves_it_in_either_set(params):
    known = plan.numeric_values(Recipe(params=params).experiment())
    usual = summary.usual_keys(list(known), simulated=True)
    assert {"sm.clock_hz", "tma.inflight_lines"} <= set(usual) and len(usual) >= 4
    assert len(plan.sensitivity(Recipe(params=params), usual, 10).points) == 1 + 2 * len(usual)


@pytest.mark.parametrize("key", [*WORKLOAD, *PRESETS])
def test_what_is_suggested_for_a_parameter_can_be_run(key):
    assert plan.make(Recipe(llm="llama3.1-405b"), plan.GRID, f"{key}={summary.suggestion(key)}").points
