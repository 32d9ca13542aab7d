"""DRAM channels as in-order reservations: each line occupies its channel for its transfer time.

Times here are in ticks of 1/TICKS of an SM cycle, so that a channel's 5.6 cycles per line stay exact over a run.
"""

import numpy as np

from simfa.engine.jit import inlined_kernel

TICKS = 256

CHANNEL = np.dtype([("free_ticks", np.int64), ("reads", np.int64), ("writes", np.int64)])


@inlined_kernel
def read_line(channel, start_ticks, line_ticks, latency_ticks):
    """Reserve a line read; returns the tick at which the line is in L2."""
    begin = max(start_ticks, channel["free_ticks"])
    channel["free_ticks"] = begin + line_ticks
    channel["reads"] += 1
    return begin + latency_ticks


@inlined_kernel
def write_line(channel, start_ticks, line_ticks):
    """Reserve the write-back of a dirty line; nobody waits for it."""
    channel["free_ticks"] = max(start_ticks, channel["free_ticks"]) + line_ticks
    channel["writes"] += 1
