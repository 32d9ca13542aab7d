"""Softmax as bubbles: the CUDA-core cycles between two GEMMs, from operation counts and rates (section 5.2)."""

from math import ceil
from typing import NamedTuple

from presets.specs import AluSpec

THREADS_PER_WARPGROUP = 128


class SoftmaxCycles(NamedTuple):
    """Cycles of each step for one consumer warpgroup and one K/V tile."""

    rowmax: int
    exp: int
    rowsum: int
    convert: int
    rescale: int

    @property
    def total(self) -> int:
        """All steps, one after the other."""
        return sum(self)


def softmax_cycles(alu: AluSpec, query_rows: int, kv_rows: int, head_dim: int) -> SoftmaxCycles:
    """The paper's count for a `query_rows` x `kv_rows` score tile and a `query_rows` x `head_dim` output.

    64 x 176 at head dimension 128 on Hopper: 88 + 704 + 88 + 44 + 64 = 988 cycles.
    """
    scores = query_rows * kv_rows
    per_thread = min(alu.fp32_op_per_cycle, THREADS_PER_WARPGROUP)
    return SoftmaxCycles(
        rowmax=ceil(scores / per_thread),
        exp=ceil(scores / alu.mufu_op_per_cycle),
        rowsum=ceil(scores / per_thread),
        convert=ceil(scores / alu.fp16_op_per_cycle),
        rescale=ceil(query_rows * head_dim / per_thread),
    )
