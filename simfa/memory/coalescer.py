"""The L2 request coalescer (LRC) of an SM pair: a read of a line that the pair already waits for joins it.

A small set-associative table per unit holds the lines in flight with the cycle of their response; an entry
whose response has arrived is free. Both SMs get the line at the same cycle, and L2 serves it once.

A set's lines stand side by side, and so do their responses, so that all ways are compared at once.
"""

import numpy as np

from simfa.engine import lanes, prefetch, storage
from simfa.engine.jit import inlined_kernel

SETS = 64
WAYS = lanes.LANES
ALL = (1 << WAYS) - 1
LINE, READY = 0, 1
NO_ENTRY = -1


def make_table(units: int) -> np.ndarray:
    """Empty tables of all coalescing units, shape (units * SETS, 2, WAYS): lines, and cycles of their responses."""
    table = storage.zeros((units * SETS, 2, WAYS), np.int64)
    table[:, READY] = -1
    return table


@inlined_kernel
def _row(unit, line):
    return unit * SETS + ((line ^ (line >> 7)) & (SETS - 1))


@inlined_kernel
def find(table, unit, line, now):
    """The entry in which `line` is in flight (>= 0), else -2 - (a free entry), or NO_ENTRY if none is free."""
    row = _row(unit, line)
    live = lanes.above(table[row, READY], 0, now)
    found = live & lanes.equal(table[row, LINE], 0, line)
    if found:
        return row * WAYS + lanes.lowest(found)
    return -2 - (row * WAYS + lanes.highest(ALL & ~live)) if live != ALL else NO_ENTRY


@inlined_kernel
def expect(table, unit, line):
    """A read of `line` is likely to come soon: the one after a line mostly is the next of its box."""
    prefetch.fetch(table, _row(unit, line))


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
