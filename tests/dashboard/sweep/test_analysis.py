"""Pareto fronts and sensitivities against hand-made rows and brute force."""

from hypothesis import given
from hypothesis import strategies as st

from dashboard.recipe import Recipe
from dashboard.sweep import analysis, evaluate, plan
from dashboard.sweep.analysis import Cost

LOW, HIGH = True, False


def rows(pairs):
    return [{"state": "done", "a": a, "b": b} for a, b in pairs]


def test_the_front_keeps_what_nothing_beats():
    points = rows([(1, 9), (2, 5), (3, 6), (4, 1), (4, 2)])
    assert analysis.front(points, Cost("a", LOW), Cost("b", LOW)) == [0, 1, 3]
    assert analysis.front(points, Cost("a", LOW), Cost("b", HIGH)) == [0]


def test_rows_without_an_answer_are_no_candidates():
    points = [*rows([(1, None), (2, 2)]), {"state": "impossible", "a": 0, "b": 0}]
    assert analysis.front(points, Cost("a", LOW), Cost("b", LOW)) == [1]


PAIRS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=12)


@given(PAIRS, st.booleans(), st.booleans())
def test_the_front_is_that_of_the_definition(pairs, first_low, second_low):
    signed = [(a if first_low else -a, b if second_low else -b) for a, b in pairs]
    expected = [
        i for i, (a, b) in enumerate(signed) if not any(c <= a and d <= b and (c, d) != (a, b) for c, d in signed)
    ]
    found = analysis.front(rows(pairs), Cost("a", first_low), Cost("b", second_low))
    assert sorted(found) == expected


def test_the_clock_scales_a_compute_bound_latency_and_bandwidth_does_not():
    keys = ["sm.clock_hz", "dram.bandwidth_bytes_per_s", "tile.kv_rows"]
    made = plan.sensitivity(Recipe(params="paper"), keys, 20)
    found = evaluate.instant(made, "simfa-python")
    bars, still = analysis.tornado(found, analysis.METRICS["latency_us"])
    clock = next(bar for bar in bars if bar.key == "sm.clock_hz")
    assert round(clock.low_pct, 9) == 25 and round(clock.high_pct, 6) == round(100 / 1.2 - 100, 6)
    assert bars[0] is clock and "dram.bandwidth_bytes_per_s" in still
    impossible = [row["varied"] for row in found if row["state"] == "impossible"]
    assert impossible == ["tile.kv_rows"], "176 + 20 % rows do not fit shared memory"
