"""The Sim-FA instruction set (Table 3): one row per instruction, its operands, and how long a WGMMA takes.

A new instruction is one row here, its number in `simfa.engine.opcodes`, and at most one handler in
`simfa.engine.frontend`. Reader, writer and encoder of traces go by the rows and know no instruction by name.
"""

from dataclasses import dataclass, field
from math import ceil
from typing import Any, Literal

from simfa.engine import opcodes as op
from simfa.engine import threads

Kind = Literal["whole", "choice", "place", "map", "coordinates", "numbers", "word"]
INT32 = 2**31 - 1
ADDRESS = 2**48 - 1
TURNS_MAX = 2**20  # of a loop


@dataclass(frozen=True)
class OperandSpec:
    """One operand: its kind, what values it takes, and what is assumed where a program leaves it out.

    whole: a number from `low` to `high`; choice: one of `choices`; place: a register or shared-memory operand that
    only people read; map: a declared tensor map; coordinates: the first element of a box, or its address.
    """

    name: str
    kind: Kind = "whole"
    low: int = 0
    high: int = INT32
    choices: tuple[str, ...] = ()
    default: Any = None


@dataclass(frozen=True)
class InstructionSpec:
    """Name, opcode, operands in the order of Table 3, and the Hopper primitive behind it."""

    name: str
    opcode: int
    operands: tuple[OperandSpec, ...]
    primitive: str

    @property
    def operand_names(self) -> tuple[str, ...]:
        """Names of the operands, in order."""
        return tuple(operand.name for operand in self.operands)


WGMMA_M = 64
WGMMA_K = {"fp8": 32, "int8": 32, "fp16": 16, "bf16": 16, "tf32": 8}
DTYPE_BYTES = {"fp8": 1, "int8": 1, "fp16": 2, "bf16": 2, "tf32": 4}
WGMMA_N_STEP, WGMMA_N_MAX = 8, 256

_MAP = OperandSpec("map", "map")
_SMEM = OperandSpec("smem", high=2**24, default=0)
_BOX = OperandSpec("gmem", "coordinates", low=-(2**30), high=2**30)
_ADDRESS = OperandSpec("gmem", high=ADDRESS)
_BYTES = OperandSpec("bytes", low=16, high=2**24)
_SID = OperandSpec("sid", high=threads.STAGES - 1)
_GID = OperandSpec("gid", default=0)
_BID = OperandSpec("bid", high=threads.NAMED_BARRIERS - 1)
_COUNT = OperandSpec("count", high=1024)
_ARRIVALS = OperandSpec("count", low=1, high=1024)
_WGMMA = (
    OperandSpec("d", "place", default="d"),
    OperandSpec("a", "place", default="a"),
    OperandSpec("b", "place", default="b"),
    OperandSpec("m", low=WGMMA_M, high=WGMMA_M, default=WGMMA_M),
    OperandSpec("n", low=WGMMA_N_STEP, high=WGMMA_N_MAX, default=WGMMA_N_STEP),
    OperandSpec("k", low=8, high=64, default=16),
    OperandSpec("dtype", "choice", choices=tuple(WGMMA_K), default="fp16"),
    OperandSpec("acc", "choice", choices=("fp32", "fp16", "int32"), default="fp32"),
    OperandSpec("mode", "choice", choices=("SS", "RS"), default="SS"),
    OperandSpec("sp", high=1, default=0),
    _GID,
)
_PHASE = (OperandSpec("cycles", low=1), OperandSpec("fp32"), OperandSpec("mufu"), OperandSpec("operands"))
_LOOP = OperandSpec("bid", high=op.LOOPS - 1)
_DECLARED = (
    OperandSpec("map", "word"),
    OperandSpec("rank", low=1, high=op.RANKS),
    OperandSpec("dims", "numbers", low=1, high=2**32),
    OperandSpec("strides", "numbers", low=0, high=2**40),
    OperandSpec("box", "numbers", low=1, high=2**16),
    OperandSpec("esz", low=1, high=16),
)

INSTRUCTIONS = (
    InstructionSpec("DEF_TMAP", op.DECLARATION, _DECLARED, "cuTensorMapEncodeTiled"),
    InstructionSpec("TMA_TENSOR", op.TMA_TENSOR, (_SMEM, _BOX, _MAP, _SID), "cp.async.bulk.tensor"),
    InstructionSpec("TMA_BULK", op.TMA_BULK, (_SMEM, _ADDRESS, _BYTES, _SID), "cp.async.bulk"),
    InstructionSpec("MB_WAIT", op.MB_WAIT, (_SID,), "mbarrier.try_wait"),
    InstructionSpec("ACQUIRE_STAGE", op.ACQUIRE_STAGE, (_SID,), "pipeline.producer_acquire"),
    InstructionSpec("RELEASE_STAGE", op.RELEASE_STAGE, (_SID,), "pipeline.consumer_release"),
    InstructionSpec("TMA_STORE", op.TMA_STORE, (_SMEM, _BOX, _MAP, _GID), "cp.async.bulk.tensor (store)"),
    InstructionSpec("TMA_BULK_STORE", op.TMA_BULK_STORE, (_SMEM, _ADDRESS, _BYTES, _GID), "cp.async.bulk (store)"),
    InstructionSpec("TMA_COMMIT", op.TMA_COMMIT, (_GID,), "cp.async.bulk.commit_group"),
    InstructionSpec("TMA_WAIT", op.TMA_WAIT, (_GID, _COUNT), "cp.async.bulk.wait_group"),
    InstructionSpec("WGMMA", op.WGMMA, _WGMMA, "wgmma.mma_async"),
    InstructionSpec("WGMMA_COMMIT", op.WGMMA_COMMIT, (_GID,), "wgmma.commit_group"),
    InstructionSpec("WGMMA_WAIT", op.WGMMA_WAIT, (_GID, _COUNT), "wgmma.wait_group"),
    InstructionSpec("BAR_ARRIVE", op.BAR_ARRIVE, (_BID,), "bar.arrive (named)"),
    InstructionSpec("BAR_WAIT", op.BAR_WAIT, (_BID, _ARRIVALS), "bar.sync (asymmetric)"),
    InstructionSpec("BUBBLES", op.BUBBLES, (OperandSpec("cycles"),), "CUDA-core work"),
    InstructionSpec("PHASE", op.PHASE, _PHASE, "CUDA-core work on pipes that warpgroups share"),
    InstructionSpec("LOOP", op.LOOP, (_LOOP, OperandSpec("count", high=TURNS_MAX)), "a loop of the kernel"),
    InstructionSpec("END_LOOP", op.END_LOOP, (_LOOP,), "its end"),
)
BY_NAME = {spec.name: spec for spec in INSTRUCTIONS}
BY_OPCODE = {spec.opcode: spec for spec in INSTRUCTIONS}
NAME_OF = {spec.opcode: spec.name for spec in INSTRUCTIONS if spec.opcode != op.DECLARATION}
RING = ("stages", "counter", "advance")
# May follow as key=value: a measured time in place of the model's; the CTAs of the cluster that a load reaches; a
# stage that a counter of the thread picks from a ring of `stages` beginning at sid, what the instruction adds to
# the counter, and rows that a box (bytes that a bulk copy) moves per count.
EXTRAS = {
    "WGMMA": ("cycles",),
    "TMA_TENSOR": ("multicast", *RING, "step"),
    "TMA_BULK": (*RING, "step"),
    "MB_WAIT": RING,
    "ACQUIRE_STAGE": RING,
    "RELEASE_STAGE": RING,
}


@dataclass(frozen=True)
class WgmmaTiming:
    """What a WGMMA's time depends on: dense FLOP per cycle by dtype, shared-memory bandwidth, shortest time."""

    flop_per_cycle: dict[str, float]
    shared_bytes_per_cycle: float
    minimum_cycles: int

    def cycles(self, n: int, dtype: str, mode: str = "SS", sparse: bool = False) -> int:
        """Cycles of one WGMMA m64 n `n`, k `WGMMA_K[dtype]`, or twice that where A is 2:4 sparse.

        N/2 at Hopper's rates (section 4.2), where neither the operands from shared memory (B; with SS also A,
        which a sparse A halves) nor the shortest time is longer. So SS equals RS from N = 64 on, an SS m64n8k16
        takes 18 cycles, and a sparse m64n256k32 144 with SS and 128 with RS, as measured (arXiv 2402.13499).
        """
        k = WGMMA_K[dtype]
        math = 2 * WGMMA_M * n * k / self.flop_per_cycle[dtype]
        operands = n * k * (2 if sparse else 1) + (WGMMA_M * k if mode == "SS" else 0)
        shared = operands * DTYPE_BYTES[dtype] / self.shared_bytes_per_cycle
        return max(ceil(math), ceil(shared), self.minimum_cycles)


@dataclass
class Program:
    """The instruction sequence of one logical thread, as it is written down: a mapping per instruction.

    Each row holds `opcode`, `tag` (what a timeline calls it) and the operands of its row in the table.
    """

    rows: list[dict[str, Any]] = field(default_factory=list)

    def emit(self, name: str, tag: int = 0, **operands: Any) -> None:
        """Append one instruction; its operands must be those of its row in the table."""
        spec = BY_NAME[name]
        known = {*spec.operand_names, *EXTRAS.get(name, ())}
        row = {operand.name: operands.get(operand.name, operand.default) for operand in spec.operands}
        if set(operands) - known or any(value is None for value in row.values()):
            raise ValueError(f"{name} takes {', '.join(spec.operand_names)}, got {sorted(operands)}")
        extras = {key: operands[key] for key in EXTRAS.get(name, ()) if key in operands}
        self.rows.append({"opcode": spec.opcode, "tag": tag, **row, **extras})
