"""The way of one line request: coalescer, then L2 and DRAM."""

from typing import NamedTuple

import numpy as np

from simfa.engine.jit import kernel
from simfa.memory import coalescer, l2

TOTALS = np.dtype([("coalesced", np.int64), ("coalescer_full", np.int64)])


class Memory(NamedTuple):
    """The memory hierarchy as the SMs see it; `unit` and `partition` are indexed by SM."""

    cache: l2.L2
    inflight: np.ndarray  # coalescer tables by unit
    unit: np.ndarray  # coalescing unit of each SM, or -1 where SMs share none
    partition: np.ndarray
    totals: np.ndarray


@kernel
def load(memory, sm, line, now):  # type: ignore[no-untyped-def]
    """A read of one line by an SM; returns the cycle of the response."""
    unit = memory.unit[sm]
    if unit < 0:
        return l2.access(memory.cache, line, memory.partition[sm], now, False)
    entries = memory.inflight[unit]
    found = coalescer.find(entries, line, now)
    if found >= 0:
        memory.totals[0]["coalesced"] += 1
        return entries[found]["ready"]
    ready = l2.access(memory.cache, line, memory.partition[sm], now, False)
    free = -1 - found
    if free < entries.shape[0]:
        entries[free]["ready"] = ready
        entries[free]["line"] = line
    else:
        memory.totals[0]["coalescer_full"] += 1
    return ready


@kernel
def store(memory, sm, line, now):  # type: ignore[no-untyped-def]
    """A write of one line by an SM; returns the cycle of the acknowledgement."""
    return l2.access(memory.cache, line, memory.partition[sm], now, True)
