"""What is behind a simulated time: shares that add up with what else the run says."""

import pytest

from dashboard import simulated_why, spans
from dashboard.recipe import Recipe
from simfa import simulate
from simfa.stats import REASON_NAMES
from tests.dashboard.conftest import experiment


@pytest.fixture(scope="module")
def todo():
    return experiment(seq=1024)


@pytest.fixture(scope="module")
def answer(todo):
    return spans.answer(todo, simulate.run(todo, timeline_sm=0))


def test_every_wait_of_the_simulator_has_words():
    waits = {name for name in REASON_NAMES.values() if name.endswith(("WAIT", "FULL", "ACQUIRE_STAGE"))}
    assert waits <= set(simulated_why.WAITS)


def test_units_are_busiest_first_and_the_shares_of_the_record(todo, answer):
    rows = simulated_why.units(todo, answer["record"])
    shares = [row["busy_share"] for row in rows]
    assert shares == sorted(shares, reverse=True) and set(shares) == set(answer["record"]["utilization"].values())
    assert rows[0]["busy_us"] == pytest.approx(shares[0] * answer["record"]["cycles"] / todo.gpu.sm.clock_hz * 1e6)


def test_waits_are_the_stalls_of_all_ctas_as_shares_of_the_run_on_every_sm(todo, answer):
    rows = simulated_why.waits(todo, answer["record"])
    ctas = answer["ctas"]
    for role in ("producer", "consumer 1", "consumer 2"):
        cycles = ctas[f"{role.replace(' ', '_')}_stall_cycles"].sum()
        share = sum(row["share"] for row in rows if row["warpgroup"] == role)
        assert share == pytest.approx(cycles / (answer["record"]["cycles"] * todo.gpu.sm.count))
        assert 0 < share < 1


def test_the_latency_is_cycles_over_clock_and_the_launch():
    todo = Recipe(gpu="h100-sxm", params="calibrated").experiment()
    launch_us = todo.gpu.launch.overhead_s * 1e6
    record = {"cycles": 1_500_000, "latency_us": 1_500_000 / todo.gpu.sm.clock_hz * 1e6 + launch_us}
    said = simulated_why.arithmetic(todo, record)
    clock_mhz = todo.gpu.sm.clock_hz / 1e6
    assert said.startswith(f"1,500,000 cycles / {clock_mhz:,.0f} MHz + {launch_us:.3g} µs launch = ")
    assert said.endswith(f"{record['latency_us']:,.1f} µs")


def test_a_sample_has_units_but_no_waits(todo):
    record = {"utilization": {"l2": 0.4}, "cycles": 1000, "latency_us": 1.0}
    assert simulated_why.waits(todo, record) == [] and simulated_why.memory(record) == ""
    assert len(simulated_why.units(todo, record)) == 1
