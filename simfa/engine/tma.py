"""TMA engines, one per SM: from a box of a tensor map to line requests, bounded lines in flight (section 4.3).

Operations are served in order of issue. Each waits out its launch latency and, if it has a tensor map, the map's
setup (which overlap the operations before it), then generates the lines of its box, each line once, at most
`lines_per_cycle` a cycle and `inflight_lines` outstanding. What lies outside the tensor is not fetched. An
operation is complete when its last line has answered.

A box is walked as rows (dimension 0, contiguous), then its other dimensions from the smallest stride to the
largest. Where each stride spans what is inside it the walk only rises, so a line shared by rows is the last one
requested; where they overlap, every line is compared with all rows before it.
"""

from typing import NamedTuple

import numpy as np

from simfa.engine import dispatch, events, groups, probe, threads
from simfa.engine.groups import STORE_KIND
from simfa.engine.jit import inlined_kernel, kernel
from simfa.engine.opcodes import RANKS, TMA_BULK, TMA_BULK_STORE, TMA_STORE, TMA_WAIT
from simfa.memory import access

QUEUE = 32  # operations outstanding per SM; a power of two
OUTER = RANKS - 2  # dimensions of a box beyond rows and what makes rows

CONFIG = np.dtype(
    [
        ("launch_cycles", np.int64),  # of every operation
        ("setup_cycles", np.int64),  # of one with a tensor map, in addition
        ("lines_per_cycle", np.int64),
        ("inflight_lines", np.int64),
        ("line_shift", np.int64),
    ]
)
TENSOR_MAP = np.dtype([("base", np.int64), ("element_bytes", np.int64), ("overlaps", np.int64)])
DIMENSION = np.dtype([("size", np.int64), ("stride_bytes", np.int64), ("box", np.int64), ("walk", np.int64)])
OPERATION = np.dtype(  # 64 bytes: what is touched for every line
    [
        ("line", np.int64),  # next line to request
        ("last_line", np.int64),  # last line of the row
        ("address", np.int64),  # first byte of the row being generated
        ("row_stride_bytes", np.int64),
        ("row_bytes", np.int64),
        ("ready_at", np.int64),
        ("rows_left", np.int32),  # of this run of rows; 0 once everything is generated
        ("runs_left", np.int32),  # after this one
        ("outstanding", np.int32),
        ("is_store", np.int8),
        ("overlaps", np.int8),
        ("done", np.int8),
        ("unused", np.int8),
    ]
)
DETAIL = np.dtype(
    [
        ("issued_at", np.int64),
        ("first", np.int64),  # first byte of the box, and of the run of rows being generated
        ("run", np.int64),
        ("rows", np.int32),  # rows of a run
        ("thread", np.int32),
        ("opcode", np.int32),
        ("sid", np.int32),
        ("phase", np.int32),
        ("expected", np.int32),
        ("group", np.int32),
        ("tag", np.int32),
    ]
)
OUTER_DIMENSION = np.dtype([("count", np.int64), ("stride_bytes", np.int64), ("index", np.int64)])
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
    details: np.ndarray
    outer: np.ndarray  # per operation: its OUTER_DIMENSIONs
    maps: np.ndarray
    dimensions: np.ndarray  # per map: RANKS DIMENSIONs
    starts: np.ndarray  # per instruction: first coordinates of its box


def make_tma(sms: int, config: np.ndarray, maps: np.ndarray, dimensions: np.ndarray, starts: np.ndarray) -> Tma:
    """Idle TMA engines for a CONFIG record, TENSOR_MAP and DIMENSION records, and each instruction's box."""
    engines = np.zeros(sms, ENGINE)
    engines["cycle"] = engines["generate_at"] = engines["full_since"] = -1
    operations, details = np.zeros(sms * QUEUE, OPERATION), np.zeros(sms * QUEUE, DETAIL)
    outer = np.zeros((sms * QUEUE, OUTER), OUTER_DIMENSION)
    return Tma(config, engines, operations, details, outer, maps, dimensions, starts)


@kernel
def has_room(tma, sm):
    """Whether the SM's engine can take another operation."""
    engine = tma.engines[sm]
    return engine["next"] - engine["oldest"] < QUEUE


@kernel
def enqueue(tma, state, queue, thread, instruction, group, origins):
    """Take an operation. `origins` are the CTA's, by map; a store belongs to the group at place `group`."""
    now = queue.header[0]["now"]
    sm = threads.sm_of(state, thread)
    engine = tma.engines[sm]
    index = sm * QUEUE + engine["next"] % QUEUE
    operation = tma.operations[index]
    idle = engine["generating"] == engine["next"]
    engine["next"] += 1
    opcode = instruction["opcode"]
    _note(tma.details[index], thread, instruction, group, now)
    operation["is_store"] = opcode in (TMA_STORE, TMA_BULK_STORE)
    operation["done"] = 0
    operation["outstanding"] = 0
    operation["ready_at"] = now + tma.config[0]["launch_cycles"]
    if opcode in (TMA_BULK, TMA_BULK_STORE):
        _contiguous(tma, index, instruction["address"], instruction["bytes"])
    else:
        operation["ready_at"] += tma.config[0]["setup_cycles"]
        start = tma.starts[state.threads[thread]["pc"]]
        _box(tma, index, instruction["map"], start, origins[instruction["map"]])
    operation["address"] = tma.details[index]["run"] = tma.details[index]["first"]
    operation["line"] = operation["address"] >> tma.config[0]["line_shift"]
    _set_last_line(tma, operation)
    rows = operation["rows_left"] * (operation["runs_left"] + 1)
    engine["requested_bytes"] += rows * operation["row_bytes"]
    if idle:  # else generating the operation before it leads to this one
        _generate_at(engine, queue, sm, operation["ready_at"])


@kernel
def _note(detail, thread, instruction, group, now):
    detail["issued_at"] = now
    detail["thread"] = thread
    detail["opcode"] = instruction["opcode"]
    detail["sid"] = instruction["sid"]
    detail["phase"] = instruction["phase"]
    detail["expected"] = instruction["expected"]
    detail["group"] = group
    detail["tag"] = instruction["tag"]


@kernel
def _contiguous(tma, index, address, length):
    """One row of `length` bytes."""
    operation = tma.operations[index]
    tma.details[index]["first"] = address
    tma.details[index]["rows"] = operation["rows_left"] = 1 if length > 0 else 0
    operation["row_bytes"] = length
    operation["row_stride_bytes"] = 0
    operation["runs_left"] = 0
    operation["overlaps"] = 0


@kernel
def _box(tma, index, tensor_map, start, origin):
    """The part of a box inside its tensor as rows, runs of rows, and up to OUTER dimensions of runs."""
    operation, detail = tma.operations[index], tma.details[index]
    dimensions = tma.dimensions[tensor_map]
    layout = tma.maps[tensor_map]
    low, inside = _clip(dimensions[0], start[0] + origin[0])
    _contiguous(tma, index, layout["base"] + low * layout["element_bytes"], inside * layout["element_bytes"])
    operation["overlaps"] = layout["overlaps"]
    for place in range(OUTER):
        tma.outer[index, place]["count"] = tma.outer[index, place]["index"] = 0
    rows = 1 if inside > 0 else 0
    runs = 1
    outer = 0
    for place in range(1, RANKS):
        axis = dimensions[place]["walk"]
        low, inside = _clip(dimensions[axis], start[axis] + origin[axis])
        detail["first"] += low * dimensions[axis]["stride_bytes"]
        if inside == 1:
            continue
        if rows <= 1:
            rows *= inside
            operation["row_stride_bytes"] = dimensions[axis]["stride_bytes"]
            continue
        runs *= inside
        tma.outer[index, outer]["count"] = inside
        tma.outer[index, outer]["stride_bytes"] = dimensions[axis]["stride_bytes"]
        outer += 1
    detail["rows"] = operation["rows_left"] = rows if runs > 0 else 0
    operation["runs_left"] = max(runs, 1) - 1


@kernel
def _clip(dimension, start):
    """First coordinate inside the tensor, and how many from there on are in the box."""
    low = max(start, 0)
    return low, max(min(start + dimension["box"], dimension["size"]) - low, 0)


@inlined_kernel
def _set_last_line(tma, operation):
    end = operation["address"] + operation["row_bytes"] - 1
    operation["last_line"] = end >> tma.config[0]["line_shift"]


@inlined_kernel
def generate(grid, tma, state, memory, queue, observer, sm):
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
                _complete(grid, tma, state, queue, observer, sm, index)
            continue
        if access.is_held(memory, sm):
            return  # the memory calls again
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
    latency = access.send(memory, queue, sm, line, now, index, operation["is_store"] != 0, 0)
    if operation["is_store"]:
        engine["store_lines"] += 1
    else:
        engine["load_lines"] += 1
        engine["latency_cycles"] += latency
    engine["inflight"] += 1
    operation["outstanding"] += 1
    if line < operation["last_line"]:
        operation["line"] = line + 1
    else:
        _next_row(tma, operation, index, line)
    if operation["overlaps"]:
        _skip_requested(tma, operation, index)


@inlined_kernel
def _next_row(tma, operation, index, line):
    """Go to the next row that holds a line not yet requested: a line shared by rows is requested once."""
    while True:
        operation["rows_left"] -= 1
        if operation["rows_left"] > 0:
            operation["address"] += operation["row_stride_bytes"]
        elif operation["runs_left"] > 0:
            _next_run(tma, operation, index)
        else:
            return
        first = operation["address"] >> tma.config[0]["line_shift"]
        _set_last_line(tma, operation)
        operation["line"] = first if operation["overlaps"] else max(first, line + 1)
        if operation["line"] <= operation["last_line"]:
            return


@kernel
def _next_run(tma, operation, index):
    detail = tma.details[index]
    operation["runs_left"] -= 1
    operation["rows_left"] = detail["rows"]
    for place in range(OUTER):
        outer = tma.outer[index, place]
        outer["index"] += 1
        detail["run"] += outer["stride_bytes"]
        if outer["index"] < outer["count"]:
            break
        detail["run"] -= outer["index"] * outer["stride_bytes"]
        outer["index"] = 0
    operation["address"] = detail["run"]


@kernel
def _skip_requested(tma, operation, index):
    """Go on to a line that no earlier row holds; for boxes whose strides overlap."""
    while operation["rows_left"] > 0 and _in_earlier_row(tma, operation, index):
        if operation["line"] < operation["last_line"]:
            operation["line"] += 1
        else:
            _next_row(tma, operation, index, operation["line"])


@kernel
def _in_earlier_row(tma, operation, index):
    """Whether a row before the current one holds the current line."""
    detail = tma.details[index]
    current = detail["rows"] - operation["rows_left"]
    scale = detail["rows"]
    for place in range(OUTER):
        current += tma.outer[index, place]["index"] * scale
        scale *= max(tma.outer[index, place]["count"], 1)
    shift = tma.config[0]["line_shift"]
    for number in range(current):
        left = number // detail["rows"]
        address = detail["first"] + number % detail["rows"] * operation["row_stride_bytes"]
        for place in range(OUTER):
            if left == 0:
                break
            outer = tma.outer[index, place]
            address += left % outer["count"] * outer["stride_bytes"]
            left //= outer["count"]
        last = (address + operation["row_bytes"] - 1) >> shift
        if address >> shift <= operation["line"] <= last:
            return True
    return False


@inlined_kernel
def line_arrived(grid, tma, state, queue, observer, index):
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
        _complete(grid, tma, state, queue, observer, sm, index)


@kernel
def _complete(grid, tma, state, queue, observer, sm, index):
    """Signal the mbarrier or the store group, and free the ring up to the oldest operation still open."""
    operation, detail = tma.operations[index], tma.details[index]
    if operation["done"]:
        return
    operation["done"] = 1
    thread, sid = detail["thread"], detail["sid"]
    roles = state.config[0]["roles"]
    slot = thread // roles
    now = queue.header[0]["now"]
    probe.record(observer, sm, slot, roles + 1, detail["opcode"], detail["tag"], sid, detail["issued_at"], now)
    engine = tma.engines[sm]
    while engine["oldest"] < engine["next"] and tma.operations[sm * QUEUE + engine["oldest"] % QUEUE]["done"]:
        engine["oldest"] += 1
    if operation["is_store"]:
        groups.finish(state.rings, state.groups, thread, STORE_KIND, detail["group"])
        threads.wake_slot(state, queue, slot, TMA_WAIT, 0)
        threads.wake_thread(state, queue, thread, threads.GROUPS_FULL)
    else:
        threads.load_done(state, queue, slot, sid, detail["phase"], detail["expected"])
    threads.wake_sm(state, queue, sm, threads.TMA_QUEUE_FULL)
    dispatch.finished(grid, state, queue, observer, slot)
