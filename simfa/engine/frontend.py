"""The warpgroup scheduler and the front end of an SM (section 4.2, Algorithm 1).

Greedy-then-oldest: the thread that issued last goes on until it stalls, sleeps or ends, then the oldest ready one
takes over; once it has stalled it has no precedence over an older thread that wakes with it. Loose round robin:
the next ready thread after the one that issued last. Instructions issue in order, `issue_width` of them per cycle
and SM but at most one per thread; an unsatisfied wait takes an issue slot, stalls the thread and leaves its program
counter on the wait.
"""

from simfa.engine import cluster, dispatch, events, groups, pipes, probe, tensor_core, threads, tma
from simfa.engine import opcodes as op
from simfa.engine.groups import STORE_KIND, WGMMA_KIND
from simfa.engine.jit import inlined_kernel, kernel

ISSUED = 0
STALLED = 1
ASLEEP = 2
IN_PHASE = 3


@inlined_kernel
def issue(grid, state, engines, queue, observer, code, entries, sm):
    """The SM's issue cycle: pick ready threads, issue the next instruction of each."""
    now = queue.header[0]["now"]
    unit = state.sms[sm]
    width = state.config[0]["issue_width"]
    # Of several instructions one may wake a thread and a later one end in the next cycle: that cycle's issue comes
    # after both, so it is scheduled when all have issued. So it is for one that does both (`_issue_one`).
    unit["issue_at"] = now if width > 1 else -1
    held = 0  # threads that have had this cycle's turn
    for _ in range(width):
        if unit["ready"] & ~held == 0:
            break
        unit["issued_at"] = now
        thread = _select(state, sm, unit["ready"] & ~held)
        held |= 1 << (thread - sm * state.config[0]["roles"] * state.config[0]["slots_per_sm"])
        _issue_one(grid, state, engines, queue, observer, code, entries, sm, thread)
    if unit["issue_at"] == now:
        unit["issue_at"] = -1
    if unit["ready"] != 0 and unit["issue_at"] < 0:
        unit["issue_at"] = now + 1
        events.push(queue, now + 1, events.ISSUE, sm)


@inlined_kernel
def _issue_one(grid, state, engines, queue, observer, code, entries, sm, thread):
    now = queue.header[0]["now"]
    unit = state.sms[sm]
    config = state.config[0]
    bit = 1 << (thread - sm * config["roles"] * config["slots_per_sm"])
    unit["greedy"] = -1
    unit["last"] = thread
    unit["ready"] &= ~bit
    record = state.threads[thread]
    instruction = code[record["pc"]]
    if instruction["cost"] == 1:
        unit["issue_at"] = now
    outcome = _execute(grid, state, engines, queue, observer, thread, instruction, entries)
    if outcome == STALLED:
        return
    _account_stall(state, observer, sm, thread, instruction, now)
    if instruction["advance"] > 0:
        state.walk[thread, threads.COUNTER + instruction["counter"]] += instruction["advance"]
    record["pc"] += 1
    if record["pc"] < record["end"] and code[record["pc"]]["opcode"] >= op.FIRST_CONTROL:
        _steer(grid, state, code, thread)
    cost = instruction["cost"]
    if outcome == ASLEEP:
        events.push(queue, now + instruction["cycles"], events.WAKE, thread)
    elif outcome == IN_PHASE:
        return
    elif cost > 0:
        events.push(queue, now + cost, events.WAKE, thread)
    elif record["pc"] == record["end"]:
        dispatch.program_ended(grid, state, queue, thread)
    else:
        unit["ready"] |= bit
        unit["greedy"] = thread


@kernel
def _steer(grid, state, code, thread):
    """Go on to where loops lead, which takes no time: to an instruction, or to the program's end."""
    record = state.threads[thread]
    turns = state.walk[thread]
    pc = record["pc"]
    while pc < record["end"]:
        instruction = code[pc]
        number = threads.TURNS + instruction["bid"]
        if instruction["opcode"] == op.LOOP:
            count = instruction["count"]
            turns[number] = count if count > 0 else dispatch.turns_of(grid, record["tile"], instruction["bid"])
            pc += 1 if turns[number] > 0 else instruction["target"]
        elif instruction["opcode"] == op.END_LOOP:
            turns[number] -= 1
            pc += instruction["target"] if turns[number] > 0 else 1
        else:
            break
    record["pc"] = pc


@kernel
def _select(state, sm, ready):
    """The thread among `ready` whose turn it is."""
    config = state.config[0]
    count = config["roles"] * config["slots_per_sm"]
    first = sm * count
    if config["scheduler"] == threads.LOOSE_ROUND_ROBIN:
        after = state.sms[sm]["last"] - first + 1
        for step in range(count):
            offset = (after + step) % count
            if (ready >> offset) & 1:
                return first + offset
    greedy = state.sms[sm]["greedy"]
    if greedy >= first and (ready >> (greedy - first)) & 1:
        return greedy
    best = -1
    for offset in range(count):
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
    elif reason in (op.TMA_TENSOR, op.TMA_STORE, op.TMA_BULK, op.TMA_BULK_STORE):
        reason = threads.TMA_QUEUE_FULL
    state.stall_cycles[role, reason] += now - since
    probe.stalled(observer, record["tile"], role, now - since)
    operand = instruction["bid"] if reason == op.BAR_WAIT else _stage(state, thread, instruction)
    probe.record(observer, sm, slot, record["tile"], role, reason, instruction["tag"], operand, since, now)


@kernel
def woken(grid, state, queue, thread):
    """A bubble is over."""
    record = state.threads[thread]
    if record["pc"] == record["end"]:
        dispatch.program_ended(grid, state, queue, thread)
    else:
        threads.make_ready(state, queue, thread)


@kernel
def phase_over(grid, state, queue, observer, sm):
    """A phase of the SM's shared pipes may be over: its threads go on."""
    config = state.config[0]
    count = config["roles"] * config["slots_per_sm"]
    first = sm * count
    pipes.due(state.pipes, queue, sm, first, count)
    while True:
        thread = pipes.finished(state.pipes, sm, first, count)
        if thread < 0:
            break
        record = state.threads[thread]
        slot = thread // config["roles"]
        role = thread - slot * config["roles"]
        now = queue.header[0]["now"]
        probe.record(observer, sm, slot, record["tile"], role, op.PHASE, record["operand"], 0, record["gid"], now)
        woken(grid, state, queue, thread)
    pipes.resume(state.pipes, queue, sm, first, count)


@kernel
def _execute(grid, state, engines, queue, observer, thread, instruction, entries):
    """One instruction of one thread; returns ISSUED, STALLED or ASLEEP."""
    opcode = instruction["opcode"]
    if opcode == op.WGMMA:
        lacking = tensor_core.issue(state, queue, observer, thread, instruction, entries)
        if lacking != threads.NOTHING:
            return _stalled(state, queue, thread, lacking, 0)
        grid.unfinished[thread // state.config[0]["roles"]] += 1
        return ISSUED
    if opcode == op.WGMMA_COMMIT or opcode == op.TMA_COMMIT:
        kind = WGMMA_KIND if opcode == op.WGMMA_COMMIT else STORE_KIND
        if groups.commit(state.rings, state.groups, thread, kind, instruction["gid"]):
            return ISSUED
        return _stalled(state, queue, thread, threads.GROUPS_FULL, 0)
    if opcode == op.WGMMA_WAIT or opcode == op.TMA_WAIT:
        return _group_wait(state, queue, thread, instruction)
    if opcode == op.PHASE:
        return _phase(state, queue, thread, instruction)
    if opcode == op.BUBBLES:
        return _bubbles(state, queue, observer, thread, instruction)
    if opcode in (op.TMA_TENSOR, op.TMA_STORE, op.TMA_BULK, op.TMA_BULK_STORE):
        return _tma(grid, state, engines, queue, thread, instruction)
    return _barrier(grid, state, queue, thread, instruction)


@kernel
def _stalled(state, queue, thread, reason, operand):
    threads.stall(state, thread, reason, operand, queue.header[0]["now"])
    return STALLED


@kernel
def _group_wait(state, queue, thread, instruction):
    """Wait until at most `count` committed groups with ids up to `gid` are outstanding."""
    opcode = instruction["opcode"]
    kind = WGMMA_KIND if opcode == op.WGMMA_WAIT else STORE_KIND
    left = groups.outstanding(state.rings, state.groups, thread, kind, instruction["gid"])
    if left <= instruction["count"]:
        return ISSUED
    state.threads[thread]["gid"] = instruction["gid"]
    return _stalled(state, queue, thread, opcode, instruction["count"] if kind == WGMMA_KIND else 0)


@inlined_kernel
def _stage(state, thread, instruction):
    """The stage that an instruction means: its own, or the one at which its counter stands in a ring."""
    if instruction["stages"] == 0:
        return instruction["sid"]
    return instruction["sid"] + state.walk[thread, threads.COUNTER + instruction["counter"]] % instruction["stages"]


@kernel
def _phase(state, queue, thread, instruction):
    record = state.threads[thread]
    config = state.config[0]
    count = config["roles"] * config["slots_per_sm"]
    sm = thread // count
    record["gid"] = queue.header[0]["now"]  # for the timeline: a thread in a phase waits for no group
    record["operand"] = instruction["tag"]
    pipes.begin(state.pipes, queue, sm, sm * count, count, thread, instruction)
    return IN_PHASE


@kernel
def _tma(grid, state, engines, queue, thread, instruction):
    if not tma.has_room(engines, threads.sm_of(state, thread)):
        return _stalled(state, queue, thread, threads.TMA_QUEUE_FULL, 0)
    slot = thread // state.config[0]["roles"]
    opcode, sid = instruction["opcode"], _stage(state, thread, instruction)
    phase = instruction["phase"]
    if phase == op.DYNAMIC:
        phase = max(state.stages[thread, sid]["acquired"] - 1, 0)
    place = 0
    if opcode == op.TMA_STORE or opcode == op.TMA_BULK_STORE:
        place = groups.join(state.rings, state.groups, thread, STORE_KIND, instruction["gid"])
        if place < 0:
            return _stalled(state, queue, thread, threads.GROUPS_FULL, 0)
    elif instruction["multicast"]:
        if not cluster.announce(grid, state, slot, sid, phase, instruction["multicast"]):
            return _stalled(state, queue, thread, op.MB_WAIT, threads.STAGES + sid)
    else:
        if phase >= state.mbarriers[slot, sid]["filled"] + threads.PHASES:
            return _stalled(state, queue, thread, op.MB_WAIT, sid)
        state.mbarriers[slot, sid]["loading"] += 1
    grid.unfinished[slot] += 1
    number = instruction["counter"]
    walk = state.walk[thread]
    rows = (walk[threads.COUNTER + number] - walk[threads.BASE + number]) * instruction["step"]
    origins = grid.origins[state.threads[thread]["tile"]]
    tma.enqueue(engines, state, queue, thread, instruction, (place, sid, phase, rows), origins)
    return ISSUED


@kernel
def _bubbles(state, queue, observer, thread, instruction):
    roles = state.config[0]["roles"]
    slot = thread // roles
    now = queue.header[0]["now"]
    end = now + instruction["cycles"]
    sm = threads.sm_of(state, thread)
    tile = state.threads[thread]["tile"]
    probe.record(observer, sm, slot, tile, thread - slot * roles, op.BUBBLES, instruction["tag"], 0, now, end)
    return ASLEEP


@kernel
def _barrier(grid, state, queue, thread, instruction):
    """Stages (mbarriers) and named barriers."""
    opcode, sid, bid = instruction["opcode"], _stage(state, thread, instruction), instruction["bid"]
    slot = thread // state.config[0]["roles"]
    if opcode == op.RELEASE_STAGE:
        cluster.release(grid, state, queue, slot, sid)
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
    return _stage_wait(state, queue, thread, slot, opcode, sid)


@kernel
def _stage_wait(state, queue, thread, slot, opcode, sid):
    """The n-th MB_WAIT of a thread needs n fillings; its n-th ACQUIRE_STAGE n - 1 releases by every consumer."""
    barrier = state.mbarriers[slot, sid]
    use = state.stages[thread, sid]
    if opcode == op.ACQUIRE_STAGE:
        before = use["acquired"]
        if barrier["released"] < before * barrier["consumers"]:
            return _stalled(state, queue, thread, opcode, sid)
        use["acquired"] = before + 1
        return ISSUED
    if barrier["filled"] <= use["passed"]:
        return _stalled(state, queue, thread, opcode, sid)
    use["passed"] += 1
    return ISSUED
