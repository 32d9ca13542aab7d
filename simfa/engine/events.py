"""The event queue: a time wheel of one bucket per cycle.

Order is total: by time, then by the order in which events entered their cycle's bucket. An event further away
than the wheel is long waits in the last reachable bucket and is pushed on when that comes due. Times are SM
cycles. Idle cycles are passed over; once none was busy for the length of the wheel, all pending events are beyond
it, and the clock leaps to the earliest of them. Every queue is sized for the most events that can be pending;
running out is a bug and is reported.
"""

from typing import NamedTuple

import numpy as np

from simfa.engine import prefetch
from simfa.engine.jit import inlined_kernel, kernel

WHEEL = 4096  # cycles; a power of two

LINE_ARRIVED = 0  # argument: TMA operation
GENERATE = 1  # argument: SM
ISSUE = 2  # argument: SM
WAKE = 3  # argument: thread
TENSOR_DONE = 4  # argument: thread and its group's place
PHASE_OVER = 5  # argument: SM
TENSOR_IDLE = 6  # argument: SM
RELEASED = 7  # argument: barrier and sender, as simfa.engine.cluster packs them
# Of the bounded memory hierarchy (`simfa.memory.bounded`); numbers from here on are its own.
FIRST_OF_MEMORY = 8
ARRIVE = 8  # argument: request, at the slice
SERVE = 9  # argument: slice
FILL = 10  # argument: slice and MSHR
FILL_GOES_ON = 11  # argument: slice
COPY = 12  # argument: request whose response passes the near slice
DRAM_STEP = 13  # argument: channel
KINDS = 14
KIND_SHIFT = 27
ARGUMENT_MASK = (1 << KIND_SHIFT) - 1

EVENT = np.dtype([("time", np.int64), ("next", np.int32), ("payload", np.int32)])
BUCKET = np.dtype([("head", np.int32), ("tail", np.int32)])
HEADER = np.dtype(
    [
        ("now", np.int64),
        ("busy_at", np.int64),  # last cycle in which an event was due
        ("pending", np.int64),
        ("free", np.int32),
        ("exhausted", np.int32),
        ("stop_at", np.int64),  # the main loop pauses when the clock has come to this cycle
        ("superseded", np.int64),  # pending events that will find nothing to do
    ]
)
NEVER = np.int64(2**62)


class EventQueue(NamedTuple):
    """Pending events: a pool of nodes, the wheel of buckets, and the clock."""

    events: np.ndarray
    buckets: np.ndarray
    header: np.ndarray


def make_queue(capacity: int) -> EventQueue:
    """An empty queue at cycle 0 for at most `capacity` pending events."""
    events = np.zeros(capacity, EVENT)
    events["next"] = np.arange(1, capacity + 1)
    events["next"][-1] = -1
    buckets = np.full(WHEEL, -1, np.int32).repeat(2).view(BUCKET)
    header = np.zeros(1, HEADER)
    header["stop_at"] = NEVER
    return EventQueue(events, buckets, header)


@inlined_kernel
def push(queue, time, kind, argument):
    """Schedule an event at cycle `time`, now or later."""
    header = queue.header[0]
    node = header["free"]
    if node < 0:
        header["exhausted"] = 1
        return
    header["free"] = queue.events[node]["next"]
    header["pending"] += 1
    queue.events[node]["time"] = time
    queue.events[node]["payload"] = (kind << KIND_SHIFT) | argument
    _append(queue, node, time, header["now"])


@inlined_kernel
def _append(queue, node, time, now):
    bucket = min(time, now + WHEEL - 1) & (WHEEL - 1)
    queue.events[node]["next"] = -1
    tail = queue.buckets[bucket]["tail"]
    if tail < 0:
        queue.buckets[bucket]["head"] = node
    else:
        queue.events[tail]["next"] = node
    queue.buckets[bucket]["tail"] = node


@inlined_kernel
def pop_due(queue):
    """The payload of the next event due at the current cycle, or -1 when the cycle is over."""
    header = queue.header[0]
    now = header["now"]
    bucket = now & (WHEEL - 1)
    while True:
        node = queue.buckets[bucket]["head"]
        if node < 0:
            return -1
        following = queue.events[node]["next"]
        queue.buckets[bucket]["head"] = following
        if following < 0:
            queue.buckets[bucket]["tail"] = -1
        else:
            prefetch.fetch(queue.events, queue.events[following]["next"])  # the one after it
        if queue.events[node]["time"] > now:
            _append(queue, node, queue.events[node]["time"], now)
            continue
        queue.events[node]["next"] = header["free"]
        header["free"] = node
        header["pending"] -= 1
        return queue.events[node]["payload"]


@kernel
def next_cycle(queue):
    """Move the clock on to the next cycle that may have an event; something must be pending."""
    header = queue.header[0]
    if header["now"] - header["busy_at"] > WHEEL:
        _leap(queue)
        return
    now = header["now"] + 1
    limit = header["busy_at"] + WHEEL + 1
    while now < limit and queue.buckets[now & (WHEEL - 1)]["head"] < 0:
        now += 1
    header["now"] = now


@kernel
def _leap(queue):
    """Set the clock to the earliest pending event and sort all of them into the wheel anew, in wheel order."""
    header = queue.header[0]
    chain = -1
    tail = -1
    earliest = np.int64(2**62)
    for offset in range(WHEEL):
        bucket = queue.buckets[(header["now"] + offset) & (WHEEL - 1)]
        node = bucket["head"]
        while node >= 0:
            earliest = min(earliest, queue.events[node]["time"])
            if tail < 0:
                chain = node
            else:
                queue.events[tail]["next"] = node
            tail = node
            node = queue.events[node]["next"]
        bucket["head"] = bucket["tail"] = -1
    header["now"] = header["busy_at"] = earliest
    while chain >= 0:
        node = chain
        chain = queue.events[node]["next"]
        _append(queue, node, queue.events[node]["time"], earliest)
