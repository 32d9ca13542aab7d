"""CTAs of one cluster: multicast loads, and stages that consumers of several CTAs release.

A cluster's CTAs run in one slot number of neighbouring SMs; a CTA's rank is its place among them. A multicast load
fills the stage of its number in every CTA of its mask. In return a consumer's release of a stage arrives at the
stage's empty barrier in every CTA that loads into it here, as in CUTLASS's PipelineTmaAsync: at once in its own
CTA, `remote_cycles` later in another. A CTA is not done before its releases have arrived, and keeps its slot until
its whole cluster leaves, so that what comes late finds the CTA it is meant for.
"""

from simfa.engine import dispatch, events, threads
from simfa.engine.jit import inlined_kernel, kernel
from simfa.engine.opcodes import ACQUIRE_STAGE, MB_WAIT

MAX_CTAS = 16  # of a cluster


@kernel
def size(mask):
    """CTAs in a mask."""
    count = 0
    while mask:
        mask &= mask - 1
        count += 1
    return count


@inlined_kernel
def rank(grid, state, slot):
    """The place of a slot's CTA in its cluster."""
    return slot // state.config[0]["slots_per_sm"] % grid.config[0]["cluster"]


@inlined_kernel
def peer(grid, state, slot, other):
    """The slot of the CTA of rank `other` in the same cluster."""
    return slot + (other - rank(grid, state, slot)) * state.config[0]["slots_per_sm"]


@kernel
def announce(grid, state, slot, sid, phase, mask):
    """Take a load's place in its stage wherever it goes; False if a CTA has too many fillings under way."""
    for other in range(grid.config[0]["cluster"]):
        if (mask >> other) & 1:
            barrier = state.mbarriers[peer(grid, state, slot, other), sid]
            if phase >= barrier["filled"] + threads.PHASES:
                return False
    for other in range(grid.config[0]["cluster"]):
        if (mask >> other) & 1:
            state.mbarriers[peer(grid, state, slot, other), sid]["loading"] += 1
    return True


@kernel
def deliver(grid, state, queue, slot, detail, fills):
    """A multicast load's data are there: signal the stage's mbarrier in each CTA of the mask."""
    for other in range(grid.config[0]["cluster"]):
        if (detail["mask"] >> other) & 1:
            there = peer(grid, state, slot, other)
            filled_one(grid, state, queue, there, detail["sid"], detail["phase"], fills[other])


@kernel
def filled_one(grid, state, queue, slot, sid, phase, expected):
    """One load of a stage's phase is done; multicasts that waited for the phase may come from the whole cluster."""
    before = state.mbarriers[slot, sid]["filled"]
    threads.load_done(state, queue, slot, sid, phase, expected)
    if state.mbarriers[slot, sid]["filled"] == before:
        return
    for other in range(grid.config[0]["cluster"]):
        threads.wake_slot(state, queue, peer(grid, state, slot, other), MB_WAIT, threads.STAGES + sid)


@kernel
def release(grid, state, queue, slot, sid):
    """A consumer has finished with a stage: arrive at its empty barrier wherever the stage is loaded from."""
    own = rank(grid, state, slot)
    sources = grid.sources[grid.ctas[grid.running[slot]]["program"], sid]
    if sources == 0 or (sources >> own) & 1:
        _arrive(state, queue, slot, sid)
    time = queue.header[0]["now"] + grid.config[0]["remote_cycles"]
    for other in range(grid.config[0]["cluster"]):
        if other != own and (sources >> other) & 1:
            barrier = peer(grid, state, slot, other) * threads.STAGES + sid
            grid.unfinished[slot] += 1
            events.push(queue, time, events.RELEASED, barrier * MAX_CTAS + own)


@kernel
def released(grid, state, queue, argument):
    """A release from another CTA has arrived."""
    barrier, sender = argument // MAX_CTAS, argument % MAX_CTAS
    slot = barrier // threads.STAGES
    _arrive(state, queue, slot, barrier % threads.STAGES)
    dispatch.finished(grid, state, queue, peer(grid, state, slot, sender))


@kernel
def _arrive(state, queue, slot, sid):
    state.mbarriers[slot, sid]["released"] += 1
    threads.wake_slot(state, queue, slot, ACQUIRE_STAGE, sid)
