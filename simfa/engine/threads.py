"""Physical threads (warpgroups resident on an SM), their barriers, and how a stalled one is woken.

A thread that meets an unsatisfied wait keeps its program counter on it and is registered, in its own record, as
waiting for that instruction's operand. Whoever may satisfy it wakes the thread, which issues the wait again.
Thread t of CTA slot c is number c * roles + t; slot c of an SM is number sm * slots_per_sm + slot.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from simfa.engine import events, groups, pipes
from simfa.engine.jit import inlined_kernel, kernel
from simfa.engine.opcodes import COUNTERS, LOOPS, MB_WAIT, OPCODES

STAGES = 32  # mbarriers of one CTA
NAMED_BARRIERS = 16  # as on hardware
PHASES = 4  # fillings of one stage that can have loads under way; a power of two
NOTHING = -1
TMA_QUEUE_FULL = OPCODES  # wait reasons beyond the wait instructions themselves
TENSOR_BUFFER_FULL = OPCODES + 1
GROUPS_FULL = OPCODES + 2
REASONS = OPCODES + 3
SCHEDULERS = ("gto", "lrr")
GREEDY_THEN_OLDEST, LOOSE_ROUND_ROBIN = 0, 1

CONFIG = np.dtype(
    [
        ("roles", np.int64),
        ("slots_per_sm", np.int64),
        ("sms", np.int64),
        ("scheduler", np.int64),
        ("issue_width", np.int64),  # instructions that an SM issues per cycle, at most one per thread
        ("gemm_gap", np.int64),  # cycles that the tensor core idles before the first WGMMA of a group
        ("wgmma_tail", np.int64),  # from the pipe's end of a WGMMA to its completion being seen
    ]
)
THREAD = np.dtype(
    [
        ("pc", np.int64),
        ("end", np.int64),
        ("waits_for", np.int64),  # opcode or reason, or NOTHING
        ("operand", np.int64),  # sid, bid or number of groups it waits for
        ("gid", np.int64),  # of a group wait
        ("stalled_at", np.int64),
        ("age", np.int64),  # dispatch order, for greedy-then-oldest
        ("tile", np.int64),  # the CTA, or the tile of a persistent one, that the thread works on
    ]
)
STAGE_USE = np.dtype([("passed", np.int64), ("acquired", np.int64)])  # MB_WAITs and ACQUIRE_STAGEs passed
COUNTER, BASE, TURNS = 0, COUNTERS, 2 * COUNTERS  # first columns of `Threads.walk`
WALK_COLUMNS = 2 * COUNTERS + LOOPS
MBARRIER = np.dtype(
    [
        ("filled", np.int64),  # phases complete
        ("loading", np.int64),  # loads under way
        ("released", np.int64),
        ("consumers", np.int64),  # threads of the CTA that release the stage
    ]
)
SM = np.dtype(
    [
        ("ready", np.int64),  # bit per thread of the SM
        ("issue_at", np.int64),  # cycle of the pending ISSUE event, or -1
        ("issued_at", np.int64),  # last cycle in which an instruction issued
        ("greedy", np.int64),  # the thread that issued last and can go on, or -1
        ("last", np.int64),  # the thread that issued last, for round robin
        ("buffer", np.int64),  # WGMMAs in the tensor core's issue buffer
        ("unfinished", np.int64),
        ("tensor_free", np.int64),
        ("tensor_busy", np.int64),
    ]
)


class Threads(NamedTuple):
    """All resident warpgroups and the barriers between them."""

    config: np.ndarray
    threads: np.ndarray
    stages: np.ndarray  # per thread and stage: STAGE_USE
    walk: np.ndarray  # per thread: its counters, what they were when it began its tile, turns left of its loops
    pipes: pipes.Pipes
    rings: np.ndarray  # per thread and kind of group: groups.RING
    groups: np.ndarray  # per thread and kind: groups.GROUP
    mbarriers: np.ndarray  # per CTA slot and stage
    phases: np.ndarray  # per CTA slot, stage and phase: loads done; -1 when all are
    named: np.ndarray  # per CTA slot and named barrier: arrivals not yet consumed
    sms: np.ndarray
    stall_cycles: np.ndarray  # per role and reason


def make_threads(
    sms: int,
    slots_per_sm: int,
    roles: int,
    scheduler: str = "gto",
    issue_width: int = 1,
    gemm_gap: int = 0,
    wgmma_tail: int = 0,
    tensor_operand_share: float = 0.0,
    primed: Mapping[int, int] | None = None,
) -> Threads:
    """Empty slots for up to `roles` warpgroups per CTA; times in cycles.

    `primed` are arrivals at named barriers before a persistent CTA begins.
    """
    slots = sms * slots_per_sm
    config = np.zeros(1, CONFIG)
    config[0] = (roles, slots_per_sm, sms, SCHEDULERS.index(scheduler), issue_width, gemm_gap, wgmma_tail)
    threads = np.zeros(slots * roles, THREAD)
    threads["waits_for"] = NOTHING
    state = np.zeros(sms, SM)
    named = np.zeros((slots, NAMED_BARRIERS), np.int64)
    for barrier, arrivals in (primed or {}).items():
        named[:, barrier] = arrivals
    state["issue_at"] = state["issued_at"] = state["greedy"] = state["last"] = -1
    return Threads(
        config,
        threads,
        np.zeros((slots * roles, STAGES), STAGE_USE),
        np.zeros((slots * roles, WALK_COLUMNS), np.int64),
        pipes.make_pipes(sms, slots * roles, tensor_operand_share),
        np.zeros((slots * roles, 2), groups.RING),
        np.zeros((slots * roles, 2, groups.GROUPS), groups.GROUP),
        np.zeros((slots, STAGES), MBARRIER),
        np.zeros((slots, STAGES, PHASES), np.int64),
        named,
        state,
        np.zeros((roles, REASONS), np.int64),
    )


@kernel
def sm_of(state, thread):
    """The SM on which a thread is resident."""
    config = state.config[0]
    return thread // (config["roles"] * config["slots_per_sm"])


@kernel
def make_ready(state, queue, thread):
    """Let the scheduler consider the thread, from this cycle or the SM's next free issue cycle on."""
    config = state.config[0]
    per_sm = config["roles"] * config["slots_per_sm"]
    sm = thread // per_sm
    unit = state.sms[sm]
    unit["ready"] |= 1 << (thread - sm * per_sm)
    if unit["issue_at"] < 0:
        unit["issue_at"] = max(queue.header[0]["now"], unit["issued_at"] + 1)
        events.push(queue, unit["issue_at"], events.ISSUE, sm)


@kernel
def stall(state, thread, reason, operand, now):
    """Take a thread out of the scheduler's sight until `reason` with `operand` is satisfied."""
    record = state.threads[thread]
    if record["stalled_at"] < 0:
        record["stalled_at"] = now
    record["waits_for"] = reason
    record["operand"] = operand


@kernel
def wake_slot(state, queue, slot, reason, operand):
    """Wake every thread of a CTA slot that waits for `reason` with `operand`."""
    roles = state.config[0]["roles"]
    for thread in range(slot * roles, (slot + 1) * roles):
        record = state.threads[thread]
        if record["waits_for"] == reason and record["operand"] == operand:
            record["waits_for"] = NOTHING
            make_ready(state, queue, thread)


@kernel
def wake_sm(state, queue, sm, reason):
    """Wake every thread of an SM that waits for a resource of the SM."""
    config = state.config[0]
    per_sm = config["roles"] * config["slots_per_sm"]
    for thread in range(sm * per_sm, (sm + 1) * per_sm):
        record = state.threads[thread]
        if record["waits_for"] == reason:
            record["waits_for"] = NOTHING
            make_ready(state, queue, thread)


@inlined_kernel
def wake_thread(state, queue, thread, reason):
    """Wake one thread if it waits for `reason`."""
    record = state.threads[thread]
    if record["waits_for"] == reason:
        record["waits_for"] = NOTHING
        make_ready(state, queue, thread)


@kernel
def load_done(state, queue, slot, sid, phase, expected):
    """One load of a stage's phase is done; with its last load the phase fills, after all phases before it."""
    barrier = state.mbarriers[slot, sid]
    phases = state.phases[slot, sid]
    barrier["loading"] -= 1
    place = phase & (PHASES - 1)
    phases[place] += 1
    if phases[place] < expected:
        return
    phases[place] = -1
    while phases[barrier["filled"] & (PHASES - 1)] < 0:
        phases[barrier["filled"] & (PHASES - 1)] = 0
        barrier["filled"] += 1
        wake_slot(state, queue, slot, MB_WAIT, sid)
