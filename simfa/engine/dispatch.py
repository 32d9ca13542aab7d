"""CTA dispatch: clusters of CTAs, in grid order, to the first SMs with room for a whole cluster.

A cluster of c CTAs goes to c neighbouring SMs at once and leaves its slots together; with c = 1 every SM takes
the next CTA as soon as a slot of its own is free.
"""

from typing import NamedTuple

import numpy as np

from simfa.engine import threads
from simfa.engine.jit import inlined_kernel, kernel
from simfa.engine.opcodes import COUNTERS

ONE_TILE, STATIC, DYNAMIC = 0, 1, 2
SCHEDULES = ("one_tile", "static", "dynamic")
NO_TILE, UNDECIDED = -1, -2  # in place of the tile that follows

CONFIG = np.dtype(
    [
        ("cluster", np.int64),
        ("next", np.int64),  # CTA or tile to hand out next
        ("retired", np.int64),
        ("remote_cycles", np.int64),  # of a release to another CTA of the cluster
        ("schedule", np.int64),
        ("stride", np.int64),  # persistent CTAs: what a static schedule adds to a tile for the next one
    ]
)
REMOTE_CYCLES = 2  # the least that keeps the order of a cycle's events out of the answer
CTA = np.dtype(
    [
        ("program", np.int64),
        ("slot", np.int64),
        ("start_cycle", np.int64),
        ("end_cycle", np.int64),
        ("threads_left", np.int64),  # of a persistent CTA's tile
        ("turns", np.int64),  # of its programs' loops 0 and 1
        ("turns_1", np.int64),
        ("after", np.int64),  # of a tile: the one that its persistent CTA goes on with, NO_TILE, or UNDECIDED
    ]
)


class Grid(NamedTuple):
    """The launch: CTAs in order, their programs and places in the tensors, and what runs where."""

    config: np.ndarray
    ctas: np.ndarray
    origins: np.ndarray  # per CTA, tensor map and dimension: what its coordinates are relative to
    programs: np.ndarray  # per program and role: first and end instruction; equal where a role is empty
    releasers: np.ndarray  # per program and stage: threads that release it, in all CTAs that its loads reach
    sources: np.ndarray  # per program and stage: mask of the CTAs that load into it; 0: only its own
    running: np.ndarray  # CTA in each slot, or -1
    unfinished: np.ndarray  # threads and asynchronous operations left in each slot
    cluster_left: np.ndarray  # CTAs left of the cluster, kept at its first slot


def make_grid(
    cluster: int,
    ctas: np.ndarray,
    origins: np.ndarray,
    programs: np.ndarray,
    releasers: np.ndarray,
    sources: np.ndarray,
    slots: int,
    remote_cycles: int = REMOTE_CYCLES,
    schedule: str = "one_tile",
) -> Grid:
    """A launch that has not started; `slots` counts the CTA slots of the whole GPU.

    With a `schedule` other than one_tile, `ctas` are tiles that persistent CTAs, one per slot, go through.
    """
    config = np.zeros(1, CONFIG)
    config[0] = (cluster, 0, 0, remote_cycles, SCHEDULES.index(schedule), 0)
    return Grid(
        config,
        ctas,
        origins,
        programs,
        releasers,
        sources,
        np.full(slots, -1, np.int64),
        np.zeros(slots, np.int64),
        np.zeros(slots, np.int64),
    )


@kernel
def start(grid, state, queue):
    """Fill the GPU at cycle 0: slot by slot, each over all SMs in order."""
    config = state.config[0]
    cluster = grid.config[0]["cluster"]
    for slot in range(config["slots_per_sm"]):
        for sm in range(0, config["sms"] - cluster + 1, cluster):
            launch_cluster(grid, state, queue, sm, slot)
    grid.config[0]["stride"] = grid.config[0]["next"]


@kernel
def launch_cluster(grid, state, queue, first_sm, slot):
    """Start the next cluster in slot `slot` of the SMs from `first_sm` on, if any CTA is left."""
    launch = grid.config[0]
    per_sm = state.config[0]["slots_per_sm"]
    here = first_sm * per_sm + slot
    count = min(launch["cluster"], grid.ctas.shape[0] - launch["next"])
    grid.cluster_left[here] = count
    for offset in range(count):
        _launch(grid, state, queue, here + offset * per_sm, launch["next"])
        launch["next"] += 1


@kernel
def _launch(grid, state, queue, slot, cta):
    roles = state.config[0]["roles"]
    program = grid.ctas[cta]["program"]
    grid.running[slot] = cta
    grid.unfinished[slot] = 0
    _begin_tile(grid, queue, slot, cta)
    if grid.config[0]["schedule"] == ONE_TILE:  # a persistent CTA starts once, with what arrivals it was given
        state.named[slot, :] = 0
    _clear_barriers(state, slot, grid.releasers[program])
    for role in range(roles):
        first, end = grid.programs[program, role]
        if first == end:
            continue
        thread = slot * roles + role
        grid.unfinished[slot] += 1
        record = state.threads[thread]
        record["waits_for"] = threads.NOTHING
        record["stalled_at"] = -1
        record["age"] = cta * roles + role
        for kind in range(2):
            ring = state.rings[thread, kind]
            ring["oldest"] = ring["next"] = ring["commits"] = 0
        state.walk[thread, :] = 0
        for stage in range(threads.STAGES):
            state.stages[thread, stage]["passed"] = state.stages[thread, stage]["acquired"] = 0
        _enter(grid, state, queue, thread, cta)


@kernel
def _begin_tile(grid, queue, slot, tile):
    record = grid.ctas[tile]
    record["slot"] = slot
    record["start_cycle"] = queue.header[0]["now"]
    record["after"] = UNDECIDED
    record["threads_left"] = 0
    for role in range(grid.programs.shape[1]):
        record["threads_left"] += (
            grid.programs[record["program"], role, 0] < grid.programs[record["program"], role, 1]
        )


@kernel
def _enter(grid, state, queue, thread, tile):
    """Set a thread to the beginning of its program for a CTA or tile."""
    record = state.threads[thread]
    role = thread % state.config[0]["roles"]
    record["tile"] = tile
    program = grid.ctas[tile]["program"]
    record["pc"] = grid.programs[program, role, 0]
    record["end"] = grid.programs[program, role, 1]
    for number in range(COUNTERS):
        state.walk[thread, threads.BASE + number] = state.walk[thread, threads.COUNTER + number]
    threads.make_ready(state, queue, thread)


@kernel
def program_ended(grid, state, queue, thread):
    """A thread has come to the end of its program: a persistent CTA's goes on to the CTA's next tile."""
    slot = thread // state.config[0]["roles"]
    launch = grid.config[0]
    if launch["schedule"] == ONE_TILE:
        finished(grid, state, queue, slot)
        return
    record = state.threads[thread]
    done = grid.ctas[record["tile"]]
    done["threads_left"] -= 1
    if done["threads_left"] == 0:
        done["end_cycle"] = queue.header[0]["now"]
        launch["retired"] += 1
    if done["after"] == UNDECIDED:
        _take(grid, queue, slot, record["tile"])
    tile = done["after"]
    if tile == NO_TILE:
        finished(grid, state, queue, slot)
        return
    _enter(grid, state, queue, thread, tile)


@kernel
def _take(grid, queue, slot, last):
    """The first thread of a CTA to ask for a further tile gets it for all of them."""
    launch = grid.config[0]
    tile = last + launch["stride"] if launch["schedule"] == STATIC else launch["next"]
    launch["next"] += 1
    if tile >= grid.ctas.shape[0]:
        grid.ctas[last]["after"] = NO_TILE
        return
    grid.ctas[last]["after"] = tile
    _begin_tile(grid, queue, slot, tile)


@inlined_kernel
def turns_of(grid, tile, number):
    """How often the programs of a CTA or tile go through loop `number`."""
    return grid.ctas[tile]["turns"] if number == 0 else grid.ctas[tile]["turns_1"]


@kernel
def _clear_barriers(state, slot, releasers):
    state.phases[slot, :, :] = 0
    for stage in range(state.mbarriers.shape[1]):
        barrier = state.mbarriers[slot, stage]
        barrier["filled"] = barrier["loading"] = barrier["released"] = 0
        barrier["consumers"] = max(releasers[stage], 1)


@inlined_kernel
def finished(grid, state, queue, slot):
    """A thread or operation of a slot is done; with the last the CTA retires, and with its last CTA the cluster.

    A CTA holds its slot until its TMA operations and WGMMAs are done too: their completions belong to it.
    """
    grid.unfinished[slot] -= 1
    if grid.unfinished[slot] == 0:
        _retire(grid, state, queue, slot)


@kernel
def _retire(grid, state, queue, slot):
    config = state.config[0]
    launch = grid.config[0]
    if launch["schedule"] != ONE_TILE:
        grid.running[slot] = -1
        return
    grid.ctas[grid.running[slot]]["end_cycle"] = queue.header[0]["now"]
    grid.running[slot] = -1
    launch["retired"] += 1
    sm = slot // config["slots_per_sm"]
    first_sm = sm - sm % launch["cluster"]
    first_slot = slot - (sm - first_sm) * config["slots_per_sm"]
    grid.cluster_left[first_slot] -= 1
    if grid.cluster_left[first_slot] == 0 and launch["next"] < grid.ctas.shape[0]:
        launch_cluster(grid, state, queue, first_sm, slot - sm * config["slots_per_sm"])
