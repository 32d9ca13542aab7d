"""Asynchronous groups of one thread: WGMMAs (kind 0) and TMA stores (kind 1), by the ids of Table 3.

An operation joins the open group of its id, or opens one. A commit seals it; the id may then name a new group.
Groups finish in the order of their commits, as on hardware: among the groups that a wait is about (ids up to its
gid), one counts as outstanding while it or any committed before it has operations left.
"""

import numpy as np

from simfa.engine.jit import inlined_kernel, kernel

WGMMA_KIND, STORE_KIND = 0, 1
GROUPS = 32  # groups of one kind and thread that can be open or outstanding; a power of two

GROUP = np.dtype([("gid", np.int64), ("order", np.int64), ("left", np.int64)])  # order 0: open
RING = np.dtype([("oldest", np.int64), ("next", np.int64), ("commits", np.int64)])


@inlined_kernel
def join(rings, groups, thread, kind, gid):
    """Put one operation into the open group `gid`; returns the group's place, or -1 if the table is full."""
    place = _open(rings, groups, thread, kind, gid)
    if place >= 0:
        groups[thread, kind, place]["left"] += 1
    return place


@kernel
def commit(rings, groups, thread, kind, gid):
    """Seal the open group `gid`, which may be empty; False if the table is full."""
    place = _open(rings, groups, thread, kind, gid)
    if place < 0:
        return False
    ring = rings[thread, kind]
    ring["commits"] += 1
    groups[thread, kind, place]["order"] = ring["commits"]
    _trim(ring, groups[thread, kind])
    return True


@inlined_kernel
def finish(rings, groups, thread, kind, place):
    """One operation of a group is done."""
    groups[thread, kind, place]["left"] -= 1
    _trim(rings[thread, kind], groups[thread, kind])


@kernel
def outstanding(rings, groups, thread, kind, gid):
    """Committed groups with ids up to `gid` that have not finished."""
    ring = rings[thread, kind]
    table = groups[thread, kind]
    first = ring["commits"] + 1
    for number in range(ring["oldest"], ring["next"]):
        group = table[number % GROUPS]
        if group["gid"] <= gid and group["left"] > 0 and 0 < group["order"] < first:
            first = group["order"]
    count = 0
    for number in range(ring["oldest"], ring["next"]):
        group = table[number % GROUPS]
        if group["gid"] <= gid and group["order"] >= first:
            count += 1
    return count


@inlined_kernel
def _open(rings, groups, thread, kind, gid):
    """The place of the open group `gid`, opened now if there is none; -1 if the table is full."""
    ring = rings[thread, kind]
    for back in range(ring["next"] - ring["oldest"]):
        place = (ring["next"] - 1 - back) % GROUPS
        group = groups[thread, kind, place]
        if group["gid"] == gid and group["order"] == 0:
            return place
    if ring["next"] - ring["oldest"] == GROUPS:
        return -1
    place = ring["next"] % GROUPS
    ring["next"] += 1
    group = groups[thread, kind, place]
    group["gid"] = gid
    group["order"] = group["left"] = 0
    return place


@inlined_kernel
def _trim(ring, table):
    while ring["oldest"] < ring["next"]:
        group = table[ring["oldest"] % GROUPS]
        if group["order"] == 0 or group["left"] > 0:
            return
        ring["oldest"] += 1
