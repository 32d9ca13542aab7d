"""A sliced, set-associative, write-back, write-allocate L2 with MSHRs, as in-order reservations.

A request reserves its slice for the time the slice needs for one line, then looks its tag up. Each set is kept
in recency order, so the last way is the least recently used. A read miss reserves an MSHR and a DRAM read and
allocates at once; until the fill arrives the line is pending, and further reads merge with the miss. A store of
a line allocates without fetching (stores are byte-masked) and marks it dirty; evicting it writes it back.

With the remote-copy proxy on (section 4.3), a read whose home slice lies in the other partition is looked up in the
near partition first, and leaves a copy there that competes with regular lines; `simfa.memory.remote_copy`.
"""

from typing import NamedTuple

import numpy as np

from simfa.engine import storage
from simfa.engine.jit import inlined_kernel, kernel
from simfa.memory import dram, hashing, remote_copy, sets
from simfa.memory.dram import TICKS
from simfa.memory.sets import COPY, DIRTY, PENDING

MSHR_RING = 512  # entries of storage per slice; the configured number in use is at most this
RING_SHIFT = 3

CONFIG = np.dtype(
    [
        ("slice_hash", np.int64),
        ("slices", np.int64),
        ("sets", np.int64),
        ("ways", np.int64),
        ("mshrs", np.int64),
        ("slice_ticks", np.int64),  # a slice's time for one line
        ("slices_per_partition", np.int64),
        ("near_cycles", np.int64),
        ("far_cycles", np.int64),
        ("dram_channels", np.int64),
        ("dram_line_ticks", np.int64),
        ("dram_latency_ticks", np.int64),
        ("copy_share", np.int64),  # remote copies: insertion probability in 1/2^16, 0 turns the proxy off
        ("copy_ways", np.int64),  # ways of a set that copies may hold
        ("random", np.int64),  # state of the generator that decides insertions
        ("set_hash", np.int64),
    ]
)
SLICE = np.dtype(
    [
        ("free_ticks", np.int64),
        ("accesses", np.int64),
        ("hits", np.int64),
        ("merges", np.int64),
        ("misses", np.int64),
        ("mshr_waits", np.int64),
        ("copy_hits", np.int64),
        ("mshr_oldest", np.int32),
        ("mshr_count", np.int32),
    ]
)
MSHR = np.dtype([("fill_ticks", np.int64), ("line", np.int64)])


class L2(NamedTuple):
    """Tags (line + 1, or 0) and their state bits by set and way, slices, MSHR rings, DRAM channels."""

    config: np.ndarray
    tags: np.ndarray
    bits: np.ndarray
    slices: np.ndarray
    mshrs: np.ndarray
    channels: np.ndarray


def make_l2(config: np.ndarray) -> L2:
    """An empty (cold) L2 for a CONFIG record."""
    settings = config[0]
    slices, ways = int(settings["slices"]), int(settings["ways"])
    shape = (slices * int(settings["sets"]), ways)
    return L2(
        config,
        storage.zeros(shape, np.uint32),
        storage.zeros(shape, np.uint16),
        np.zeros(slices, SLICE),
        np.zeros((slices, MSHR_RING), MSHR),
        np.zeros(int(settings["dram_channels"]), dram.CHANNEL),
    )


@inlined_kernel
def access(l2, line, partition, now, is_store):
    """Serve one line for an SM in `partition`; returns the cycle of the response at the SM."""
    config = l2.config[0]
    folded = hashing.fold(line, config["slice_hash"])
    index = folded % config["slices"]
    set_index = hashing.chosen_set(folded, config["slices"], config["sets"], config["set_hash"])
    near = 0 <= index - partition * config["slices_per_partition"] < config["slices_per_partition"]
    if config["copy_share"] > 0 and not near:
        return _access_remote(l2, line, partition, index, set_index, now, is_store)
    data = serve(l2, index, index * config["sets"] + set_index, line, now * TICKS, is_store)
    return (data + TICKS - 1) // TICKS + (config["near_cycles"] if near else config["far_cycles"])


@kernel
def _access_remote(l2, line, partition, index, set_index, now, is_store):
    """A request to the other partition with the remote-copy proxy on: near copy, else home and perhaps a copy."""
    config = l2.config[0]
    near = index % config["slices_per_partition"] + partition * config["slices_per_partition"]
    row = near * config["sets"] + set_index
    unit = l2.slices[near]
    start = max(now * TICKS, unit["free_ticks"])
    way = sets.touch(l2.tags[row], l2.bits[row], line)
    if way >= 0 and not is_store:
        unit["accesses"] += 1
        unit["hits"] += 1
        unit["copy_hits"] += 1
        unit["free_ticks"] = start + config["slice_ticks"]
        data = _merge(l2, near, row, line, start) if l2.bits[row, 0] & PENDING else start
        return (data + TICKS - 1) // TICKS + config["near_cycles"]
    if way >= 0:
        remote_copy.drop_first(l2.tags[row], l2.bits[row])
    data = serve(l2, index, index * config["sets"] + set_index, line, now * TICKS, is_store)
    if not is_store and remote_copy.inserts(config, l2.bits[row], COPY):
        arrival = data + (config["far_cycles"] - config["near_cycles"]) * TICKS
        _wait_for_mshr(l2, near, start)
        if sets.insert(l2.tags[row], l2.bits[row], line, COPY | _track(l2, near, line, arrival)):
            channel = l2.channels[near * config["dram_channels"] // config["slices"]]
            dram.write_line(channel, start, config["dram_line_ticks"])
    return (data + TICKS - 1) // TICKS + config["far_cycles"]


@inlined_kernel
def serve(l2, index, row, line, request_ticks, is_store):
    """One request at the line's home slice `index`, set `row`; returns the tick at which the data is there."""
    config = l2.config[0]
    unit = l2.slices[index]
    start = max(request_ticks, unit["free_ticks"])
    unit["accesses"] += 1
    way = sets.touch(l2.tags[row], l2.bits[row], line)
    if way >= 0:
        data = start
        if l2.bits[row, 0] & PENDING:
            data = _merge(l2, index, row, line, start)
        unit["hits"] += data == start
        unit["merges"] += data != start
    else:
        start, data = _miss(l2, index, row, line, start, is_store)
    if is_store:
        l2.bits[row, 0] |= DIRTY
    unit["free_ticks"] = start + config["slice_ticks"]
    return data


@inlined_kernel
def _merge(l2, index, row, line, start):
    """A read of a line whose fill may still be on its way: the tick at which the data is there."""
    entry = l2.mshrs[index, l2.bits[row, 0] >> RING_SHIFT]
    if entry["line"] == line and entry["fill_ticks"] > start:
        return entry["fill_ticks"]
    l2.bits[row, 0] &= DIRTY | COPY
    return start


@inlined_kernel
def _miss(l2, index, row, line, start, is_store):
    """Allocate `line`; for a read, fetch it. Returns when the slice started and when the data is there."""
    config = l2.config[0]
    unit = l2.slices[index]
    unit["misses"] += 1
    channel = l2.channels[index * config["dram_channels"] // config["slices"]]
    bits = 0
    data = start
    if not is_store:
        start = _wait_for_mshr(l2, index, start)
        data = dram.read_line(channel, start, config["dram_line_ticks"], config["dram_latency_ticks"])
        bits = _track(l2, index, line, data)
    if sets.insert(l2.tags[row], l2.bits[row], line, bits):
        dram.write_line(channel, start, config["dram_line_ticks"])
    return start, data


@inlined_kernel
def _track(l2, index, line, fill_ticks):
    """Take an MSHR of slice `index` until `fill_ticks`; returns the state bits of a line that waits for it."""
    unit = l2.slices[index]
    slot = (unit["mshr_oldest"] + unit["mshr_count"]) % MSHR_RING
    unit["mshr_count"] += 1
    l2.mshrs[index, slot]["fill_ticks"] = fill_ticks
    l2.mshrs[index, slot]["line"] = line
    return PENDING | (slot << RING_SHIFT)


@inlined_kernel
def _wait_for_mshr(l2, index, start):
    """Retire arrived fills; if every MSHR is still taken, the slice waits for the oldest."""
    unit = l2.slices[index]
    while unit["mshr_count"] > 0:
        fill = l2.mshrs[index, unit["mshr_oldest"]]["fill_ticks"]
        if fill > start:
            if unit["mshr_count"] < l2.config[0]["mshrs"]:
                break
            unit["mshr_waits"] += 1
            start = fill
        unit["mshr_oldest"] = (unit["mshr_oldest"] + 1) % MSHR_RING
        unit["mshr_count"] -= 1
    return start
