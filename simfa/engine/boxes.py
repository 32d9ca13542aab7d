"""What one TMA operation requests: the rows of a box of a tensor map, unit by unit (section 4.3).

A box is walked as rows (dimension 0, contiguous), then its other dimensions from the smallest stride to the
largest. What lies outside the tensor is not fetched. A unit is one request: a line where lines are de-duplicated,
else an element or a chunk of `request_bytes`, each of which asks for the line it lies in.

De-duplicated, a line goes out once. Where each stride spans what is inside it the walk only rises, so a line
shared by rows is the last one requested; where they overlap, every line is compared with all rows before it.
"""

import numpy as np

from simfa.engine.jit import inlined_kernel, kernel
from simfa.engine.opcodes import RANKS, STEP_AXIS

OUTER = RANKS - 2  # dimensions of a box beyond rows and what makes rows
RISING, OVERLAPPING, REPEATED = range(3)  # how rows share lines: with the row before, with any, or not merged

TENSOR_MAP = np.dtype(
    [("base", np.int64), ("element_bytes", np.int64), ("element_shift", np.int64), ("overlaps", np.int64)]
)
DIMENSION = np.dtype([("size", np.int64), ("stride_bytes", np.int64), ("box", np.int64), ("walk", np.int64)])
OUTER_DIMENSION = np.dtype([("count", np.int64), ("stride_bytes", np.int64), ("index", np.int64)])


@kernel
def begin_bulk(tma, index, address, length):
    """One row of `length` bytes, in lines: a bulk copy has no tensor map whose elements could repeat them."""
    _contiguous(tma, index, address, length)
    _begin(tma, index, tma.config[0]["line_shift"], RISING)


@kernel
def begin_box(tma, index, tensor_map, start, origin, moved):
    """The part inside its tensor of the box at `start` within the CTA's `origin`, `moved` on in STEP_AXIS."""
    config = tma.config[0]
    _box(tma, index, tensor_map, start, origin, moved)
    if config["deduplicate"]:
        _begin(tma, index, config["line_shift"], tma.maps[tensor_map]["overlaps"])
    elif config["request_shift"] < 0:
        _begin(tma, index, tma.maps[tensor_map]["element_shift"], REPEATED)
    else:
        _begin(tma, index, config["request_shift"], REPEATED)


@kernel
def _begin(tma, index, unit_shift, sharing):
    operation = tma.operations[index]
    operation["unit_shift"] = unit_shift
    operation["sharing"] = sharing
    operation["address"] = tma.details[index]["run"] = tma.details[index]["first"]
    operation["unit"] = operation["address"] >> unit_shift
    _set_last_unit(operation)


@kernel
def _contiguous(tma, index, address, length):
    operation = tma.operations[index]
    tma.details[index]["first"] = address
    tma.details[index]["rows"] = operation["rows_left"] = 1 if length > 0 else 0
    operation["row_bytes"] = length
    operation["row_stride_bytes"] = 0
    operation["runs_left"] = 0


@kernel
def _box(tma, index, tensor_map, start, origin, moved):
    """The part of a box inside its tensor as rows, runs of rows, and up to OUTER dimensions of runs."""
    operation, detail = tma.operations[index], tma.details[index]
    dimensions = tma.dimensions[tensor_map]
    layout = tma.maps[tensor_map]
    low, inside = _clip(dimensions[0], start[0] + origin[0])
    _contiguous(tma, index, layout["base"] + low * layout["element_bytes"], inside * layout["element_bytes"])
    for place in range(OUTER):
        tma.outer[index, place]["count"] = tma.outer[index, place]["index"] = 0
    rows = 1 if inside > 0 else 0
    runs = 1
    outer = 0
    for place in range(1, RANKS):
        axis = dimensions[place]["walk"]
        first = start[axis] + origin[axis] + (moved if axis == STEP_AXIS else 0)
        low, inside = _clip(dimensions[axis], first)
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
def _set_last_unit(operation):
    end = operation["address"] + operation["row_bytes"] - 1
    operation["last_unit"] = end >> operation["unit_shift"]


@inlined_kernel
def step(tma, operation, index):
    """Go on to the next unit to request; `rows_left` is 0 after the last."""
    if operation["unit"] < operation["last_unit"]:
        operation["unit"] += 1
    else:
        _next_row(tma, operation, index)
    if operation["sharing"] == OVERLAPPING:
        _skip_requested(tma, operation, index)


@inlined_kernel
def _next_row(tma, operation, index):
    """Go to the next row that holds a unit not yet requested: a line shared by rows is requested once."""
    unit = operation["unit"]
    while True:
        operation["rows_left"] -= 1
        if operation["rows_left"] > 0:
            operation["address"] += operation["row_stride_bytes"]
        elif operation["runs_left"] > 0:
            _next_run(tma, operation, index)
        else:
            return
        first = operation["address"] >> operation["unit_shift"]
        _set_last_unit(operation)
        operation["unit"] = max(first, unit + 1) if operation["sharing"] == RISING else first
        if operation["unit"] <= operation["last_unit"]:
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
        if operation["unit"] < operation["last_unit"]:
            operation["unit"] += 1
        else:
            _next_row(tma, operation, index)


@kernel
def _in_earlier_row(tma, operation, index):
    """Whether a row before the current one holds the current line."""
    detail = tma.details[index]
    current = detail["rows"] - operation["rows_left"]
    scale = detail["rows"]
    for place in range(OUTER):
        current += tma.outer[index, place]["index"] * scale
        scale *= max(tma.outer[index, place]["count"], 1)
    shift = operation["unit_shift"]
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
        if address >> shift <= operation["unit"] <= last:
            return True
    return False
