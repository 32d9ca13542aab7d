"""Compare the entries of a row with one value, eight at a time: which of them are equal, which are greater.

A search that ends at the match ends at another entry each time, so a processor cannot foresee where. Compiled,
eight entries are compared by vector instructions into a mask, one bit per entry; in pure Python, one by one.
"""

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from simfa.engine.jit import config

LANES = 8
_MASK, _WORD = ir.IntType(LANES), ir.IntType(64)


def _compare(predicate: str) -> Any:
    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = signature.args[0]
        array = context.make_array(kind)(context, builder, args[0])
        entry = context.get_data_type(kind.dtype)
        vector = ir.VectorType(entry, LANES)
        start = builder.gep(array.data, [args[1]])
        entries = builder.load(builder.bitcast(start, vector.as_pointer()), align=kind.dtype.bitwidth // 8)
        value = builder.insert_element(ir.Constant(vector, ir.Undefined), args[2], ir.IntType(32)(0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        same = builder.shuffle_vector(value, ir.Constant(vector, ir.Undefined), zeros)
        order = builder.icmp_signed if kind.dtype.signed else builder.icmp_unsigned
        return builder.zext(builder.bitcast(order(predicate, entries, same), _MASK), _WORD)

    return emit


@intrinsic
def _equal(typing: Any, row: Any, first: Any, value: Any) -> Any:
    return types.int64(row, types.intp, row.dtype), _compare("==")


@intrinsic
def _above(typing: Any, row: Any, first: Any, value: Any) -> Any:
    return types.int64(row, types.intp, row.dtype), _compare(">")


@intrinsic
def _lowest(typing: Any, mask: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.IntType(1)(1))

    return types.int64(types.int64), emit


@intrinsic
def _highest(typing: Any, mask: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.sub(_WORD(63), builder.ctlz(args[0], ir.IntType(1)(1)))

    return types.int64(types.int64), emit


def _equal_one_by_one(row: Any, first: int, value: int) -> int:
    return sum(int(row[first + lane] == value) << lane for lane in range(LANES))


def _above_one_by_one(row: Any, first: int, value: int) -> int:
    return sum(int(row[first + lane] > value) << lane for lane in range(LANES))


def _lowest_bit(mask: int) -> int:
    return (mask & -mask).bit_length() - 1


def _highest_bit(mask: int) -> int:
    return mask.bit_length() - 1


# (row, first, value): mask of the LANES entries from `first` on that are equal to `value`, or greater.
equal: Any = _equal_one_by_one if config.DISABLE_JIT else _equal
above: Any = _above_one_by_one if config.DISABLE_JIT else _above
# (mask): the number of its lowest or highest bit; a mask of none has no answer.
lowest: Any = _lowest_bit if config.DISABLE_JIT else _lowest
highest: Any = _highest_bit if config.DISABLE_JIT else _highest
