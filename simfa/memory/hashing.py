"""Which L2 slice a line lives in, and which set of that slice.

The slice is the paper's choice (section 5.4). The set is not published: taken from the line number by division
it would alias with the strides of Q and O, so the bits above the slice are mixed by a multiplication.
"""

from simfa.engine.jit import kernel

SLICE_HASHES = ("modulo", "xor")
MODULO, XOR = 0, 1

_GOLDEN = 0x9E3779B1  # 2^32 / golden ratio: Fibonacci hashing


@kernel
def fold(line, slice_hash):  # type: ignore[no-untyped-def]
    """The number whose remainder is the slice: the line, or for the paper's hash line ^ (line >> 5)."""
    if slice_hash == XOR:
        return line ^ (line >> 5)
    return line


@kernel
def set_of(folded, slices, sets):  # type: ignore[no-untyped-def]
    """The set within its slice; folding is one-to-one, so (slice, quotient) still names the line."""
    quotient = folded // slices
    mixed = (quotient * _GOLDEN) & 0xFFFFFFFF
    return ((mixed ^ (mixed >> 15)) * sets) >> 32
