"""Phases of CUDA-core work on pipes that an SM's warpgroups share: FP32, MUFU, and register-file operands.

A phase takes `cycles` alone and names the cycles that each pipe would need for it at full rate. While phases run
side by side, each goes at the speed that its scarcest pipe leaves it: a pipe that is asked for more than it has
serves all in proportion. A WGMMA under way takes its share of the operand pipe. Work and speeds are whole numbers
of 1/SCALE, so runs are bit-identical anywhere. Only a start, an end, or the tensor core's turning busy or idle
changes a speed, and only then is anything computed.

Both arrays are plain columns rather than records, so that a pipe can be a column number.
"""

from typing import NamedTuple

import numpy as np

from simfa.engine import events
from simfa.engine.jit import inlined_kernel, kernel

SCALE = 1 << 16
FP32, MUFU, OPERANDS, PIPES = 0, 1, 2, 3
LEFT, SPEED, ACTIVE, DEMAND = 0, 1, 2, 3  # columns of a phase; from DEMAND on one per pipe: its share of the pipe
UPDATED, DEPTH, JOBS, TENSOR_BUSY, TENSOR_SHARE, BUSY = 0, 1, 2, 3, 4, 5  # of an SM; from BUSY on one per pipe
PENDING = BUSY + PIPES  # from here on DEPTH cycles of pending PHASE_OVER events, the earliest last


class Pipes(NamedTuple):
    """Phases by thread and pipes by SM, int64 columns as above.

    A busy column counts cycles at full rate served, and TENSOR_SHARE is what a WGMMA under way takes of the operand
    pipe, both in 1/SCALE.

    An event is pushed only where it is earlier than those pending; one that comes too early looks again. So an SM
    has few of them pending, and those left when its last phase ends count as superseded.
    """

    phases: np.ndarray
    units: np.ndarray


def make_pipes(sms: int, threads: int, tensor_share: float = 0.0) -> Pipes:
    """Idle pipes; `tensor_share` of the operand pipe is gone while a WGMMA runs."""
    units = np.zeros((sms, PENDING + 2 * (threads // max(sms, 1)) + 2), np.int64)
    units[:, TENSOR_SHARE] = round(tensor_share * SCALE)
    return Pipes(np.zeros((threads, DEMAND + PIPES), np.int64), units)


@kernel
def begin(pipes, queue, sm, first, count, thread, instruction):
    """Start a phase of `thread`, one of the `count` threads from `first` on that share the SM."""
    cycles = max(instruction["cycles"], 1)
    _progress(pipes, sm, first, count, queue.header[0]["now"])
    phase = pipes.phases[thread]
    phase[LEFT] = cycles * SCALE
    phase[ACTIVE] = 1
    phase[DEMAND + FP32] = instruction["fp32"] * SCALE // cycles
    phase[DEMAND + MUFU] = instruction["mufu"] * SCALE // cycles
    phase[DEMAND + OPERANDS] = instruction["operands"] * SCALE // cycles
    if pipes.units[sm, JOBS] == 0:
        queue.header[0]["superseded"] -= pipes.units[sm, DEPTH]
    pipes.units[sm, JOBS] += 1
    _set_speeds(pipes, queue, sm, first, count)


@kernel
def tensor_turned(pipes, queue, sm, first, count, busy):
    """The SM's tensor core has turned busy or idle."""
    unit = pipes.units[sm]
    if unit[TENSOR_BUSY] == busy:
        return
    if unit[JOBS] > 0:
        _progress(pipes, sm, first, count, queue.header[0]["now"])
    unit[TENSOR_BUSY] = busy
    if unit[JOBS] > 0:
        _set_speeds(pipes, queue, sm, first, count)


@kernel
def due(pipes, queue, sm, first, count):
    """Bring the SM's phases up to now; the caller then takes those that are over with `finished`."""
    unit = pipes.units[sm]
    unit[DEPTH] -= 1
    if unit[JOBS] > 0:
        _progress(pipes, sm, first, count, queue.header[0]["now"])
    else:
        queue.header[0]["superseded"] -= unit[DEPTH] + 1


@kernel
def finished(pipes, sm, first, count):
    """A thread whose phase is over, taken off the pipes; or -1."""
    for thread in range(first, first + count):
        phase = pipes.phases[thread]
        if phase[ACTIVE] and phase[LEFT] <= 0:
            phase[ACTIVE] = 0
            pipes.units[sm, JOBS] -= 1
            return thread
    return -1


@kernel
def resume(pipes, queue, sm, first, count):
    """After phases have been taken off: new speeds and the next time to look."""
    if pipes.units[sm, JOBS] > 0:
        _set_speeds(pipes, queue, sm, first, count)
    else:
        queue.header[0]["superseded"] += pipes.units[sm, DEPTH]


@inlined_kernel
def _progress(pipes, sm, first, count, now):
    unit = pipes.units[sm]
    elapsed = now - unit[UPDATED]
    unit[UPDATED] = now
    if elapsed == 0:
        return
    for thread in range(first, first + count):
        phase = pipes.phases[thread]
        if phase[ACTIVE]:
            done = elapsed * phase[SPEED]
            phase[LEFT] -= done
            for pipe in range(PIPES):
                unit[BUSY + pipe] += done * phase[DEMAND + pipe] // SCALE


@kernel
def _set_speeds(pipes, queue, sm, first, count):
    """Every phase's speed, and an event when the first of them is over."""
    unit = pipes.units[sm]
    now = queue.header[0]["now"]
    for thread in range(first, first + count):
        pipes.phases[thread, SPEED] = SCALE
    for pipe in range(PIPES):
        capacity = SCALE - (unit[TENSOR_SHARE] if pipe == OPERANDS and unit[TENSOR_BUSY] else 0)
        _share(pipes, first, count, DEMAND + pipe, capacity)
    soonest = np.int64(2**62)
    for thread in range(first, first + count):
        phase = pipes.phases[thread]
        if phase[ACTIVE]:
            soonest = min(soonest, max((phase[LEFT] + phase[SPEED] - 1) // phase[SPEED], 0))
    _look_at(queue, unit, sm, now + soonest)


@inlined_kernel
def _look_at(queue, unit, sm, time):
    """Have an event at `time` or before."""
    depth = unit[DEPTH]
    if depth > 0 and unit[PENDING + depth - 1] <= time:
        return
    if PENDING + depth == unit.shape[0]:
        queue.header[0]["exhausted"] = 1
        return
    unit[PENDING + depth] = time
    unit[DEPTH] += 1
    events.push(queue, time, events.PHASE_OVER, sm)


@inlined_kernel
def _share(pipes, first, count, column, capacity):
    """Slow down whoever uses a pipe that is asked for more than its capacity."""
    wanted = 0
    for thread in range(first, first + count):
        if pipes.phases[thread, ACTIVE]:
            wanted += pipes.phases[thread, column]
    if wanted <= capacity:
        return
    speed = max(capacity * SCALE // wanted, 1)
    for thread in range(first, first + count):
        phase = pipes.phases[thread]
        if phase[ACTIVE] and phase[column] > 0:
            phase[SPEED] = min(phase[SPEED], speed)
