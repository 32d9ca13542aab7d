"""TMA engines, one per SM: from operations to line requests, bounded lines in flight (section 4.3).

Operations are served in order of issue. Each waits out its launch latency and, if it has a tensor map, the map's
setup (which overlap the operations before it), then generates the requests of its box (`simfa.engine.boxes`), at
most `lines_per_cycle` a cycle and `inflight_lines` outstanding. An operation is complete when its last request has
answered. With a descriptor cache, a request whose map the SM has used lately pays less than the setup.

A multicast load requests its box once, and its data reach every CTA of its mask in the same cycle
(`simfa.engine.cluster`).
"""

from typing import NamedTuple

import numpy as np

from simfa.engine import boxes, cluster, descriptors, dispatch, events, groups, probe, storage, threads
from simfa.engine.groups import STORE_KIND
from simfa.engine.jit import inlined_kernel, kernel
from simfa.engine.opcodes import TMA_BULK, TMA_BULK_STORE, TMA_STORE, TMA_WAIT
from simfa.memory import access

QUEUE = 32  # operations outstanding per SM; a power of two

CONFIG = np.dtype(
    [
        ("launch_cycles", np.int64),  # of every operation
        ("setup_cycles", np.int64),  # of one with a tensor map, in addition
        ("lines_per_cycle", np.int64),
        ("inflight_lines", np.int64),
        ("line_shift", np.int64),
        ("deduplicate", np.int64),  # 0: every element, or chunk of request_shift, is a request of its own
        ("request_shift", np.int64),  # log2 of a chunk's bytes, or -1 for elements
        ("descriptors", np.int64),  # tensor maps that an SM's descriptor cache holds; 0: no such cache
        ("hit_cycles", np.int64),  # in place of setup_cycles where it holds the map
        ("multicast_cycles", np.int64),  # later answers of a multicast load's lines
    ]
)
OPERATION = np.dtype(  # 64 bytes: what is touched for every line
    [
        ("unit", np.int64),  # next request, and the last one of the row: numbers of 2^unit_shift bytes
        ("last_unit", np.int64),
        ("address", np.int64),  # first byte of the row being generated
        ("row_stride_bytes", np.int64),
        ("row_bytes", np.int64),
        ("ready_at", np.int64),
        ("rows_left", np.int32),  # of this run of rows; 0 once everything is generated
        ("runs_left", np.int32),  # after this one
        ("outstanding", np.int32),
        ("is_store", np.int8),
        ("sharing", np.int8),  # of lines by rows, as boxes has it
        ("done", np.int8),
        ("unit_shift", np.int8),
    ]
)
DETAIL = np.dtype(
    [
        ("issued_at", np.int64),
        ("first", np.int64),  # first byte of the box, and of the run of rows being generated
        ("run", np.int64),
        ("rows", np.int64),  # rows of a run
        ("thread", np.int64),
        ("tile", np.int64),  # that the thread worked on when it issued
        ("opcode", np.int64),
        ("sid", np.int64),
        ("phase", np.int64),
        ("expected", np.int64),
        ("group", np.int64),
        ("tag", np.int64),
        ("mask", np.int64),  # CTAs of the cluster that a multicast reaches; 0: the issuing one
        ("place", np.int64),  # of the instruction, in the code
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
        ("load_lines", np.int64),  # requests, and so lines where they are de-duplicated
        ("store_lines", np.int64),
        ("requested_bytes", np.int64),
        ("delivered_bytes", np.int64),  # of loads: once for every CTA that they reach
        ("descriptor_hits", np.int64),
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
    fills: np.ndarray  # per instruction and CTA of the cluster: loads that its phase takes there
    recent: np.ndarray  # per SM: tensor maps in the descriptor cache, latest first; -1: none


def make_tma(
    sms: int, config: np.ndarray, maps: np.ndarray, dimensions: np.ndarray, starts: np.ndarray, fills: np.ndarray
) -> Tma:
    """Idle TMA engines for a CONFIG record, TENSOR_MAP and DIMENSION records, and each instruction's box."""
    engines = np.zeros(sms, ENGINE)
    engines["cycle"] = engines["generate_at"] = engines["full_since"] = -1
    operations, details = storage.zeros(sms * QUEUE, OPERATION), np.zeros(sms * QUEUE, DETAIL)
    outer = np.zeros((sms * QUEUE, boxes.OUTER), boxes.OUTER_DIMENSION)
    recent = np.full((sms, max(int(config[0]["descriptors"]), 1)), -1, np.int64)
    return Tma(config, engines, operations, details, outer, maps, dimensions, starts, fills, recent)


@kernel
def has_room(tma, sm):
    """Whether the SM's engine can take another operation."""
    engine = tma.engines[sm]
    return engine["next"] - engine["oldest"] < QUEUE


@kernel
def enqueue(tma, state, queue, thread, instruction, place, origins):
    """Take an operation. `origins` are the CTA's, by map; `place` is the group's place of a store, the stage and
    its filling of a load, and how many rows its box (bytes a bulk copy) is moved by."""
    now = queue.header[0]["now"]
    sm = threads.sm_of(state, thread)
    engine = tma.engines[sm]
    index = sm * QUEUE + engine["next"] % QUEUE
    operation = tma.operations[index]
    idle = engine["generating"] == engine["next"]
    engine["next"] += 1
    opcode = instruction["opcode"]
    _note(tma.details[index], state.threads[thread], thread, instruction, place, now)
    operation["is_store"] = opcode in (TMA_STORE, TMA_BULK_STORE)
    operation["done"] = 0
    operation["outstanding"] = 0
    operation["ready_at"] = now + tma.config[0]["launch_cycles"]
    if opcode in (TMA_BULK, TMA_BULK_STORE):
        boxes.begin_bulk(tma, index, instruction["address"] + place[3], instruction["bytes"])
    else:
        operation["ready_at"] += descriptors.setup(tma, sm, instruction["map"])
        start = tma.starts[state.threads[thread]["pc"]]
        boxes.begin_box(tma, index, instruction["map"], start, origins[instruction["map"]], place[3])
    _count_bytes(engine, operation, instruction["multicast"])
    if idle:  # else generating the operation before it leads to this one
        _generate_at(engine, queue, sm, operation["ready_at"])


@kernel
def _note(detail, record, thread, instruction, place, now):
    detail["issued_at"] = now
    detail["thread"] = thread
    detail["tile"] = record["tile"]
    detail["opcode"] = instruction["opcode"]
    detail["sid"] = place[1]
    detail["phase"] = place[2]
    detail["expected"] = instruction["expected"]
    detail["group"] = place[0]
    detail["tag"] = instruction["tag"]
    detail["mask"] = instruction["multicast"]
    detail["place"] = record["pc"]


@kernel
def _count_bytes(engine, operation, mask):
    count = operation["rows_left"] * (operation["runs_left"] + 1) * operation["row_bytes"]
    engine["requested_bytes"] += count
    if not operation["is_store"]:
        engine["delivered_bytes"] += count * max(cluster.size(mask), 1)


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
    line = operation["unit"] >> (tma.config[0]["line_shift"] - operation["unit_shift"])
    is_store = operation["is_store"] != 0
    later = tma.config[0]["multicast_cycles"]
    if later and (is_store or tma.details[index]["mask"] == 0):  # only then is the second record touched
        later = 0
    latency = access.send(memory, queue, sm, line, now, index, is_store, later)
    if operation["is_store"]:
        engine["store_lines"] += 1
    else:
        engine["load_lines"] += 1
        engine["latency_cycles"] += latency
    engine["inflight"] += 1
    operation["outstanding"] += 1
    boxes.step(tma, operation, index)


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
    tile, track, tag = detail["tile"], roles + 1, detail["tag"]
    probe.record(observer, sm, slot, tile, track, detail["opcode"], tag, sid, detail["issued_at"], now)
    engine = tma.engines[sm]
    while engine["oldest"] < engine["next"] and tma.operations[sm * QUEUE + engine["oldest"] % QUEUE]["done"]:
        engine["oldest"] += 1
    if operation["is_store"]:
        groups.finish(state.rings, state.groups, thread, STORE_KIND, detail["group"])
        threads.wake_slot(state, queue, slot, TMA_WAIT, 0)
        threads.wake_thread(state, queue, thread, threads.GROUPS_FULL)
    elif detail["mask"]:
        cluster.deliver(grid, state, queue, slot, detail, tma.fills[detail["place"]])
    else:
        cluster.filled_one(grid, state, queue, slot, sid, detail["phase"], detail["expected"])
    threads.wake_sm(state, queue, sm, threads.TMA_QUEUE_FULL)
    dispatch.finished(grid, state, queue, slot)
