"""One set of the L2: tags (line + 1, or 0) and state bits, kept in recency order, the least recent way last."""

import numpy as np

from simfa.engine import lanes
from simfa.engine.jit import inlined_kernel

DIRTY = 1
PENDING = 2
COPY = 4  # a near copy of a line whose home is in the other partition


@inlined_kernel
def find(tags, line):
    """The way that holds `line`, or -1."""
    tag = np.uint32(line + 1)
    whole = tags.shape[0] & -lanes.LANES
    for first in range(0, whole, lanes.LANES):
        mask = lanes.equal(tags, first, tag)
        if mask:
            return first + lanes.lowest(mask)
    for way in range(whole, tags.shape[0]):
        if tags[way] == tag:
            return way
    return -1


@inlined_kernel
def promote(tags, bits, way):
    """Make a way the most recent one."""
    tag, state = tags[way], bits[way]
    for k in range(way, 0, -1):
        tags[k] = tags[k - 1]
        bits[k] = bits[k - 1]
    tags[0] = tag
    bits[0] = state


@inlined_kernel
def touch(tags, bits, line):
    """Make `line` the most recent way of its set; returns the way it was in, or -1 if absent."""
    way = find(tags, line)
    if way >= 0:
        promote(tags, bits, way)
    return way


@inlined_kernel
def evicts_dirty(tags, bits):
    """Whether the next insertion evicts a dirty line."""
    last = tags.shape[0] - 1
    return tags[last] != 0 and (bits[last] & DIRTY) != 0


@inlined_kernel
def insert(tags, bits, line, state):
    """Put `line` in as most recent, evicting the least recent; returns whether that one was dirty."""
    dirty = evicts_dirty(tags, bits)
    for way in range(tags.shape[0] - 1, 0, -1):
        tags[way] = tags[way - 1]
        bits[way] = bits[way - 1]
    tags[0] = np.uint32(line + 1)
    bits[0] = state
    return dirty


@inlined_kernel
def oldest(tags):
    """The least recent line, which the next insertion evicts; -1 if that way is empty."""
    return np.int64(tags[tags.shape[0] - 1]) - 1


@inlined_kernel
def drop(tags, bits, way):
    """Invalidate a way; the set closes up over it."""
    last = tags.shape[0] - 1
    for k in range(way, last):
        tags[k] = tags[k + 1]
        bits[k] = bits[k + 1]
    tags[last] = 0
    bits[last] = 0
