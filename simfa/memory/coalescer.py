"""The L2 request coalescer (LRC) of an SM pair: a read of a line that the pair already waits for joins it.

A small set-associative table per unit holds the lines in flight with the cycle of their response; an entry
whose response has arrived is free. Both SMs get the line at the same cycle, and L2 serves it once.

A set's lines stand side by side, and so do their responses, so that all ways are compared at once.
"""

import numpy as np

from simfa.engine.jit import inlined_kernel

SETS = 64
WAYS = 8
LINE, READY = 0, 1
NO_ENTRY = -1


def make_table(units: int) -> np.ndarray:
    """Empty tables of all coalescing units, shape (units * SETS, 2, WAYS): lines, and cycles of their responses."""
    table = np.zeros((units * SETS, 2, WAYS), np.int64)
    table[:, READY] = -1
    return table


@inlined_kernel
def find(table, unit, line, now):
    """The entry in which `line` is in flight (>= 0), else -2 - (a free entry), or NO_ENTRY if none is free."""
    row = unit * SETS + ((line ^ (line >> 7)) & (SETS - 1))
    found = free = 0  # one more than the way; without branches, as none of them could be foreseen
    for way in range(WAYS):
        live = table[row, READY, way] > now
        same = table[row, LINE, way] == line
        found |= (live & same) * (way + 1)
        free = max(free, (not live) * (way + 1))
    if found > 0:
        return row * WAYS + found - 1
    return -1 - (row * WAYS + free) if free > 0 else NO_ENTRY


@inlined_kernel
def ready(table, entry):
    """The cycle of an entry's response."""
    return table[entry // WAYS, READY, entry % WAYS]


@inlined_kernel
def keep(table, entry, line, ready):
    """A read of `line` goes on to L2 and its response is expected at cycle `ready`."""
    table[entry // WAYS, LINE, entry % WAYS] = line
    answer(table, entry, ready)


@inlined_kernel
def answer(table, entry, ready):
    """Set the cycle of an entry's response."""
    table[entry // WAYS, READY, entry % WAYS] = ready
