"""Line requests per second of the simulator, beside a yardstick; run with `pytest tests/bench --benchmark-enable`.

The yardstick is a loop of dependent random reads over 2 MB, timed in the same process: what this machine, now,
can do at best for work of this kind. The ratio says more than either figure. Nothing is asserted about time.
"""

import time
from typing import Any

import numba
import numpy as np
import pytest

from simfa import simulate
from simfa.validation import queues
from tests.simfa.experiments import experiment

READS = 20_000_000
ENTRIES = 2**21 // 8


@numba.njit
def chase(table: Any, reads: int) -> int:
    """Follow a random cycle through the table."""
    place = 0
    for _ in range(reads):
        place = table[place]
    return place


def random_cycle() -> np.ndarray:
    """One cycle through all entries, in random order."""
    order = np.random.default_rng(0).permutation(ENTRIES)
    table = np.empty(ENTRIES, np.int64)
    table[order] = np.roll(order, -1)
    return table


def yardstick_per_s() -> float:
    """Dependent random reads per second, the best of three."""
    table = random_cycle()
    chase(table, 1)
    best = float("inf")
    for _ in range(3):
        started = time.perf_counter()
        chase(table, READS)
        best = min(best, time.perf_counter() - started)
    return READS / best


@pytest.mark.parametrize("model", queues.MODELS)
def test_llama3_8b_at_2048(benchmark, model: str) -> None:  # type: ignore[no-untyped-def]
    case = queues.under(experiment("--llm llama3-8b --seq 2048"), queues.MODELS[model])
    simulate.run(case)
    extra = benchmark.pedantic(simulate.run, args=(case,), rounds=5).result.extra
    assert extra["line_requests"] == 4_456_448
    lines_per_s = extra["line_requests"] / (benchmark.stats["min"] if benchmark.enabled else extra["wall_s"])
    reads_per_s = yardstick_per_s()
    benchmark.extra_info["line_requests_per_s"] = round(lines_per_s)
    benchmark.extra_info["yardstick_reads_per_s"] = round(reads_per_s)
    benchmark.extra_info["reads_per_line_request"] = round(reads_per_s / lines_per_s, 2)


def test_llama3_8b_at_2048_observed(benchmark) -> None:  # type: ignore[no-untyped-def]
    """The same with one SM's spans and all queues watched, as the pages run it; compare with the one above."""
    case = experiment("--llm llama3-8b --seq 2048")
    simulate.run(case, timeline_sm=0)
    run = benchmark.pedantic(simulate.run, args=(case,), kwargs={"timeline_sm": 0}, rounds=5)
    assert len(run.seen.occupancy["start_cycle"]) > 1000
