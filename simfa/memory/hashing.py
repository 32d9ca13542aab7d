"""Which L2 slice a line lives in, and which set of that slice.

The slice is the paper's choice (section 5.4). The set is not published: taken from the line number by division
it would alias with the strides of Q and O, so each run of `sets` consecutive lines of a slice is rotated by a
hash of its number: neighbours stay evenly spread, and no stride falls on few sets.
"""

from simfa.engine.jit import inlined_kernel

SLICE_HASHES = ("modulo", "xor")
MODULO, XOR = 0, 1

_GOLDEN = 0x9E3779B1  # 2^32 / golden ratio: Fibonacci hashing


@inlined_kernel
def fold(line, slice_hash):
    """The number whose remainder is the slice: the line, or for the paper's hash line ^ (line >> 5)."""
    if slice_hash == XOR:
        return line ^ (line >> 5)
    return line


@inlined_kernel
def set_of(folded, slices, sets):
    """The set within its slice; folding is one-to-one, so (slice, quotient) still names the line."""
    quotient = folded // slices
    block = quotient // sets
    rotation = (((block * _GOLDEN) & 0xFFFFFFFF) * sets) >> 32
    return (quotient + rotation) % sets
