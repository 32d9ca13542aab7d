"""The way of one line request: coalescer, then L2 and DRAM."""

from typing import NamedTuple

import numpy as np

from simfa.engine.jit import inlined_kernel
from simfa.memory import coalescer, l2

TOTALS = np.dtype([("coalesced", np.int64), ("coalescer_full", np.int64)])


class Memory(NamedTuple):
    """The memory hierarchy as the SMs see it; `unit` and `partition` are indexed by SM."""

    cache: l2.L2
    inflight: np.ndarray  # the coalescers' table
    unit: np.ndarray  # coalescing unit of each SM, or -1 where SMs share none
    partition: np.ndarray
    totals: np.ndarray


@inlined_kernel
def request(memory, sm, line, now, is_store):
    """A read or write of one line by an SM; returns the cycle of the response. Only reads coalesce."""
    unit = -1 if is_store else memory.unit[sm]
    found = coalescer.NO_ENTRY
    if unit >= 0:
        coalescer.expect(memory.inflight, unit, line + 1)
        found = coalescer.find(memory.inflight, unit, line, now)
        if found >= 0:
            memory.totals[0]["coalesced"] += 1
            return coalescer.ready(memory.inflight, found)
    ready = l2.access(memory.cache, line, memory.partition[sm], now, is_store)
    if found < coalescer.NO_ENTRY:
        coalescer.keep(memory.inflight, -2 - found, line, ready)
    elif unit >= 0:
        memory.totals[0]["coalescer_full"] += 1
    return ready
