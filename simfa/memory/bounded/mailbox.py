"""Between the slices and a command-level channel: lines handed over in a cycle, and when the channel steps next.

The slices know of a channel how much room its queues have. What they hand over waits in its mailbox until the
event of the same cycle in which the channel steps. A channel has an event pending for each cycle of `step_at`, a
stack with the earliest on top: a channel that needs to step before it gets a further one, and the later ones stay.
"""

import numpy as np

from simfa.engine import events
from simfa.engine.jit import inlined_kernel

STEPS = 16  # pending events of one channel
LETTERS = 64  # lines handed over in one cycle
READ, WRITE = range(2)

FRONT = np.dtype(
    [
        ("accesses", np.int64),  # of a line; 0: the channels are in-order
        ("free_reads", np.int64),  # entries of the channel's queues
        ("free_writes", np.int64),
        ("letters", np.int64),
        ("steps", np.int64),  # pending events
        ("waiting", np.int64),  # bit per kind: a slice waits for room for such a line
    ]
)
MAIL = np.dtype([("line", np.int64), ("argument", np.int32), ("kind", np.int32)])


@inlined_kernel
def has_room(front, kind):
    """Whether the channel's read or write queue takes a line."""
    return (front["free_reads"] if kind == READ else front["free_writes"]) >= front["accesses"]


@inlined_kernel
def post(memory, queue, channel, kind, line, argument, now):
    """Hand a line over; `argument` names the MSHR of a read. The caller has seen that there is room."""
    front = memory.fronts[channel]
    if kind == READ:
        front["free_reads"] -= front["accesses"]
    else:
        front["free_writes"] -= front["accesses"]
    letter = memory.mail[channel, front["letters"]]
    letter["line"], letter["argument"], letter["kind"] = line, argument, kind
    front["letters"] += 1
    step_by(memory, queue, channel, now)


@inlined_kernel
def step_by(memory, queue, channel, cycle):
    """See to a step of the channel at `cycle`; one that is due earlier will see to it itself."""
    front = memory.fronts[channel]
    depth = front["steps"]
    if depth > 0 and memory.step_at[channel, depth - 1] <= cycle:
        return
    if depth == STEPS:
        queue.header[0]["exhausted"] = 1
        return
    memory.step_at[channel, depth] = cycle
    front["steps"] = depth + 1
    memory.totals[0]["steps"] += 1
    events.push(queue, cycle, events.DRAM_STEP, channel)
