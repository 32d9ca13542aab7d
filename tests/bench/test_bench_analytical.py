"""How long a grid of a million points takes; run with `pytest tests/bench --benchmark-enable`."""

import numpy as np

from analytical import explain, launch_order, simfa_python
from tests.presets.test_experiment import experiment


def test_a_million_lengths(benchmark) -> None:  # type: ignore[no-untyped-def]
    lengths = np.arange(1, 1_000_001)
    answer = benchmark(simfa_python.sweep, experiment(), L=lengths)
    assert answer.latency_s.size == 1_000_000


def test_a_million_causal_problems(benchmark) -> None:  # type: ignore[no-untyped-def]
    L, S = np.meshgrid(np.arange(1, 1001) * 64, np.arange(1, 1001) * 100)
    answer = benchmark(simfa_python.sweep, experiment(causal=True), L=L, S=S)
    assert answer.latency_s.shape == (1000, 1000)


def test_a_million_lengths_with_launch_order(benchmark) -> None:  # type: ignore[no-untyped-def]
    answer = benchmark(launch_order.sweep, experiment(), L=np.arange(1, 1_000_001))
    assert answer.latency_s.size == 1_000_000


def test_a_derivation(benchmark) -> None:  # type: ignore[no-untyped-def]
    """What opening Why? computes."""
    found = benchmark(explain.derive, experiment(), "simfa-launch-order")
    assert found.why("latency_us")
