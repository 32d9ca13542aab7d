"""A bounded queue that is drained at a fixed rate: nobody needs to watch it.

An entry leaves when its transfer begins, one `period` after the one before it. So the queue is described by the
tick at which the next transfer can begin, and the tick at which it has room for one more follows from it.
"""

from simfa.engine.jit import inlined_kernel


@inlined_kernel
def room_at(free_ticks, entries, period):
    """The tick from which on a queue of `entries` places has one free."""
    return free_ticks - entries * period


@inlined_kernel
def waiting(free_ticks, now, period):
    """Entries that wait at tick `now`: those whose transfer begins later."""
    last = free_ticks - period
    return 0 if last <= now else (last - now - 1) // period + 1
