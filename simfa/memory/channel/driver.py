"""Drive one channel with a stream of requests: in order through a FIFO, in a closed or an open loop.

A request is `accesses` consecutive blocks. Closed loop: as many requests as allowed are in the FIFO or the
channel, and each completion lets the next one in at once. Open loop: a request enters at its arrival tick. A read
is complete when its last data have arrived, a write, being posted, when the write queue has taken its last access.
"""

from typing import NamedTuple

import numpy as np

from simfa.engine.jit import entry, inlined_kernel
from simfa.memory.channel import controller
from simfa.memory.channel import queues as store
from simfa.memory.channel.controller import FORWARDED, REFUSED
from simfa.memory.channel.queues import FAR, NONE, READS, WRITES

FINISHED, STUCK = range(2)

PROGRESS = np.dtype(
    [
        ("entered", np.int64),
        ("sending", np.int64),  # the request at the head of the FIFO
        ("part", np.int64),  # how many of its accesses are sent
        ("sent", np.int64),  # accesses
        ("complete", np.int64),
        ("in_flight", np.int64),
        ("landing", np.int64),  # reads whose last data are on their way: landed[first, first + landing)
        ("first", np.int64),
    ]
)


class Stream(NamedTuple):
    """Requests, their accesses in order, and what happened to them. `arrival` is empty in a closed loop."""

    is_write: np.ndarray
    arrival: np.ndarray
    bank: np.ndarray
    row: np.ndarray
    block: np.ndarray
    accesses: int
    entered: np.ndarray
    done: np.ndarray
    left: np.ndarray
    landed: np.ndarray  # ring of ticks
    progress: np.ndarray


def make_stream(
    is_write: np.ndarray,
    arrival: np.ndarray,
    bank: np.ndarray,
    row: np.ndarray,
    block: np.ndarray,
    outstanding: int,
) -> Stream:
    """A stream that has not begun; bank, row and block hold all accesses of each request, in order."""
    requests = is_write.size
    accesses = bank.size // max(requests, 1)
    return Stream(
        is_write,
        arrival,
        bank,
        row,
        block,
        accesses,
        np.full(requests, -1, np.int64),
        np.full(requests, -1, np.int64),
        np.full(requests, accesses, np.int64),
        np.zeros(outstanding, np.int64),
        np.zeros(1, PROGRESS),
    )


@inlined_kernel
def _enter(stream, outstanding, now):
    """Let requests into the FIFO: those that have arrived, or as many as may be outstanding."""
    progress = stream.progress[0]
    requests, is_open = stream.is_write.shape[0], stream.arrival.shape[0] > 0
    while progress["entered"] < requests:
        index = progress["entered"]
        if is_open:
            if stream.arrival[index] > now:
                return
        elif progress["in_flight"] >= outstanding:
            return
        stream.entered[index] = now
        progress["entered"] += 1
        progress["in_flight"] += 1


@inlined_kernel
def _send(channel, stream, now):
    """Move accesses from the head of the FIFO into the channel until it refuses one."""
    progress = stream.progress[0]
    while progress["sending"] < progress["entered"]:
        order, request = progress["sent"], progress["sending"]
        kind, bank, row = stream.is_write[request], stream.bank[order], stream.row[order]
        answer = controller.send(channel, kind, bank, row, stream.block[order], request, order, now)
        if answer == REFUSED:
            return
        progress["sent"] += 1
        progress["part"] += 1
        if progress["part"] == stream.accesses:
            progress["part"] = 0
            progress["sending"] += 1
        if kind == WRITES:
            _access_done(stream, request, now, True)
        elif answer == FORWARDED:
            _access_done(stream, request, controller.data_at(channel, now + 1), False)


@inlined_kernel
def _served(channel, stream, entry, now):
    """A column command has issued for an access."""
    if entry["kind"] == READS:
        done = controller.data_at(channel, now + channel.control[0]["read_ticks"])
        _access_done(stream, entry["request"], done, False)


@inlined_kernel
def _access_done(stream, request, tick, at_once):
    """One access of a request is done at `tick`; with its last one the request is, and lands then or at once."""
    stream.left[request] -= 1
    if stream.left[request]:
        return
    progress = stream.progress[0]
    stream.done[request] = tick
    progress["complete"] += 1
    if at_once:
        progress["in_flight"] -= 1
    elif stream.arrival.shape[0] == 0:
        size = stream.landed.shape[0]
        place = progress["first"] + progress["landing"]
        stream.landed[place if place < size else place - size] = tick
        progress["landing"] += 1


@inlined_kernel
def _land(stream, now):
    """Completed reads make room for new requests (closed loop)."""
    progress = stream.progress[0]
    while progress["landing"] and stream.landed[progress["first"]] <= now:
        progress["first"] += 1
        if progress["first"] == stream.landed.shape[0]:
            progress["first"] = 0
        progress["landing"] -= 1
        progress["in_flight"] -= 1


@inlined_kernel
def _next(channel, stream, outstanding, now):
    """The next tick at which anything can happen."""
    progress = stream.progress[0]
    wake = controller.next_tick(channel)
    if progress["landing"]:
        wake = min(wake, stream.landed[progress["first"]])
    if progress["entered"] < stream.is_write.shape[0]:
        if stream.arrival.shape[0]:
            wake = min(wake, stream.arrival[progress["entered"]])
        elif progress["in_flight"] < outstanding:  # a posted write has made room
            wake = now
    return max(wake, now + 1)


@entry
def run(channel, stream, outstanding):
    """Run the stream and the writes it leaves in the queue to the end.

    FINISHED, or STUCK where nothing can happen any more: an error of the model.
    """
    progress = stream.progress[0]
    requests = stream.is_write.shape[0]
    now = 0
    while True:
        _enter(stream, outstanding, now)
        _send(channel, stream, now)
        if progress["complete"] == requests and store.is_empty(channel.queues):
            return FINISHED
        now = _next(channel, stream, outstanding, now)
        if now >= FAR:
            return STUCK
        _land(stream, now)
        controller.tick(channel, now)
        slot = channel.control[0]["served"]
        if slot != NONE:
            _served(channel, stream, channel.queues.entries[slot], now)
