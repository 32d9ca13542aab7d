"""Phases of CUDA-core work on pipes that an SM's warpgroups share: FP32, MUFU, and register-file operands.

A phase takes `cycles` alone and names the cycles that each pipe would need for it at full rate. While phases run
side by side, each goes at the speed that its scarcest pipe leaves it: a pipe that is asked for more than it has
serves all in proportion. A WGMMA under way takes its share of the operand pipe. Work and speeds are whole numbers
of 1/SCALE, so runs are bit-identical anywhere. Only a start, an end, or the tensor core's turning busy or idle
changes a speed, and only then is anything computed.
"""

from typing import NamedTuple

import numpy as np

from simfa.engine import events
from simfa.engine.jit import inlined_kernel, kernel

SCALE = 1 << 16
FP32, MUFU, OPERANDS, PIPES = 0, 1, 2, 3

JOB = np.dtype([("left", np.int64), ("speed", np.int64), ("active", np.int64)])
UNIT = np.dtype([("updated_at", np.int64), ("due_at", np.int64), ("jobs", np.int64), ("tensor", np.int64)])


class Pipes(NamedTuple):
    """Phases by thread, what each asks of each pipe (1/SCALE of it), the pipes' state by SM."""

    jobs: np.ndarray
    demands: np.ndarray  # threads x PIPES
    units: np.ndarray
    tensor_share: np.ndarray  # of the operand pipe that a WGMMA under way takes, 1/SCALE
    busy: np.ndarray  # per SM and pipe: cycles at full rate served, 1/SCALE


def make_pipes(sms: int, threads: int, tensor_share: float = 0.0) -> Pipes:
    """Idle pipes; `tensor_share` of the operand pipe is gone while a WGMMA runs."""
    units = np.zeros(sms, UNIT)
    units["due_at"] = -1
    return Pipes(
        np.zeros(threads, JOB),
        np.zeros((threads, PIPES), np.int64),
        units,
        np.array([round(tensor_share * SCALE)], np.int64),
        np.zeros((sms, PIPES), np.int64),
    )


@kernel
def begin(pipes, queue, sm, first, count, thread, instruction):
    """Start a phase of `thread`, one of the `count` threads from `first` on that share the SM."""
    cycles = max(instruction["cycles"], 1)
    pipes.jobs[thread]["left"] = cycles * SCALE
    pipes.jobs[thread]["active"] = 1
    pipes.demands[thread, FP32] = instruction["fp32"] * SCALE // cycles
    pipes.demands[thread, MUFU] = instruction["mufu"] * SCALE // cycles
    pipes.demands[thread, OPERANDS] = instruction["operands"] * SCALE // cycles
    _progress(pipes, sm, first, count, queue.header[0]["now"])
    pipes.units[sm]["jobs"] += 1
    _set_speeds(pipes, queue, sm, first, count)


@kernel
def tensor_turned(pipes, queue, sm, first, count, busy):
    """The SM's tensor core has turned busy or idle."""
    unit = pipes.units[sm]
    if unit["tensor"] == busy:
        return
    if unit["jobs"] > 0:
        _progress(pipes, sm, first, count, queue.header[0]["now"])
    unit["tensor"] = busy
    if unit["jobs"] > 0:
        _set_speeds(pipes, queue, sm, first, count)


@kernel
def due(pipes, queue, sm, first, count):
    """Bring the SM's phases up to now; the caller then takes those that are over with `finished`."""
    unit = pipes.units[sm]
    now = queue.header[0]["now"]
    if unit["due_at"] == now:
        unit["due_at"] = -1
    if unit["jobs"] > 0:
        _progress(pipes, sm, first, count, now)


@kernel
def finished(pipes, sm, first, count):
    """A thread whose phase is over, taken off the pipes; or -1."""
    for thread in range(first, first + count):
        job = pipes.jobs[thread]
        if job["active"] and job["left"] <= 0:
            job["active"] = 0
            pipes.units[sm]["jobs"] -= 1
            return thread
    return -1


@kernel
def resume(pipes, queue, sm, first, count):
    """After phases have been taken off: new speeds and the next time to look."""
    if pipes.units[sm]["jobs"] > 0:
        _set_speeds(pipes, queue, sm, first, count)


@inlined_kernel
def _progress(pipes, sm, first, count, now):
    unit = pipes.units[sm]
    elapsed = now - unit["updated_at"]
    unit["updated_at"] = now
    if elapsed == 0:
        return
    for thread in range(first, first + count):
        job = pipes.jobs[thread]
        if job["active"] and job["speed"] > 0:
            done = elapsed * job["speed"]
            job["left"] -= done
            for pipe in range(PIPES):
                pipes.busy[sm, pipe] += done * pipes.demands[thread, pipe] // SCALE


@kernel
def _set_speeds(pipes, queue, sm, first, count):
    """Every phase's speed, and an event when the first of them is over."""
    unit = pipes.units[sm]
    now = queue.header[0]["now"]
    soonest = np.int64(2**62)
    for thread in range(first, first + count):
        if pipes.jobs[thread]["active"]:
            pipes.jobs[thread]["speed"] = SCALE
    for pipe in range(PIPES):
        capacity = SCALE - (pipes.tensor_share[0] if pipe == OPERANDS and unit["tensor"] else 0)
        wanted = 0
        for thread in range(first, first + count):
            if pipes.jobs[thread]["active"]:
                wanted += pipes.demands[thread, pipe]
        if wanted <= capacity:
            continue
        for thread in range(first, first + count):
            job = pipes.jobs[thread]
            if job["active"] and pipes.demands[thread, pipe] > 0:
                job["speed"] = min(job["speed"], max(capacity * SCALE // wanted, 1))
    for thread in range(first, first + count):
        job = pipes.jobs[thread]
        if job["active"]:
            soonest = min(soonest, max((job["left"] + job["speed"] - 1) // job["speed"], 0))
    if unit["due_at"] < 0 or unit["due_at"] > now + soonest:
        unit["due_at"] = now + soonest
        events.push(queue, now + soonest, events.PHASE_OVER, sm)
