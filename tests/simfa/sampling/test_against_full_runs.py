"""Samples against whole simulations of the same launches, stored in full_runs.csv (seed 0, FP16, cold L2).

The whole runs take minutes to hours together; `pytest -m slow` runs them again. Here one row is run anew, so that
the stored figures cannot outlive the simulator that gave them.
"""

import csv
from pathlib import Path

import pytest

from simfa import simulate
from tests.simfa.experiments import experiment

FILE = Path(__file__).with_name("full_runs.csv")
ROWS = {row["options"]: row for row in csv.DictReader(FILE.open(encoding="utf-8", newline=""))}
SHORTEST = "--llm llama3-8b --seq 4096"
QUICK = ["--llm llama3.1-405b --seq 16384"]
ACCEPTED = [
    f"--llm {llm} --seq {n}" for llm in ("llama3-8b", "llama3-70b", "llama3.1-405b") for n in (4096, 6144, 16384)
]
# Between both regimes, where K/V of a head with what passes of Q and O is about as large as the L2.
TRANSITION = [f"--llm llama3-8b --seq 16384 --set l2.bytes={size}MiB" for size in (10, 14)]


def whole(options: str) -> tuple[int, int, int]:
    row = ROWS[options]
    return int(row["cycles"]), int(row["dram_read_bytes"]), int(row["dram_write_bytes"])


def errors_pct(options: str) -> tuple[float, float]:
    """Errors of a sample's cycles and of its DRAM traffic."""
    result = simulate.run(experiment(options).model_copy(update={"sample": True})).result
    cycles, reads, writes = whole(options)
    assert result.dram_bytes is not None
    return (result.extra["cycles"] / cycles - 1) * 100, (result.dram_bytes / (reads + writes) - 1) * 100


def simulated_whole(options: str) -> tuple[int, int | None, int | None]:
    result = simulate.run(experiment(options)).result
    return result.extra["cycles"], result.dram_read_bytes, result.dram_write_bytes


def test_the_stored_runs_are_this_simulators() -> None:
    assert simulated_whole(SHORTEST) == whole(SHORTEST)


@pytest.mark.parametrize("options", QUICK)
def test_a_sample_is_within_3_and_5_per_cent(options: str) -> None:
    latency, traffic = errors_pct(options)
    assert abs(latency) < 3 and abs(traffic) < 5


@pytest.mark.slow
@pytest.mark.parametrize("options", [row for row in ROWS if row not in (*QUICK, *TRANSITION)])
def test_every_sample_is_within_3_and_5_per_cent(options: str) -> None:
    latency, traffic = errors_pct(options)
    assert abs(latency) < 3 and abs(traffic) < 5


@pytest.mark.slow
@pytest.mark.parametrize("options", TRANSITION)
def test_between_the_regimes_a_sample_claims_less(options: str) -> None:
    result = simulate.run(experiment(options).model_copy(update={"sample": True})).result
    error_pct = (result.extra["cycles"] / whole(options)[0] - 1) * 100
    assert result.extra["latency_error_pct"] > 1.5
    assert abs(error_pct) < 2.5 * result.extra["latency_error_pct"]


@pytest.mark.slow
@pytest.mark.parametrize("options", ROWS)
def test_the_whole_runs_again(options: str) -> None:
    assert simulated_whole(options) == whole(options)


def test_all_models_and_lengths_that_were_promised_are_stored() -> None:
    assert set(ACCEPTED) <= set(ROWS)
