"""The Sim-FA instruction set (Table 3): one row per instruction, and the encoder of programs.

A new instruction is one row here, its number in `simfa.engine.opcodes`, and at most one handler in
`simfa.engine.frontend`.
"""

from dataclasses import dataclass, field
from math import ceil

import numpy as np

from simfa.engine import opcodes as op


@dataclass(frozen=True)
class InstructionSpec:
    """Name, opcode, operands (fields of the encoding), and the Hopper primitive behind it."""

    name: str
    opcode: int
    operands: tuple[str, ...]
    primitive: str


INSTRUCTIONS = (
    InstructionSpec("TMA_TENSOR", op.TMA_TENSOR, ("map", "row", "sid"), "cp.async.bulk.tensor"),
    InstructionSpec("MB_WAIT", op.MB_WAIT, ("sid",), "mbarrier.try_wait"),
    InstructionSpec("ACQUIRE_STAGE", op.ACQUIRE_STAGE, ("sid",), "pipeline.producer_acquire"),
    InstructionSpec("RELEASE_STAGE", op.RELEASE_STAGE, ("sid",), "pipeline.consumer_release"),
    InstructionSpec("TMA_STORE", op.TMA_STORE, ("map", "row"), "cp.async.bulk.tensor (store)"),
    InstructionSpec("TMA_COMMIT", op.TMA_COMMIT, (), "cp.async.bulk.commit_group"),
    InstructionSpec("TMA_WAIT", op.TMA_WAIT, ("count",), "cp.async.bulk.wait_group"),
    InstructionSpec("WGMMA", op.WGMMA, ("cycles",), "wgmma.mma_async"),
    InstructionSpec("WGMMA_COMMIT", op.WGMMA_COMMIT, (), "wgmma.commit_group"),
    InstructionSpec("WGMMA_WAIT", op.WGMMA_WAIT, ("count",), "wgmma.wait_group"),
    InstructionSpec("BAR_ARRIVE", op.BAR_ARRIVE, ("bid",), "bar.arrive (named)"),
    InstructionSpec("BAR_WAIT", op.BAR_WAIT, ("bid", "count"), "bar.sync (asymmetric)"),
    InstructionSpec("BUBBLES", op.BUBBLES, ("cycles",), "CUDA-core work"),
)
BY_NAME = {spec.name: spec for spec in INSTRUCTIONS}
NAME_OF = {spec.opcode: spec.name for spec in INSTRUCTIONS}

WGMMA_M = 64
WGMMA_K = {"fp8": 32, "fp16": 16, "bf16": 16, "fp32": 8}


def wgmma_cycles(n: int, dtype: str, flop_per_cycle: float) -> int:
    """Cycles of one dense WGMMA m64 n `n` k `WGMMA_K[dtype]` on a tensor core of `flop_per_cycle`.

    N/2 for FP16 at Hopper's 4096 FLOP per cycle, as section 4.2 has it.
    """
    return ceil(2 * WGMMA_M * n * WGMMA_K[dtype] / flop_per_cycle)


@dataclass
class Program:
    """The instruction sequence of one warpgroup role, as it is written down."""

    rows: list[dict[str, int]] = field(default_factory=list)

    def emit(self, name: str, tag: int = 0, **operands: int) -> None:
        """Append one instruction; its operands must be those of its row in the table."""
        spec = BY_NAME[name]
        if set(operands) != set(spec.operands):
            raise ValueError(f"{name} takes {', '.join(spec.operands) or 'no operands'}, got {sorted(operands)}")
        self.rows.append({"opcode": spec.opcode, "tag": tag, **operands})

    def encode(self) -> np.ndarray:
        """The program as INSTRUCTION records."""
        code = np.zeros(len(self.rows), op.INSTRUCTION)
        for name in op.INSTRUCTION.names or ():
            code[name] = [row.get(name, 0) for row in self.rows]
        return code
