"""How evenly K and V fill the sets of an L2, so that a short run's L2 can be chosen to fill like the whole one's.

Heads lie interleaved in memory, so the lines of one are a regular pattern that slices and sets take up unevenly: in
the fullest sets K and V with Q and O passing by exceed the ways before the cache as a whole is full. By how much
depends on the number of sets. Where K/V is about as large as the L2 that decides what is read again.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from presets.experiment import Experiment
from simfa import coverage, launch
from simfa.memory import hashing
from simfa.sampling.shorten import Capacity, kv_rows
from simfa.trace import fa3

QUANTILES = (np.arange(64) + 0.5) / 64


def _plain(kernel: Any) -> Callable[..., Any]:
    """A compiled kernel as the Python function it is made of, which takes arrays."""
    found: Callable[..., Any] = getattr(kernel, "py_func", kernel)
    return found


def kv_fill(experiment: Experiment, heads: int, steps: int, capacity: Capacity) -> np.ndarray:
    """K and V lines of the first heads over ways, in all sets of a launch of so many K/V steps: its quantiles."""
    timing, cache = coverage.check(experiment).timing, experiment.gpu.l2
    lines = _kv_lines(experiment, heads, kv_rows(experiment, steps))
    folded = _plain(hashing.fold)(lines, hashing.SLICE_HASHES.index(timing.slice_hash))
    scattered = timing.set_hash == hashing.SET_HASHES[hashing.SCATTERED]
    chosen = _plain(hashing.scattered_set if scattered else hashing.set_of)
    rows = folded % cache.slices * capacity.sets + chosen(folded, cache.slices, capacity.sets)
    counts = np.bincount(rows, minlength=cache.slices * capacity.sets)
    return np.asarray(np.quantile(counts, QUANTILES) / capacity.ways)


def _kv_lines(experiment: Experiment, heads: int, rows: int) -> np.ndarray:
    """Numbers of the lines of K and V, first `heads` heads over all batches, first `rows` rows."""
    maps, line_bytes = launch.tensor_maps(experiment), experiment.gpu.l2.line_bytes
    row_lines = max(experiment.llm.head_dim * experiment.precision_bytes // line_bytes, 1)
    number = np.arange(heads)
    batch, head = number // experiment.heads_kv, number % experiment.heads_kv
    found = []
    for tensor in (maps[fa3.MAP_K], maps[fa3.MAP_V]):
        by_head, by_row, _ = tensor.strides_bytes
        start = tensor.base + head * by_head + batch * rows * by_row
        address = start[:, None] + np.arange(rows) * by_row
        found.append((address[..., None] // line_bytes + np.arange(row_lines)).ravel())
    return np.concatenate(found)
