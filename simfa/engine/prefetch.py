"""Ask for a record's cache line before it is needed; it changes nothing but time.

The tables of a large GPU do not fit into a host's nearest caches, and which record an event will touch is often
known long before: a request's set when it leaves its SM, a coalescer's row when the operation steps to its next
line. Compiled, `fetch` is the processor's prefetch instruction; in pure Python it does nothing.
"""

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from simfa.engine.jit import config

READ, ALL_LEVELS, DATA = 0, 3, 1  # operands of llvm.prefetch


def _emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    kind = signature.args[0]
    array = context.make_array(kind)(context, builder, args[0])
    row = builder.mul(args[1], builder.extract_value(array.strides, 0))
    bytes_at = cgutils.pointer_add(builder, array.data, row, cgutils.voidptr_t)
    number = ir.IntType(32)
    shape = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, number, number, number])
    function = cgutils.get_or_insert_function(builder.module, shape, "llvm.prefetch.p0i8")
    builder.call(function, [bytes_at, number(READ), number(ALL_LEVELS), number(DATA)])
    return context.get_dummy_value()


@intrinsic
def _prefetch(typing: Any, array: Any, index: Any) -> Any:
    return types.void(array, types.intp), _emit


def _nothing(array: Any, index: int) -> None:
    """In pure Python there is nothing to do."""


fetch: Any = _nothing if config.DISABLE_JIT else _prefetch
