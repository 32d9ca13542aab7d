"""Requests per second of one command-level channel: pytest tests/bench/test_bench_dram.py --benchmark-enable

40,000 requests of 64 bytes, closed loop of 32, on one core of a shared 2-core virtual machine, Python 3.11, numba
0.68, the other core busy: random 1.9 million requests/s, sequential 5.2, half writes 1.6.
"""

import numpy as np
import pytest

from presets import loader
from presets.dram_specs import DramChannelSpec
from simfa import dram_channel
from simfa.dram_channel import Requests
from tests.bench.test_bench_simfa import yardstick_per_s

COUNT = 40_000
SPEC = loader.load(DramChannelSpec, "hbm3-5200")
RANDOM = np.random.default_rng(12345).integers(0, 1 << 24, COUNT) * 64
SEQUENTIAL = np.arange(COUNT) * 64


@pytest.mark.parametrize(
    ("address", "writes"),
    [(RANDOM, 0.0), (SEQUENTIAL, 0.0), (RANDOM, 0.5)],
    ids=["random", "sequential", "half-writes"],
)
def test_requests_per_second(benchmark, address: np.ndarray, writes: float) -> None:  # type: ignore[no-untyped-def]
    is_write = (np.random.default_rng(4321).random(COUNT) < writes).astype(np.int64)
    result = benchmark(dram_channel.run, SPEC, Requests(address, is_write, 64))
    assert (result.done_ticks >= 0).all()
    per_s = COUNT / (benchmark.stats["min"] if benchmark.enabled else result.wall_s)
    reads_per_s = yardstick_per_s()
    benchmark.extra_info["requests_per_s"] = round(per_s)
    benchmark.extra_info["yardstick_reads_per_s"] = round(reads_per_s)
    benchmark.extra_info["reads_per_request"] = round(reads_per_s / per_s, 1)
