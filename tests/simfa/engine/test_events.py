"""The event queue: a total order by time, then by order of entry; nothing lost beyond the wheel."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from simfa.engine import events
from simfa.engine.jit import entry


@entry
def push(queue, time, kind, argument):  # type: ignore[no-untyped-def]
    """`events.push` as a call of its own: inlined kernels are not meant for the interpreter."""
    events.push(queue, time, kind, argument)


@entry
def drain(queue, until, times, payloads):  # type: ignore[no-untyped-def]
    """Pop everything up to cycle `until`; returns how many events."""
    count = 0
    while queue.header[0]["now"] <= until:
        payload = events.pop_due(queue)
        if payload < 0:
            queue.header[0]["now"] += 1
            continue
        times[count] = queue.header[0]["now"]
        payloads[count] = payload
        count += 1
    return count


def popped(queue: events.EventQueue, until: int) -> list[tuple[int, int]]:
    """(cycle, argument) of every event up to a cycle."""
    times, payloads = np.zeros(1000, np.int64), np.zeros(1000, np.int64)
    count = drain(queue, until, times, payloads)
    return [(int(t), int(p) & events.ARGUMENT_MASK) for t, p in zip(times[:count], payloads[:count], strict=True)]


def test_events_of_one_cycle_leave_in_the_order_they_came() -> None:
    queue = events.make_queue(8)
    for argument, time in enumerate([5, 3, 5, 0, 3]):
        push(queue, time, events.WAKE, argument)
    assert popped(queue, 10) == [(0, 3), (3, 1), (3, 4), (5, 0), (5, 2)]
    assert queue.header[0]["pending"] == 0


def test_events_beyond_the_wheel_come_at_their_own_cycle() -> None:
    queue = events.make_queue(8)
    far = [events.WHEEL - 1, events.WHEEL, events.WHEEL + 1, 3 * events.WHEEL + 7]
    for argument, time in enumerate(far):
        push(queue, time, events.WAKE, argument)
    assert popped(queue, 4 * events.WHEEL) == [(time, argument) for argument, time in enumerate(far)]


def test_kind_and_argument_come_back() -> None:
    queue = events.make_queue(1)
    push(queue, 0, events.TENSOR_DONE, events.ARGUMENT_MASK)
    payloads = np.zeros(1, np.int64)
    assert drain(queue, 0, np.zeros(1, np.int64), payloads) == 1
    assert payloads[0] >> events.KIND_SHIFT == events.TENSOR_DONE


def test_a_queue_that_runs_out_says_so_and_gives_its_nodes_back() -> None:
    queue = events.make_queue(3)
    for time in range(4):
        push(queue, time, events.WAKE, time)
    assert queue.header[0]["exhausted"] == 1
    assert [argument for _, argument in popped(queue, 5)] == [0, 1, 2]
    for time in range(10, 13):
        push(queue, time, events.WAKE, time)
    assert len(popped(queue, 20)) == 3


@given(st.lists(st.integers(0, 3 * events.WHEEL), max_size=40), st.integers(0, events.WHEEL))
@settings(max_examples=50, derandomize=True, deadline=None)
def test_times_never_run_backward_and_none_is_lost(times: list[int], now: int) -> None:
    queue = events.make_queue(64)
    popped(queue, now - 1)
    for argument, time in enumerate(times):
        push(queue, now + time, events.WAKE, argument)
    got = popped(queue, now + 4 * events.WHEEL)
    assert sorted(got) == sorted((now + time, argument) for argument, time in enumerate(times))
    assert [time for time, _ in got] == sorted(time for time, _ in got)
    near = [pair for pair in got if pair[0] < now + events.WHEEL]
    assert near == sorted(near)
