"""What the SMs see of the memory hierarchy, whichever of the two it is.

Which one is decided by the type of `memory` while a kernel is compiled, so that neither pays for the other: the
reservations of `path`, where a request's answer is known at once, or the events of `bounded`.
"""

from typing import Any

from numba.extending import overload

from simfa.engine import events
from simfa.engine.jit import INNER, inlined_kernel
from simfa.memory import path
from simfa.memory.bounded import handler, wires
from simfa.memory.bounded.state import Bounded

_INLINED: Any = {key: value for key, value in INNER.items() if key != "cache"} | {"forceinline": True}


@inlined_kernel
def _reserve(memory, queue, sm, line, now, operation, is_store, later):
    ready = path.request(memory, sm, line, now, is_store)
    events.push(queue, ready + later, events.LINE_ARRIVED, operation)
    return ready + later - now


def send(memory, queue, sm, line, now, operation, is_store, later):
    """An operation's read or write of one line: a LINE_ARRIVED event will follow, `later` cycles after the answer.

    Returns the line's latency in cycles, or 0 where it is not known yet and the hierarchy counts it itself.
    """
    if isinstance(memory, Bounded):
        return wires.send(memory.hierarchy, queue, sm, line, now, operation, is_store, later)
    return _reserve(memory, queue, sm, line, now, operation, is_store, later)


def is_held(memory, sm):
    """Whether an SM must not send: a request of its own stands before a full queue."""
    return isinstance(memory, Bounded) and memory.hierarchy.sms[sm]["held"] > 0


def handle(memory, queue, kind, argument, now):
    """An event of the hierarchy; returns an SM that may send again, or -1."""
    return (
        handler.handle(memory.hierarchy, memory.commands, queue, kind, argument, now)
        if isinstance(memory, Bounded)
        else -1
    )


def expect(memory, queue):
    """Bring what the next event of this cycle will touch near to the processor."""


def cache_of(memory):
    """Tags, slices and DRAM channels."""
    return memory.cache


def queued(memory, index):
    """Requests in the request queue of a slice and before it; reservations have no queue."""
    return memory.hierarchy.cache.slices[index]["queued"] if isinstance(memory, Bounded) else 0


def fetching(memory, index):
    """MSHRs of a slice in use; under reservations they retire when next looked at, so their number says nothing."""
    return memory.hierarchy.cache.slices[index]["mshr_count"] if isinstance(memory, Bounded) else 0


def background(memory):
    """Pending events that no SM waits for: DRAM channels that have writes left."""
    return memory.hierarchy.totals[0]["steps"] if isinstance(memory, Bounded) else 0


def _is_bounded(memory):
    return getattr(memory, "instance_class", None) is Bounded


@overload(send, jit_options=_INLINED)
def _send(memory, queue, sm, line, now, operation, is_store, later):
    return _body(
        memory,
        lambda memory, queue, sm, line, now, operation, is_store, later: wires.send(
            memory.hierarchy, queue, sm, line, now, operation, is_store, later
        ),
        lambda memory, queue, sm, line, now, operation, is_store, later: _reserve(
            memory, queue, sm, line, now, operation, is_store, later
        ),
    )


@overload(is_held, jit_options=_INLINED)
def _is_held(memory, sm):
    return _body(memory, lambda memory, sm: memory.hierarchy.sms[sm]["held"] > 0, lambda memory, sm: False)


@overload(handle, jit_options=_INLINED)
def _handle(memory, queue, kind, argument, now):
    return _body(
        memory,
        lambda memory, queue, kind, argument, now: handler.handle(
            memory.hierarchy, memory.commands, queue, kind, argument, now
        ),
        lambda memory, queue, kind, argument, now: -1,
    )


@overload(expect, jit_options=_INLINED)
def _expect(memory, queue):
    return _body(memory, lambda memory, queue: handler.expect(memory.hierarchy, queue), lambda memory, queue: None)


@overload(cache_of, jit_options=_INLINED)
def _cache_of(memory):
    return _body(memory, lambda memory: memory.hierarchy.cache, lambda memory: memory.cache)


@overload(queued, jit_options=_INLINED)
def _queued(memory, index):
    return _body(
        memory, lambda memory, index: memory.hierarchy.cache.slices[index]["queued"], lambda memory, index: 0
    )


@overload(fetching, jit_options=_INLINED)
def _fetching(memory, index):
    return _body(
        memory, lambda memory, index: memory.hierarchy.cache.slices[index]["mshr_count"], lambda memory, index: 0
    )


@overload(background, jit_options=_INLINED)
def _background(memory):
    return _body(memory, lambda memory: memory.hierarchy.totals[0]["steps"], lambda memory: 0)


def _body(memory, bounded, reservations):
    return bounded if _is_bounded(memory) else reservations
