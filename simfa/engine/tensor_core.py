"""Tensor cores: one in-order WGMMA pipe per SM behind an issue buffer (section 4.2).

A WGMMA occupies the pipe for its whole time (N/2 cycles for m64nNk16), so it completes when the next may start.
It leaves the issue buffer on completion; a full buffer stalls the issuing warpgroup.
"""

from simfa.engine import events, probe, threads
from simfa.engine.jit import kernel
from simfa.engine.opcodes import WGMMA, WGMMA_WAIT


@kernel
def issue(state, queue, observer, thread, cycles, tag, entries):
    """Put one WGMMA into the buffer; False if the buffer of `entries` is full."""
    sm = threads.sm_of(state, thread)
    unit = state.sms[sm]
    if unit["buffer"] >= entries:
        return False
    now = queue.header[0]["now"]
    start = max(now, unit["tensor_free"])
    unit["buffer"] += 1
    unit["tensor_free"] = start + cycles
    unit["tensor_busy"] += cycles
    roles = state.config[0]["roles"]
    slot = thread // roles
    probe.record(observer, sm, slot, roles, WGMMA, tag, thread - slot * roles, start, start + cycles)
    state.threads[thread]["wgmma_issued"] += 1
    events.push(queue, start + cycles, events.TENSOR_DONE, thread)
    return True


@kernel
def done(state, queue, thread):
    """A WGMMA of `thread` has completed: wake its waits, and whoever waits for room in the buffer."""
    record = state.threads[thread]
    record["wgmma_done"] += 1
    sm = threads.sm_of(state, thread)
    state.sms[sm]["buffer"] -= 1
    if record["waits_for"] == WGMMA_WAIT:
        allowed = record["operand"]
        if threads.group_done(record["wgmma_done"], record["wgmma_groups"], state.marks[thread, 0], allowed):
            record["waits_for"] = threads.NOTHING
            threads.make_ready(state, queue, thread)
    threads.wake_sm(state, queue, sm, threads.TENSOR_BUFFER_FULL)
