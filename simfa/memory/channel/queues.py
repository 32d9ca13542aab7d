"""Bounded read and write queues, kept as one list per bank so that the scheduler looks at banks, not at entries.

Entries of a bank stand in order of arrival. Each list remembers its oldest row hit and its oldest miss: of one
bank no other entry can be the next to be served. What each bank offers to the buses stands in `keys`, oldest
smallest: a row hit, an activate, or a precharge. An entry whose activate has issued leaves its queue and
waits among the active ones for its column command.
"""

from typing import NamedTuple

import numpy as np

from simfa.engine.jit import inlined_kernel
from simfa.memory.channel.timing import CLOSED

READS, WRITES = range(2)
NONE = -1
FAR = 1 << 60
HIT, ACTIVATE, PRECHARGE = range(3)  # what a bank can offer
BANK_BITS = 10

ENTRY = np.dtype(
    [
        ("order", np.int64),  # its place in the stream: the age that the scheduler compares
        ("arrived", np.int64),
        ("block", np.int64),  # the access-sized block it moves
        ("row", np.int32),
        ("request", np.int32),
        ("bank", np.int16),
        ("kind", np.int16),  # READS or WRITES
        ("next", np.int16),
        ("previous", np.int16),
    ]
)
LIST = np.dtype([("head", np.int16), ("tail", np.int16), ("hit", np.int16), ("miss", np.int16)])
QUEUE = np.dtype([("capacity", np.int64), ("entries", np.int64)])
ACTIVE = np.dtype([("arrived", np.int64), ("slot", np.int16), ("bank", np.int16), ("kind", np.int32)])
COUNTS = np.dtype([("active", np.int64), ("free", np.int64)])


class Queues(NamedTuple):
    """Entry storage with its free stack, the two queues with their lists and keys, the active entries."""

    entries: np.ndarray
    free: np.ndarray
    queues: np.ndarray
    lists: np.ndarray  # [bank, queue]
    keys: np.ndarray  # [queue, offer, place]: order and bank of the entries offered, in any order
    offers: np.ndarray  # [queue, offer]: how many keys
    places: np.ndarray  # [bank, queue, offer]: where the bank's key stands, or NONE
    active: np.ndarray  # in order of activation
    active_in_bank: np.ndarray
    counts: np.ndarray  # one COUNTS record


def make_queues(reads: int, writes: int, banks: int) -> Queues:
    """Empty queues of `reads` and `writes` entries; at most one entry per bank is active."""
    total = reads + writes + banks
    lists = np.zeros((banks, 2), LIST)
    for name in LIST.names or ():
        lists[name] = NONE
    queues = np.zeros(2, QUEUE)
    queues["capacity"] = reads, writes
    counts = np.zeros(1, COUNTS)
    counts["free"] = total
    return Queues(
        entries=np.zeros(total, ENTRY),
        free=np.arange(total, dtype=np.int16)[::-1].copy(),
        queues=queues,
        lists=lists,
        keys=np.full((2, 3, banks), FAR),
        offers=np.zeros((2, 3), np.int64),
        places=np.full((banks, 2, 3), NONE, np.int16),
        active=np.zeros(banks, ACTIVE),
        active_in_bank=np.zeros(banks, np.int8),
        counts=counts,
    )


@inlined_kernel
def is_full(queues, kind):
    """Whether the queue takes no further entry."""
    return queues.queues[kind]["entries"] == queues.queues[kind]["capacity"]


@inlined_kernel
def is_empty(queues):
    """Whether no access waits for a command."""
    waiting = queues.queues[READS]["entries"] + queues.queues[WRITES]["entries"] + queues.counts[0]["active"]
    return waiting == 0


@inlined_kernel
def holds_write(queues, bank, block):
    """Whether a write of this block waits in the write queue."""
    slot = queues.lists[bank, WRITES]["head"]
    while slot != NONE:
        if queues.entries[slot]["block"] == block:
            return True
        slot = queues.entries[slot]["next"]
    return False


@inlined_kernel
def offered(queues, kind, offer, key):
    """The slot of the entry behind a key."""
    chain = queues.lists[key & ((1 << BANK_BITS) - 1), kind]
    return chain["hit"] if offer == HIT else chain["miss"]


@inlined_kernel
def push(queues, kind, bank, row, block, request, order, now, open_row):
    """Append an entry; the caller has seen that the queue is not full."""
    header = queues.counts[0]
    header["free"] -= 1
    slot = queues.free[header["free"]]
    entry = queues.entries[slot]
    entry["order"], entry["arrived"], entry["block"] = order, now, block
    entry["row"], entry["bank"], entry["request"], entry["kind"] = row, bank, request, kind
    chain = queues.lists[bank, kind]
    entry["next"], entry["previous"] = NONE, chain["tail"]
    if chain["tail"] == NONE:
        chain["head"] = slot
    else:
        queues.entries[chain["tail"]]["next"] = slot
    chain["tail"] = slot
    queues.queues[kind]["entries"] += 1
    if row == open_row and chain["hit"] == NONE:
        chain["hit"] = slot
    elif row != open_row and chain["miss"] == NONE:
        chain["miss"] = slot
    else:
        return
    _offer(queues, kind, bank, open_row)


@inlined_kernel
def _unlink(queues, kind, bank, slot):
    """Take an entry out of its bank's list and queue."""
    chain = queues.lists[bank, kind]
    after, before = queues.entries[slot]["next"], queues.entries[slot]["previous"]
    if before == NONE:
        chain["head"] = after
    else:
        queues.entries[before]["next"] = after
    if after == NONE:
        chain["tail"] = before
    else:
        queues.entries[after]["previous"] = before
    queues.queues[kind]["entries"] -= 1


@inlined_kernel
def take_hit(queues, slot):
    """Remove a bank's oldest row hit, whose column command issues, and find the next one."""
    entry = queues.entries[slot]
    kind, bank, row = entry["kind"], entry["bank"], entry["row"]
    _unlink(queues, kind, bank, slot)
    following = entry["next"]
    while following != NONE and queues.entries[following]["row"] != row:
        following = queues.entries[following]["next"]
    queues.lists[bank, kind]["hit"] = following
    _offer(queues, kind, bank, row)
    _release(queues, slot)


@inlined_kernel
def activate(queues, slot):
    """Move an entry whose activate issues from its queue to the active ones."""
    entry = queues.entries[slot]
    _unlink(queues, entry["kind"], entry["bank"], slot)
    header = queues.counts[0]
    line = queues.active[header["active"]]
    line["slot"], line["bank"] = slot, entry["bank"]
    line["kind"], line["arrived"] = entry["kind"], entry["arrived"]
    header["active"] += 1
    queues.active_in_bank[entry["bank"]] = 1
    reclassify(queues, entry["bank"], entry["row"])


@inlined_kernel
def take_active(queues, place):
    """Remove an active entry, whose column command issues; the others keep their order."""
    header = queues.counts[0]
    slot = queues.active[place]["slot"]
    bank, row = queues.entries[slot]["bank"], queues.entries[slot]["row"]
    header["active"] -= 1
    for index in range(place, header["active"]):
        queues.active[index] = queues.active[index + 1]
    queues.active_in_bank[bank] = 0
    for kind in range(2):
        _offer(queues, kind, bank, row)
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
        chain = queues.lists[bank, kind]
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
        _offer(queues, kind, bank, open_row)


@inlined_kernel
def _offer(queues, kind, bank, open_row):
    """What a bank's list offers to the buses: its oldest hit; for its oldest miss an activate or a precharge.

    No precharge while an active entry waits for the open row, or a row hit that came no later than the miss.
    """
    chain = queues.lists[bank, kind]
    hit, miss = chain["hit"], chain["miss"]
    activated, precharged = NONE, NONE
    if open_row == CLOSED:
        activated = miss
    elif miss != NONE and not queues.active_in_bank[bank] and not _is_older(queues, hit, miss):
        precharged = miss
    _set_key(queues, kind, HIT, bank, hit)
    _set_key(queues, kind, ACTIVATE, bank, activated)
    _set_key(queues, kind, PRECHARGE, bank, precharged)


@inlined_kernel
def _is_older(queues, hit, miss):
    """Whether there is a hit that came no later than the miss."""
    return hit != NONE and queues.entries[hit]["arrived"] <= queues.entries[miss]["arrived"]


@inlined_kernel
def _set_key(queues, kind, offer, bank, slot):
    places = queues.places[bank, kind]
    place = places[offer]
    if place == NONE and slot == NONE:
        return
    keys = queues.keys[kind, offer]
    if slot != NONE:
        if place == NONE:
            place = queues.offers[kind, offer]
            queues.offers[kind, offer] = place + 1
            places[offer] = place
        keys[place] = queues.entries[slot]["order"] << BANK_BITS | bank
        return
    count = queues.offers[kind, offer] - 1
    queues.offers[kind, offer] = count
    keys[place] = keys[count]
    queues.places[keys[count] & ((1 << BANK_BITS) - 1), kind, offer] = place
    places[offer] = NONE
