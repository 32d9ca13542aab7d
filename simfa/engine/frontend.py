"""The warpgroup scheduler and the front end of an SM: one instruction per cycle (section 4.2, Algorithm 1).

Scheduling is greedy-then-oldest: the thread that issued last goes on until it stalls, sleeps or ends, then the
oldest ready one takes over; once it has stalled it has no precedence over an older thread that wakes with it.
Instructions issue in order; an unsatisfied wait stalls the thread with its program counter on it.
"""

from simfa.engine import dispatch, events, probe, tensor_core, threads, tma
from simfa.engine import opcodes as op
from simfa.engine.jit import kernel

ISSUED = 0
STALLED = 1
ASLEEP = 2


@kernel
def issue(grid, state, engines, queue, observer, code, entries, sm):
    """The SM's issue cycle: pick a ready thread, issue its next instruction."""
    now = queue.header[0]["now"]
    unit = state.sms[sm]
    unit["issue_at"] = -1
    if unit["ready"] == 0:
        return
    thread = _select(state, sm)
    config = state.config[0]
    bit = 1 << (thread - sm * config["roles"] * config["slots_per_sm"])
    unit["issued_at"] = now
    unit["greedy"] = -1
    unit["ready"] &= ~bit
    record = state.threads[thread]
    instruction = code[record["pc"]]
    outcome = _execute(grid, state, engines, queue, observer, thread, instruction, entries)
    if outcome != STALLED:
        _account_stall(state, observer, sm, thread, instruction, now)
        record["pc"] += 1
        if outcome == ASLEEP:
            events.push(queue, now + instruction["cycles"], events.WAKE, thread)
        elif record["pc"] == record["end"]:
            dispatch.thread_finished(grid, state, queue, observer, thread)
        else:
            unit["ready"] |= bit
            unit["greedy"] = thread
    if unit["ready"] != 0 and unit["issue_at"] < 0:
        unit["issue_at"] = now + 1
        events.push(queue, now + 1, events.ISSUE, sm)


@kernel
def _select(state, sm):
    """Greedy-then-oldest among the SM's ready threads."""
    config = state.config[0]
    first = sm * config["roles"] * config["slots_per_sm"]
    ready = state.sms[sm]["ready"]
    greedy = state.sms[sm]["greedy"]
    if greedy >= first and (ready >> (greedy - first)) & 1:
        return greedy
    best = -1
    for offset in range(config["roles"] * config["slots_per_sm"]):
        thread = first + offset
        if (ready >> offset) & 1 and (best < 0 or state.threads[thread]["age"] < state.threads[best]["age"]):
            best = thread
    return best


@kernel
def _account_stall(state, observer, sm, thread, instruction, now):
    """Close the stall, if any, that the instruction just issued had caused."""
    record = state.threads[thread]
    since = record["stalled_at"]
    if since < 0:
        return
    record["stalled_at"] = -1
    roles = state.config[0]["roles"]
    slot = thread // roles
    role = thread - slot * roles
    reason = instruction["opcode"]
    if reason == op.WGMMA:
        reason = threads.TENSOR_BUFFER_FULL
    elif reason in (op.TMA_TENSOR, op.TMA_STORE):
        reason = threads.TMA_QUEUE_FULL
    state.stall_cycles[role, reason] += now - since
    operand = instruction["bid"] if reason == op.BAR_WAIT else instruction["sid"]
    probe.record(observer, sm, slot, role, reason, instruction["tag"], operand, since, now)


@kernel
def woken(grid, state, queue, observer, thread):
    """A bubble is over."""
    record = state.threads[thread]
    if record["pc"] == record["end"]:
        dispatch.thread_finished(grid, state, queue, observer, thread)
    else:
        threads.make_ready(state, queue, thread)


@kernel
def _execute(grid, state, engines, queue, observer, thread, instruction, entries):
    """One instruction of one thread; returns ISSUED, STALLED or ASLEEP."""
    opcode = instruction["opcode"]
    if opcode == op.WGMMA:
        if tensor_core.issue(state, queue, observer, thread, instruction["cycles"], instruction["tag"], entries):
            return ISSUED
        return _stalled(state, queue, thread, threads.TENSOR_BUFFER_FULL, 0)
    if opcode == op.WGMMA_COMMIT or opcode == op.TMA_COMMIT:
        return _commit(state, thread, opcode)
    if opcode == op.WGMMA_WAIT or opcode == op.TMA_WAIT:
        return _group_wait(state, queue, thread, opcode, instruction["count"])
    if opcode == op.TMA_TENSOR or opcode == op.TMA_STORE:
        return _tma(grid, state, engines, queue, observer, thread, instruction)
    if opcode == op.BUBBLES:
        return _bubbles(state, queue, observer, thread, instruction)
    return _barrier(state, queue, thread, instruction)


@kernel
def _stalled(state, queue, thread, reason, operand):
    threads.stall(state, thread, reason, operand, queue.header[0]["now"])
    return STALLED


@kernel
def _commit(state, thread, opcode):
    record = state.threads[thread]
    if opcode == op.WGMMA_COMMIT:
        state.marks[thread, 0, record["wgmma_groups"] % threads.GROUPS] = record["wgmma_issued"]
        record["wgmma_groups"] += 1
    else:
        state.marks[thread, 1, record["store_groups"] % threads.GROUPS] = record["store_issued"]
        record["store_groups"] += 1
    return ISSUED


@kernel
def _group_wait(state, queue, thread, opcode, allowed):
    record = state.threads[thread]
    if opcode == op.WGMMA_WAIT:
        if threads.group_done(record["wgmma_done"], record["wgmma_groups"], state.marks[thread, 0], allowed):
            return ISSUED
        return _stalled(state, queue, thread, opcode, allowed)
    if threads.group_done(record["store_done"], record["store_groups"], state.marks[thread, 1], allowed):
        return ISSUED
    return _stalled(state, queue, thread, opcode, 0)


@kernel
def _tma(grid, state, engines, queue, observer, thread, instruction):
    if not tma.has_room(engines, threads.sm_of(state, thread)):
        return _stalled(state, queue, thread, threads.TMA_QUEUE_FULL, 0)
    slot = thread // state.config[0]["roles"]
    cta = grid.running[slot]
    if instruction["opcode"] == op.TMA_STORE:
        state.threads[thread]["store_issued"] += 1
    else:
        state.mbarriers[slot, instruction["sid"]]["loading"] += 1
    base = grid.bases[cta, instruction["map"]]
    limit = grid.row_limits[cta, instruction["map"]]
    tma.enqueue(engines, state, queue, thread, instruction, base, limit)
    return ISSUED


@kernel
def _bubbles(state, queue, observer, thread, instruction):
    roles = state.config[0]["roles"]
    slot = thread // roles
    now = queue.header[0]["now"]
    end = now + instruction["cycles"]
    sm = threads.sm_of(state, thread)
    probe.record(observer, sm, slot, thread - slot * roles, op.BUBBLES, instruction["tag"], 0, now, end)
    return ASLEEP


@kernel
def _barrier(state, queue, thread, instruction):
    """Stages (mbarriers) and named barriers."""
    opcode, sid, bid = instruction["opcode"], instruction["sid"], instruction["bid"]
    slot = thread // state.config[0]["roles"]
    if opcode == op.RELEASE_STAGE:
        state.mbarriers[slot, sid]["released"] += 1
        threads.wake_slot(state, queue, slot, op.ACQUIRE_STAGE, sid)
        return ISSUED
    if opcode == op.BAR_ARRIVE:
        state.named[slot, bid] += 1
        threads.wake_slot(state, queue, slot, op.BAR_WAIT, bid)
        return ISSUED
    if opcode == op.BAR_WAIT:
        if state.named[slot, bid] < instruction["count"]:
            return _stalled(state, queue, thread, opcode, bid)
        state.named[slot, bid] -= instruction["count"]
        return ISSUED
    barrier = state.mbarriers[slot, sid]
    passed = state.passed[thread, sid]
    satisfied = barrier["filled"] > passed
    if opcode == op.ACQUIRE_STAGE:
        satisfied = barrier["released"] >= passed * state.config[0]["consumers"]
    if not satisfied:
        return _stalled(state, queue, thread, opcode, sid)
    state.passed[thread, sid] = passed + 1
    return ISSUED
