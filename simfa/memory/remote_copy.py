"""The remote-copy proxy: when a read of a far line leaves a copy in the near partition (paper, section 4.3).

Two knobs: the probability of leaving a copy, and the share of a set's ways that copies may hold.
"""

from simfa.engine.jit import inlined_kernel

SCALE = 1 << 16

_MULTIPLIER = 1664525  # the classic 32-bit linear congruential generator
_INCREMENT = 1013904223


@inlined_kernel
def inserts(config, bits, copy_bit):
    """Whether this read leaves a copy in a set with these state bits; draws one number of the generator."""
    config["random"] = (config["random"] * _MULTIPLIER + _INCREMENT) & 0xFFFFFFFF
    if (config["random"] >> 16) >= config["copy_share"]:
        return False
    copies = 0
    for way in range(bits.shape[0]):
        if bits[way] & copy_bit:
            copies += 1
    return copies < config["copy_ways"]


@inlined_kernel
def drop_first(tags, bits):
    """Invalidate the most recent way: a store made its copy stale. The set closes up over it."""
    last = tags.shape[0] - 1
    for way in range(last):
        tags[way] = tags[way + 1]
        bits[way] = bits[way + 1]
    tags[last] = 0
    bits[last] = 0
