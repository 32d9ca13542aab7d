"""The L2 request coalescer (LRC) of an SM pair: a read of a line that the pair already waits for joins it.

A small set-associative table per unit holds the lines in flight with the cycle of their response; an entry
whose response has arrived is free. Both SMs get the line at the same cycle, and L2 serves it once.
"""

import numpy as np

from simfa.engine.jit import inlined_kernel

SETS = 64
WAYS = 8
NO_ENTRY = SETS * WAYS

ENTRY = np.dtype([("ready", np.int64), ("line", np.int64)])


def make_table(units: int) -> np.ndarray:
    """An empty table for each coalescing unit, shape (units, SETS * WAYS)."""
    table = np.zeros((units, NO_ENTRY), ENTRY)
    table["ready"] = -1
    return table


@inlined_kernel
def find(entries, line, now):
    """The entry in which `line` is in flight (>= 0), else -1 - (a free entry), or -1 - NO_ENTRY if none."""
    first = ((line ^ (line >> 7)) & (SETS - 1)) * WAYS
    free = NO_ENTRY
    for index in range(first, first + WAYS):
        if entries[index]["ready"] > now:
            if entries[index]["line"] == line:
                return index
        elif free == NO_ENTRY:
            free = index
    return -1 - free
