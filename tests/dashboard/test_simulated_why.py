"""What is behind a simulated time: shares that add up with what else the run says."""

import re

import pytest

from dashboard import simulated_why, spans
from dashboard.recipe import Recipe
from presets.record import to_record
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
    todo = Recipe(gpu="h100-sxm", seq=512, set="sm.clock_hz=1512.5MHz").experiment()
    found = simulated_why.arithmetic(todo, to_record(todo, simulate.run(todo).result))
    cycles, clock_mhz, launch_us, latency_us = map(_number, re.findall(r"[\d,.]+", found))
    assert clock_mhz == 1512.5 and launch_us > 0
    assert cycles / clock_mhz + launch_us == pytest.approx(latency_us, abs=0.06)


def _number(text):
    return float(text.replace(",", ""))


def test_an_mma_kernel_on_gb10_is_told_no_wgmma():
    todo = Recipe(gpu="gb10", seq=512).experiment()
    rows = simulated_why.waits(todo, to_record(todo, simulate.run(todo).result))
    assert rows and not any("wgmma" in row["waits_for"].lower() for row in rows)


def test_a_sample_has_units_but_no_waits():
    todo = Recipe(seq=16_384).experiment().model_copy(update={"sample": True})
    record = to_record(todo, simulate.run(todo).result)
    assert simulated_why.waits(todo, record) == [] and simulated_why.memory(record) == ""
    assert simulated_why.units(todo, record)[0]["unit"] == "tensor cores"
