"""Bounded read and write queues, kept as one list per bank so that the scheduler looks at banks, not at entries.

Entries of a bank stand in order of arrival. Each list remembers its oldest row hit and its oldest miss: of one
bank no other entry can be the next to be served. An entry whose activate has issued leaves its queue and
waits among the active ones for its column command.
"""

from typing import NamedTuple

import numpy as np

from simfa.engine.jit import inlined_kernel

READS, WRITES = range(2)
NONE = -1

ENTRY = np.dtype(
    [
        ("order", np.int64),  # its place in the stream: the age that the scheduler compares
        ("arrived", np.int64),
        ("block", np.int64),  # the access-sized block it moves
        ("row", np.int64),
        ("bank", np.int64),
        ("request", np.int64),
        ("kind", np.int64),  # READS or WRITES
        ("next", np.int64),
        ("previous", np.int64),
    ]
)
LIST = np.dtype(
    [
        ("head", np.int64),
        ("tail", np.int64),
        ("hit", np.int64),
        ("miss", np.int64),
        ("place", np.int64),  # where the bank stands among the busy ones
    ]
)
QUEUE = np.dtype([("capacity", np.int64), ("entries", np.int64), ("busy", np.int64)])
ACTIVE = np.dtype([("count", np.int64), ("free", np.int64)])


class Queues(NamedTuple):
    """Entry storage with its free stack, the two queues with their lists and busy banks, the active entries."""

    entries: np.ndarray
    free: np.ndarray
    queues: np.ndarray
    lists: np.ndarray  # [queue, bank]
    busy: np.ndarray  # [queue, place]
    active: np.ndarray  # in order of activation
    active_in_bank: np.ndarray
    counts: np.ndarray  # one ACTIVE record


def make_queues(reads: int, writes: int, banks: int) -> Queues:
    """Empty queues of `reads` and `writes` entries; at most one entry per bank is active."""
    total = reads + writes + banks
    lists = np.zeros((2, banks), LIST)
    for name in ("head", "tail", "hit", "miss", "place"):
        lists[name] = NONE
    queues = np.zeros(2, QUEUE)
    queues["capacity"] = reads, writes
    counts = np.zeros(1, ACTIVE)
    counts["free"] = total
    return Queues(
        np.zeros(total, ENTRY),
        np.arange(total)[::-1].copy(),
        queues,
        lists,
        np.zeros((2, banks), np.int64),
        np.zeros(banks, np.int64),
        np.zeros(banks, np.int64),
        counts,
    )


@inlined_kernel
def is_full(queues, kind):
    """Whether the queue takes no further entry."""
    return queues.queues[kind]["entries"] == queues.queues[kind]["capacity"]


@inlined_kernel
def holds_write(queues, bank, block):
    """Whether a write of this block waits in the write queue."""
    slot = queues.lists[WRITES, bank]["head"]
    while slot != NONE:
        if queues.entries[slot]["block"] == block:
            return True
        slot = queues.entries[slot]["next"]
    return False


@inlined_kernel
def push(queues, kind, bank, row, block, request, order, now, open_row):
    """Append an entry; the caller has seen that the queue is not full."""
    header = queues.counts[0]
    header["free"] -= 1
    slot = queues.free[header["free"]]
    entry = queues.entries[slot]
    entry["order"], entry["arrived"], entry["block"] = order, now, block
    entry["row"], entry["bank"], entry["request"], entry["kind"] = row, bank, request, kind
    _append(queues, kind, bank, slot)
    chain = queues.lists[kind, bank]
    if row == open_row:
        if chain["hit"] == NONE:
            chain["hit"] = slot
    elif chain["miss"] == NONE:
        chain["miss"] = slot


@inlined_kernel
def _append(queues, kind, bank, slot):
    chain = queues.lists[kind, bank]
    queue = queues.queues[kind]
    entry = queues.entries[slot]
    entry["next"] = NONE
    entry["previous"] = chain["tail"]
    if chain["tail"] == NONE:
        chain["head"] = slot
        chain["place"] = queue["busy"]
        queues.busy[kind, queue["busy"]] = bank
        queue["busy"] += 1
    else:
        queues.entries[chain["tail"]]["next"] = slot
    chain["tail"] = slot
    queue["entries"] += 1


@inlined_kernel
def _unlink(queues, kind, bank, slot):
    """Take an entry out of its bank's list and queue; an emptied list leaves the busy banks."""
    chain = queues.lists[kind, bank]
    queue = queues.queues[kind]
    after, before = queues.entries[slot]["next"], queues.entries[slot]["previous"]
    if before == NONE:
        chain["head"] = after
    else:
        queues.entries[before]["next"] = after
    if after == NONE:
        chain["tail"] = before
    else:
        queues.entries[after]["previous"] = before
    queue["entries"] -= 1
    if chain["head"] == NONE:
        queue["busy"] -= 1
        last = queues.busy[kind, queue["busy"]]
        queues.busy[kind, chain["place"]] = last
        queues.lists[kind, last]["place"] = chain["place"]


@inlined_kernel
def take_hit(queues, slot):
    """Remove a bank's oldest row hit, whose column command issues, and find the next one."""
    entry = queues.entries[slot]
    kind, bank, row = entry["kind"], entry["bank"], entry["row"]
    _unlink(queues, kind, bank, slot)
    following = entry["next"]
    while following != NONE and queues.entries[following]["row"] != row:
        following = queues.entries[following]["next"]
    queues.lists[kind, bank]["hit"] = following
    _release(queues, slot)


@inlined_kernel
def activate(queues, slot):
    """Move an entry whose activate issues from its queue to the active ones."""
    entry = queues.entries[slot]
    _unlink(queues, entry["kind"], entry["bank"], slot)
    header = queues.counts[0]
    queues.active[header["count"]] = slot
    header["count"] += 1
    queues.active_in_bank[entry["bank"]] = 1
    reclassify(queues, entry["bank"], entry["row"])


@inlined_kernel
def take_active(queues, place):
    """Remove an active entry, whose column command issues; the others keep their order."""
    header = queues.counts[0]
    slot = queues.active[place]
    header["count"] -= 1
    for index in range(place, header["count"]):
        queues.active[index] = queues.active[index + 1]
    queues.active_in_bank[queues.entries[slot]["bank"]] = 0
    _release(queues, slot)


@inlined_kernel
def _release(queues, slot):
    header = queues.counts[0]
    queues.free[header["free"]] = slot
    header["free"] += 1


@inlined_kernel
def reclassify(queues, bank, open_row):
    """Find both queues' oldest hit and miss of a bank again, after its open row changed."""
    for kind in range(2):
        chain = queues.lists[kind, bank]
        hit, miss = NONE, NONE
        slot = chain["head"]
        while slot != NONE and (hit == NONE or miss == NONE):
            if queues.entries[slot]["row"] == open_row:
                if hit == NONE:
                    hit = slot
            elif miss == NONE:
                miss = slot
            slot = queues.entries[slot]["next"]
        chain["hit"], chain["miss"] = hit, miss
