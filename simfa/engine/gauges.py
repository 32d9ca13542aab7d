"""Levels of queues over time: how full each one is, sampled beside a run. It changes no timing.

The main loop stops where a sample is due (`loop.advance_observed`), so no mechanism knows of it and a run without
gauges does nothing for them. A sample reads every level as it stands before the events of its cycle. Samples at a
regular stride are averaged over buckets of equal length; once all buckets are full, neighbours are merged and a
bucket lasts twice as long, so memory and time are bounded for a run of any length. A reservation has no queue: its
level is how many cycles ahead of the clock it is taken.

A new queue is one line in `sample` and one in `simfa.occupancy.GAUGES`.
"""

from typing import NamedTuple

import numpy as np

from simfa.engine.jit import kernel
from simfa.memory import access
from simfa.memory.dram import TICKS

BUCKETS = 4096
FIRST_BUCKET_CYCLES = 8
SAMPLES_PER_BUCKET = 16  # from then on the stride grows instead
(
    SM_TMA_LINES,
    SM_TMA_OPERATIONS,
    SM_WGMMA_BUFFER,
    TMA_LINES,
    WGMMA_BUFFER,
    L2_BACKLOG,
    DRAM_BACKLOG,
    L2_QUEUED,
    L2_MSHRS,
) = range(9)
COUNT = 9

HEADER = np.dtype(
    [
        ("sm", np.int64),  # the observed SM
        ("due", np.int64),  # cycle of the next sample
        ("stride", np.int64),  # cycles between samples
        ("per_bucket", np.int64),  # samples of a bucket
        ("samples", np.int64),  # so far in the bucket being filled
        ("buckets", np.int64),  # full ones
    ]
)


class Gauges(NamedTuple):
    """The clock of the samples, and per bucket and gauge the mean and the largest level (shape BUCKETS, COUNT)."""

    header: np.ndarray
    mean: np.ndarray
    peak: np.ndarray


def make_gauges(sm: int) -> Gauges:
    """Gauges that have seen nothing yet; those of a single SM belong to `sm`."""
    header = np.zeros(1, HEADER)
    header[0] = (sm, 0, 1, FIRST_BUCKET_CYCLES, 0, 0)
    return Gauges(header, np.zeros((BUCKETS, COUNT)), np.zeros((BUCKETS, COUNT)))


@kernel
def catch_up(gauges, machine):
    """Take every sample due up to the current cycle; nothing has changed since the last event before it."""
    header = gauges.header[0]
    while header["due"] <= machine.queue.header[0]["now"]:
        sample(gauges, machine, header["due"])
        header["samples"] += 1
        header["due"] += header["stride"]
        if header["samples"] == header["per_bucket"]:
            _close_bucket(gauges)


@kernel
def sample(gauges, machine, at):
    """Add every level at cycle `at` to the bucket being filled."""
    sm = gauges.header[0]["sm"]
    engines, sms, cache = machine.engines.engines, machine.state.sms, access.cache_of(machine.memory)
    _one(gauges, SM_TMA_LINES, engines[sm]["inflight"])
    _one(gauges, SM_TMA_OPERATIONS, engines[sm]["next"] - engines[sm]["oldest"])
    _one(gauges, SM_WGMMA_BUFFER, sms[sm]["buffer"])
    _all(gauges, TMA_LINES, engines["inflight"])
    _all(gauges, WGMMA_BUFFER, sms["buffer"])
    _ahead(gauges, L2_BACKLOG, cache.slices["free_ticks"], at)
    _ahead(gauges, DRAM_BACKLOG, cache.channels["free_ticks"], at)
    _slices(gauges, machine.memory, cache.slices.shape[0])


@kernel
def _slices(gauges, memory, slices):
    """Entries of the slices' request queues and MSHRs, where there are queues."""
    for index in range(slices):
        _add(gauges, L2_QUEUED, access.queued(memory, index) / slices, access.queued(memory, index))
        _add(gauges, L2_MSHRS, access.fetching(memory, index) / slices, access.fetching(memory, index))


@kernel
def _add(gauges, gauge, mean, peak):
    bucket = gauges.header[0]["buckets"]
    gauges.mean[bucket, gauge] += mean
    gauges.peak[bucket, gauge] = max(gauges.peak[bucket, gauge], peak)


@kernel
def _one(gauges, gauge, level):
    _add(gauges, gauge, level, level)


@kernel
def _all(gauges, gauge, levels):
    """The mean and the largest of all units of a kind."""
    total = 0
    largest = 0
    for unit in range(levels.shape[0]):
        total += levels[unit]
        largest = max(largest, levels[unit])
    _add(gauges, gauge, total / levels.shape[0], largest)


@kernel
def _ahead(gauges, gauge, free_ticks, at):
    """Cycles that reservations reach beyond cycle `at`: the mean and the largest over units."""
    total = 0
    largest = 0
    for unit in range(free_ticks.shape[0]):
        ahead = max(free_ticks[unit] - at * TICKS, 0)
        total += ahead
        largest = max(largest, ahead)
    _add(gauges, gauge, total / free_ticks.shape[0] / TICKS, largest / TICKS)


@kernel
def _close_bucket(gauges):
    """Turn sums into means; with all buckets full, merge neighbours and let a bucket last twice as long."""
    header = gauges.header[0]
    for gauge in range(COUNT):
        gauges.mean[header["buckets"], gauge] /= header["samples"]
    header["samples"] = 0
    header["buckets"] += 1
    if header["buckets"] < BUCKETS:
        return
    half = BUCKETS // 2
    for bucket in range(half):
        for gauge in range(COUNT):
            mean = (gauges.mean[2 * bucket, gauge] + gauges.mean[2 * bucket + 1, gauge]) / 2
            gauges.mean[bucket, gauge] = mean
            gauges.peak[bucket, gauge] = max(gauges.peak[2 * bucket, gauge], gauges.peak[2 * bucket + 1, gauge])
    gauges.mean[half:, :] = 0
    gauges.peak[half:, :] = 0
    header["buckets"] = half
    if header["per_bucket"] < SAMPLES_PER_BUCKET:
        header["per_bucket"] *= 2
    else:
        header["stride"] *= 2
