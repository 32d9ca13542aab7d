"""TMA engines, one per SM: from a tile's tensor map to line requests, bounded lines in flight (section 4.3).

Operations are served in order of issue. Each waits out its launch latency and tensor-map setup (which overlap
the operations before it), then generates the lines of its box row by row, each line once, at most
`lines_per_cycle` a cycle and `inflight_lines` outstanding. Rows past the end of the tensor are not fetched.
An operation is complete when its last line has answered.
"""

from typing import NamedTuple

import numpy as np

from simfa.engine import events, probe, threads
from simfa.engine.jit import inlined_kernel, kernel
from simfa.engine.opcodes import MB_WAIT, TMA_STORE, TMA_TENSOR, TMA_WAIT
from simfa.memory import path

QUEUE = 32  # operations outstanding per SM; a power of two

CONFIG = np.dtype(
    [
        ("setup_cycles", np.int64),
        ("lines_per_cycle", np.int64),
        ("inflight_lines", np.int64),
        ("line_shift", np.int64),
    ]
)
TENSOR_MAP = np.dtype([("row_stride_bytes", np.int64), ("row_bytes", np.int64), ("box_rows", np.int64)])
OPERATION = np.dtype(
    [
        ("ready_at", np.int64),
        ("issued_at", np.int64),
        ("address", np.int64),  # first byte of the row being generated
        ("row_stride_bytes", np.int64),
        ("row_bytes", np.int64),
        ("line", np.int64),  # next line to request
        ("last_line", np.int64),  # last line of the row
        ("rows_left", np.int32),  # rows not fully generated
        ("outstanding", np.int32),
        ("thread", np.int32),
        ("sid", np.int32),
        ("tag", np.int32),
        ("is_store", np.int8),
        ("done", np.int8),
    ]
)
ENGINE = np.dtype(
    [
        ("oldest", np.int64),  # running numbers of operations: oldest not complete, being generated, next
        ("generating", np.int64),
        ("next", np.int64),
        ("inflight", np.int64),
        ("cycle", np.int64),  # cycle of the last generated line, and lines generated in it
        ("in_cycle", np.int64),
        ("generate_at", np.int64),  # cycle of the pending GENERATE event, or -1
        ("full_since", np.int64),  # cycle since which lines in flight are the limit, or -1
        ("full_cycles", np.int64),
        ("load_lines", np.int64),
        ("store_lines", np.int64),
        ("requested_bytes", np.int64),
        ("latency_cycles", np.int64),  # summed over load lines
    ]
)


class Tma(NamedTuple):
    """All TMA engines, their operation rings (shape SMs x QUEUE, flat) and the kernel's tensor maps."""

    config: np.ndarray
    engines: np.ndarray
    operations: np.ndarray
    maps: np.ndarray


def make_tma(sms: int, config: np.ndarray, maps: np.ndarray) -> Tma:
    """Idle TMA engines for a CONFIG record and TENSOR_MAP records."""
    engines = np.zeros(sms, ENGINE)
    engines["cycle"] = engines["generate_at"] = engines["full_since"] = -1
    return Tma(config, engines, np.zeros(sms * QUEUE, OPERATION), maps)


@kernel
def has_room(tma, sm):
    """Whether the SM's engine can take another operation."""
    engine = tma.engines[sm]
    return engine["next"] - engine["oldest"] < QUEUE


@kernel
def enqueue(tma, state, queue, thread, instruction, base, row_limit):
    """Take an operation: a box of rows from `base` bytes on, cut off at `row_limit` rows of the tensor."""
    now = queue.header[0]["now"]
    sm = threads.sm_of(state, thread)
    engine = tma.engines[sm]
    layout = tma.maps[instruction["map"]]
    operation = tma.operations[sm * QUEUE + engine["next"] % QUEUE]
    idle = engine["generating"] == engine["next"]
    engine["next"] += 1
    rows = max(min(layout["box_rows"], row_limit - instruction["row"]), 0)
    operation["ready_at"] = now + tma.config[0]["setup_cycles"]
    operation["issued_at"] = now
    operation["thread"] = thread
    operation["sid"] = instruction["sid"]
    operation["tag"] = instruction["tag"]
    operation["is_store"] = instruction["opcode"] == TMA_STORE
    operation["done"] = 0
    operation["outstanding"] = 0
    operation["row_stride_bytes"] = layout["row_stride_bytes"]
    operation["row_bytes"] = layout["row_bytes"]
    operation["rows_left"] = rows
    operation["address"] = base + instruction["row"] * layout["row_stride_bytes"]
    operation["line"] = operation["address"] >> tma.config[0]["line_shift"]
    _set_last_line(tma, operation)
    engine["requested_bytes"] += rows * layout["row_bytes"]
    if idle:  # else generating the operation before it leads to this one
        _generate_at(engine, queue, sm, operation["ready_at"])


@inlined_kernel
def _set_last_line(tma, operation):
    end = operation["address"] + operation["row_bytes"] - 1
    operation["last_line"] = end >> tma.config[0]["line_shift"]


@inlined_kernel
def generate(tma, state, memory, queue, observer, sm):
    """Issue as many lines as this cycle allows; schedule the rest of the work."""
    config = tma.config[0]
    engine = tma.engines[sm]
    now = queue.header[0]["now"]
    while engine["generating"] < engine["next"]:
        index = sm * QUEUE + engine["generating"] % QUEUE
        operation = tma.operations[index]
        if operation["ready_at"] > now:
            _generate_at(engine, queue, sm, operation["ready_at"])
            return
        if operation["rows_left"] == 0:
            engine["generating"] += 1
            if operation["outstanding"] == 0:
                _complete(tma, state, queue, observer, sm, operation)
            continue
        if engine["inflight"] >= config["inflight_lines"]:
            if engine["full_since"] < 0:
                engine["full_since"] = now
            return
        if engine["cycle"] == now and engine["in_cycle"] >= config["lines_per_cycle"]:
            _generate_at(engine, queue, sm, now + 1)
            return
        if engine["cycle"] != now:
            engine["cycle"] = now
            engine["in_cycle"] = 0
        engine["in_cycle"] += 1
        _request_line(tma, memory, queue, sm, index, now)


@inlined_kernel
def _generate_at(engine, queue, sm, time):
    """Schedule generation; only one GENERATE event per SM is pending at a time."""
    if engine["generate_at"] >= 0:
        return
    engine["generate_at"] = time
    events.push(queue, time, events.GENERATE, sm)


@inlined_kernel
def _request_line(tma, memory, queue, sm, index, now):
    operation = tma.operations[index]
    engine = tma.engines[sm]
    line = operation["line"]
    ready = path.request(memory, sm, line, now, operation["is_store"] != 0)
    if operation["is_store"]:
        engine["store_lines"] += 1
    else:
        engine["load_lines"] += 1
        engine["latency_cycles"] += ready - now
    engine["inflight"] += 1
    operation["outstanding"] += 1
    events.push(queue, ready, events.LINE_ARRIVED, index)
    if line < operation["last_line"]:
        operation["line"] = line + 1
    else:
        _next_row(tma, operation, line)


@inlined_kernel
def _next_row(tma, operation, line):
    """Go to the next row that holds a line not yet requested: a line shared by rows is requested once."""
    while True:
        operation["rows_left"] -= 1
        if operation["rows_left"] == 0:
            return
        operation["address"] += operation["row_stride_bytes"]
        first = operation["address"] >> tma.config[0]["line_shift"]
        _set_last_line(tma, operation)
        operation["line"] = max(first, line + 1)
        if operation["line"] <= operation["last_line"]:
            return


@inlined_kernel
def line_arrived(tma, state, queue, observer, index):
    """One line of operation `index` has answered: its place in flight is free."""
    sm = index // QUEUE
    engine = tma.engines[sm]
    operation = tma.operations[index]
    engine["inflight"] -= 1
    operation["outstanding"] -= 1
    if engine["full_since"] >= 0:
        engine["full_cycles"] += queue.header[0]["now"] - engine["full_since"]
        engine["full_since"] = -1
    if operation["outstanding"] == 0 and operation["rows_left"] == 0:
        _complete(tma, state, queue, observer, sm, operation)


@kernel
def _complete(tma, state, queue, observer, sm, operation):
    """Signal the mbarrier or the store group, and free the ring up to the oldest operation still open."""
    if operation["done"]:
        return
    operation["done"] = 1
    thread = operation["thread"]
    slot = thread // state.config[0]["roles"]
    track = state.config[0]["roles"] + 1
    activity = TMA_STORE if operation["is_store"] else TMA_TENSOR
    now = queue.header[0]["now"]
    probe.record(
        observer, sm, slot, track, activity, operation["tag"], operation["sid"], operation["issued_at"], now
    )
    engine = tma.engines[sm]
    while engine["oldest"] < engine["next"] and tma.operations[sm * QUEUE + engine["oldest"] % QUEUE]["done"]:
        engine["oldest"] += 1
    if operation["is_store"]:
        state.threads[thread]["store_done"] = _stores_done_in_order(tma, state, sm, thread)
        threads.wake_slot(state, queue, slot, TMA_WAIT, 0)
    else:
        barrier = state.mbarriers[slot, operation["sid"]]
        barrier["loading"] -= 1
        if barrier["loading"] == 0:
            barrier["filled"] += 1
            threads.wake_slot(state, queue, slot, MB_WAIT, operation["sid"])
    threads.wake_sm(state, queue, sm, threads.TMA_QUEUE_FULL)


@kernel
def _stores_done_in_order(tma, state, sm, thread):
    """How many of a thread's stores are done with all its stores before them: groups finish in order."""
    engine = tma.engines[sm]
    open_stores = 0
    for number in range(engine["oldest"], engine["next"]):
        operation = tma.operations[sm * QUEUE + number % QUEUE]
        if operation["is_store"] and operation["thread"] == thread and (open_stores > 0 or not operation["done"]):
            open_stores += 1
    return state.threads[thread]["store_issued"] - open_stores
