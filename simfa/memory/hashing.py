"""Which L2 slice a line lives in, and which set of that slice.

The slice is the paper's choice (section 5.4). The set is not published: taken from the line number by division
it would alias with the strides of Q and O, so each run of `sets` consecutive lines of a slice is rotated by a
hash of its number: neighbours stay evenly spread, and no stride falls on few sets. Or, as a switch, lines fall on
sets as if at random, so that sets fill unevenly and the fullest overflow before the cache is full.
"""

from simfa.engine.jit import inlined_kernel

SLICE_HASHES = ("modulo", "xor")
MODULO, XOR = 0, 1
SET_HASHES = ("rotated", "scattered")
ROTATED, SCATTERED = 0, 1

_GOLDEN = 0x9E3779B1  # 2^32 / golden ratio: Fibonacci hashing
_MIX = 0x45D9F3B  # of 27 bits, so that a product with 32 bits stays within 63
_LOW = 0xFFFFFFFF


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
    turned = quotient - block * sets + rotation  # below 2 * sets
    return turned - sets * (turned >= sets)


@inlined_kernel
def chosen_set(folded, slices, sets, set_hash):
    """The set by one of SET_HASHES."""
    if set_hash == SCATTERED:
        return scattered_set(folded, slices, sets)
    return set_of(folded, slices, sets)


@inlined_kernel
def scattered_set(folded, slices, sets):
    """The set from all bits of the line's number in its slice, mixed."""
    mixed = (folded // slices) & _LOW
    mixed = ((mixed ^ (mixed >> 16)) * _MIX) & _LOW
    mixed = ((mixed ^ (mixed >> 16)) * _MIX) & _LOW
    mixed = mixed ^ (mixed >> 16)
    return (mixed * sets) >> 32
