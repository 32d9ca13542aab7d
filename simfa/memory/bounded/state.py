"""State of the bounded hierarchy: small records in arrays, linked by number; nothing is allocated while it runs."""

from typing import NamedTuple

import numpy as np

from simfa.engine import storage
from simfa.memory.bounded.commands import CommandChannels
from simfa.memory.bounded.mailbox import FRONT, LETTERS, MAIL, STEPS

NONE = -1
IN_ORDER, COMMANDS = range(2)  # how a DRAM channel is modelled

# What a slice, or its oldest fill, is doing. TIMED: an event is pending at which it goes on.
IDLE, TIMED, ON_MSHR, ON_FILLS, ON_READS, ON_WRITES = range(6)

LIMITS = np.dtype(
    [
        ("request_entries", np.int64),
        ("response_entries", np.int64),
        ("near_request_cycles", np.int64),  # from the SM to a slice of its own partition
        ("far_request_cycles", np.int64),
        ("near_response_cycles", np.int64),
        ("far_response_cycles", np.int64),
        ("dram", np.int64),  # IN_ORDER or COMMANDS
        ("dram_entries", np.int64),  # lines that wait at an in-order channel
    ]
)
REQUEST = np.dtype(  # a line request that has not been answered
    [
        ("line", np.int64),
        ("issued", np.int64),
        ("arrived", np.int64),  # in the request queue
        ("operation", np.int32),
        ("next", np.int32),  # in the list it stands in: free, of a slice, of an MSHR, or joined
        ("joined", np.int32),  # requests that the coalescer let join this one
        ("entry", np.int32),  # its place in the coalescer's tables, or NONE
        ("row", np.int32),  # of the tags: slice and set
        ("response_cycles", np.int32),
        ("later", np.int32),  # from the answer to the operation's event, beyond the hierarchy
        ("sm", np.int16),
        ("slice", np.int16),
        ("home", np.int16),  # slice where the line lives
        ("is_store", np.int8),
        ("is_passing", np.int8),  # looks for a near copy on the way to its home
        ("leaves_copy", np.int8),
        ("unused", np.int8, 3),  # to 64 bytes
    ]
)
SLICE = np.dtype(
    [
        ("free_ticks", np.int64),  # when it can serve the next request
        ("response_ticks", np.int64),  # when the response queue's next transfer can begin
        ("head", np.int32),  # of the request queue; requests beyond its size stand before it
        ("tail", np.int32),
        ("before", np.int32),  # the first request before the full queue
        ("queued", np.int32),
        ("state", np.int32),
        ("fill_state", np.int32),
        ("fill_head", np.int32),  # fills that have arrived, oldest first
        ("fill_tail", np.int32),
        ("free_mshr", np.int32),
        ("mshr_count", np.int32),
        ("accesses", np.int64),
        ("hits", np.int64),
        ("merges", np.int64),
        ("misses", np.int64),
        ("copy_hits", np.int64),
        ("mshr_waits", np.int64),
        ("response_waits", np.int64),
        ("dram_waits", np.int64),
        ("held_back", np.int64),  # requests that found the request queue full
        ("request_most", np.int64),  # most entries at once, and cycles summed over entries
        ("request_cycles", np.int64),
        ("response_most", np.int64),
        ("response_wait_ticks", np.int64),
        ("mshr_most", np.int64),
        ("mshr_cycles", np.int64),
    ]
)
MSHR = np.dtype(
    [
        ("line", np.int64),
        ("since", np.int64),
        ("done_tick", np.int64),  # of the last DRAM access so far
        ("row", np.int32),
        ("next", np.int32),  # free, or waiting fills of the slice
        ("next_in_set", np.int32),
        ("first", np.int32),  # requests that wait for the line
        ("last", np.int32),
        ("left", np.int16),  # DRAM accesses not done
        ("inserted", np.int16),
    ]
)
CHANNEL = np.dtype(
    [
        ("free_ticks", np.int64),
        ("reads", np.int64),
        ("writes", np.int64),
        ("most", np.int64),
        ("wait_ticks", np.int64),
    ]
)
SM = np.dtype([("held", np.int64), ("since", np.int64), ("held_cycles", np.int64)])
TOTALS = np.dtype(
    [
        ("coalesced", np.int64),
        ("coalescer_full", np.int64),
        ("latency_cycles", np.int64),  # summed over the load lines that a response has answered
        ("free", np.int64),  # head of the free requests
        ("in_use", np.int64),
        ("copies_dropped", np.int64),
        ("steps", np.int64),  # pending events of DRAM channels
    ]
)


class Cache(NamedTuple):
    """Tags and state bits by set and way, slices, DRAM channels: the parts that `l2.L2` has, too."""

    config: np.ndarray
    tags: np.ndarray
    bits: np.ndarray
    slices: np.ndarray
    channels: np.ndarray


class Hierarchy(NamedTuple):
    """Everything but the insides of command-level channels; `unit` and `partition` are indexed by SM."""

    cache: Cache
    inflight: np.ndarray  # the coalescers' table
    unit: np.ndarray  # coalescing unit of each SM, or -1 where SMs share none
    partition: np.ndarray
    totals: np.ndarray
    limits: np.ndarray
    requests: np.ndarray
    mshrs: np.ndarray  # [slice, MSHR]
    pending: np.ndarray  # first MSHR of every set, or NONE
    sms: np.ndarray
    fronts: np.ndarray  # of command-level channels
    mail: np.ndarray  # [channel, letter]
    step_at: np.ndarray  # [channel, pending event], the earliest last


class Bounded(NamedTuple):
    """The bounded memory hierarchy. Only the event that steps a channel passes `commands` on: it is large."""

    hierarchy: Hierarchy
    commands: CommandChannels

    @property
    def cache(self) -> Cache:
        """Tags, slices and channels."""
        return self.hierarchy.cache

    @property
    def totals(self) -> np.ndarray:
        """Counts of the whole hierarchy."""
        return self.hierarchy.totals


def make_bounded(
    config: np.ndarray,
    limits: np.ndarray,
    inflight: np.ndarray,
    unit: np.ndarray,
    partition: np.ndarray,
    lines_per_sm: int,
    commands: CommandChannels,
) -> Bounded:
    """A cold hierarchy for an `l2.CONFIG` and a LIMITS record; every SM has at most `lines_per_sm` in flight."""
    settings = config[0]
    slices, rows = int(settings["slices"]), int(settings["slices"]) * int(settings["sets"])
    shape = (rows, int(settings["ways"]))
    cache = Cache(
        config,
        storage.zeros(shape, np.uint32),
        storage.zeros(shape, np.uint16),
        _idle_slices(slices),
        np.zeros(int(settings["dram_channels"]), CHANNEL),
    )
    # A request may live on as the copy that its response leaves on the way.
    requests = storage.zeros(2 * len(unit) * lines_per_sm, REQUEST)
    requests["next"] = np.arange(1, len(requests) + 1)
    requests["next"][-1:] = NONE
    mshrs = storage.zeros((slices, int(settings["mshrs"])), MSHR)
    mshrs["next"] = np.arange(1, mshrs.shape[1] + 1)
    mshrs["next"][:, -1] = NONE
    channels = int(settings["dram_channels"])
    hierarchy = Hierarchy(
        cache,
        inflight,
        unit,
        partition,
        np.zeros(1, TOTALS),
        limits,
        requests,
        mshrs,
        np.full(rows, NONE, np.int16),
        np.zeros(len(unit), SM),
        np.zeros(channels, FRONT),
        np.zeros((channels, LETTERS), MAIL),
        np.zeros((channels, STEPS), np.int64),
    )
    if limits[0]["dram"] == COMMANDS:
        hierarchy.fronts["accesses"] = commands.config[0]["accesses"]
        capacity = commands.queues.queues["capacity"]
        hierarchy.fronts["free_reads"], hierarchy.fronts["free_writes"] = capacity[:, 0], capacity[:, 1]
    return Bounded(hierarchy, commands)


def _idle_slices(count: int) -> np.ndarray:
    slices = np.zeros(count, SLICE)
    for name in ("head", "tail", "before", "fill_head", "fill_tail"):
        slices[name] = NONE
    return slices


def event_capacity(sms: int, lines_per_sm: int, slices: int, channels: int) -> int:
    """Events that the hierarchy can have pending beside one per line: copies, slices and their fills, channels."""
    return sms * lines_per_sm + 2 * slices + STEPS * channels
