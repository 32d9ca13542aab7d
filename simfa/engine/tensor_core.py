"""Tensor cores: one in-order WGMMA pipe per SM behind an issue buffer (section 4.2).

A WGMMA occupies the pipe for its whole time (N/2 cycles for m64nNk16), so it completes when the next may start.
It leaves the issue buffer on completion; a full buffer stalls the issuing warpgroup.
"""

from simfa.engine import events, groups, pipes, probe, threads
from simfa.engine.groups import GROUPS, WGMMA_KIND
from simfa.engine.jit import kernel
from simfa.engine.opcodes import WGMMA, WGMMA_WAIT


@kernel
def issue(state, queue, observer, thread, instruction, entries):
    """Put one WGMMA into the buffer of `entries`; returns what it must wait for, or NOTHING."""
    sm = threads.sm_of(state, thread)
    unit = state.sms[sm]
    if unit["buffer"] >= entries:
        return threads.TENSOR_BUFFER_FULL
    opened = state.rings[thread, WGMMA_KIND]["next"]
    place = groups.join(state.rings, state.groups, thread, WGMMA_KIND, instruction["gid"])
    if place < 0:
        return threads.GROUPS_FULL
    now = queue.header[0]["now"]
    start = max(now, unit["tensor_free"])
    if state.rings[thread, WGMMA_KIND]["next"] != opened:  # the first of its group
        start += state.config[0]["gemm_gap"]
    end = start + instruction["cycles"]
    shares_operands = state.pipes.units[sm, pipes.TENSOR_SHARE] > 0
    if shares_operands and unit["tensor_free"] <= now:
        _turn(state, queue, sm, 1)
    unit["buffer"] += 1
    unit["tensor_free"] = end
    unit["tensor_busy"] += instruction["cycles"]
    roles = state.config[0]["roles"]
    slot = thread // roles
    tile = state.threads[thread]["tile"]
    probe.record(observer, sm, slot, tile, roles, WGMMA, instruction["tag"], thread - slot * roles, start, end)
    events.push(queue, end + state.config[0]["wgmma_tail"], events.TENSOR_DONE, thread * GROUPS + place)
    if shares_operands:
        events.push(queue, end, events.TENSOR_IDLE, sm)
    return threads.NOTHING


@kernel
def idle(state, queue, sm):
    """A WGMMA has left the pipe; with nothing behind it the tensor core turns idle."""
    if state.sms[sm]["tensor_free"] <= queue.header[0]["now"]:
        _turn(state, queue, sm, 0)


@kernel
def _turn(state, queue, sm, busy):
    config = state.config[0]
    count = config["roles"] * config["slots_per_sm"]
    pipes.tensor_turned(state.pipes, queue, sm, sm * count, count, busy)


@kernel
def done(state, queue, thread, place):
    """A WGMMA of `thread` has completed: wake its waits, and whoever waits for room in the buffer."""
    record = state.threads[thread]
    groups.finish(state.rings, state.groups, thread, WGMMA_KIND, place)
    sm = threads.sm_of(state, thread)
    state.sms[sm]["buffer"] -= 1
    if record["waits_for"] == WGMMA_WAIT:
        left = groups.outstanding(state.rings, state.groups, thread, WGMMA_KIND, record["gid"])
        if left <= record["operand"]:
            record["waits_for"] = threads.NOTHING
            threads.make_ready(state, queue, thread)
    threads.wake_thread(state, queue, thread, threads.GROUPS_FULL)
    threads.wake_sm(state, queue, sm, threads.TENSOR_BUFFER_FULL)
