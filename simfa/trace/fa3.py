"""FlashAttention-3's three warpgroup roles as programs (paper, section 5.2 and Table 4).

One producer warpgroup loads; consumer warpgroups overlap the next Q K^T with the last P V and hand the tensor
core to each other by named barriers (ping-pong). A program is written for a number of K/V tiles and shared by
all CTAs that read that many; its coordinates (element, head, row, batch) are relative to each CTA's origins.
"""

from dataclasses import dataclass

from presets.experiment import DTYPES
from presets.specs import KernelSpec
from simfa.isa import WGMMA_K, WGMMA_M, WGMMA_N_MAX, WGMMA_N_STEP, Program

MAP_Q, MAP_K, MAP_V, MAP_O = range(4)
MAP_NAMES = ("Q", "K", "V", "O")
SID_Q = 0
TAG_QK, TAG_PV, TAG_SOFTMAX, TAG_EXP, TAG_EPILOGUE = 1, 2, 3, 4, 5


@dataclass(frozen=True)
class Shape:
    """What the programs of one kernel launch depend on: tile, pipeline, dtype and the softmax's time."""

    kernel: KernelSpec
    head_dim: int
    dtype: str
    softmax_cycles: int
    multicast: int = 0  # mask of the CTAs that share the loading of K and V; 0: each loads whole tiles
    packed_heads: int = 1  # query heads whose rows share a tile

    @property
    def consumer_rows(self) -> int:
        """Query rows of one consumer warpgroup: the paper's T_M = 64."""
        return self.kernel.tile.query_rows // self.kernel.pipeline.consumer_warpgroups

    @property
    def wgmma_dtype(self) -> str:
        """The tensor core's input type: TF32 for FP32."""
        return "tf32" if self.dtype == "fp32" else self.dtype

    def stage_offset(self, sid: int) -> int:
        """Shared-memory offset of a stage: Q (later O) first, then the K ring, then the V ring."""
        row_bytes = self.head_dim * DTYPES[self.dtype]
        return row_bytes * (self.kernel.tile.query_rows + (sid - 1) * self.kernel.tile.kv_rows) if sid else 0


def roles(shape: Shape, tiles: int, backward: bool = False) -> list[Program]:
    """Producer and consumers of a CTA that reads `tiles` K/V tiles; with 0 tiles they only load Q, store O.

    `backward` turns the kernel's order of K/V tiles round.
    """
    order = tile_order(shape.kernel, tiles, backward)
    consumers = range(shape.kernel.pipeline.consumer_warpgroups)
    return [producer(shape, order), *(consumer(shape, order, index) for index in consumers)]


def producer(shape: Shape, order: list[int]) -> Program:
    """First K, then Q, then each next K before the previous V, each into its ring-buffer stage."""
    program = Program()
    if order:
        load(program, shape, MAP_K, order[0], stage_id(shape.kernel, MAP_K, 0))
    load_q(program)
    for step in range(len(order)):
        if step + 1 < len(order):
            load(program, shape, MAP_K, order[step + 1], stage_id(shape.kernel, MAP_K, step + 1))
        load(program, shape, MAP_V, order[step], stage_id(shape.kernel, MAP_V, step))
    return program


def consumer(shape: Shape, order: list[int], index: int) -> Program:
    """Q K^T of a tile overlaps P V of the tile before it; softmax runs while the other consumer has the MMA."""
    role = Consumer(shape, index)
    for step in range(len(order)):
        role.wait_for(MAP_K, stage_id(shape.kernel, MAP_K, step))
        role.gemm_qk()
        if step > 0:
            role.wait_for(MAP_V, stage_id(shape.kernel, MAP_V, step - 1))
            role.gemm_pv()
        role.wait_groups(min(step, 1), TAG_QK)
        role.release(MAP_K, stage_id(shape.kernel, MAP_K, step))
        role.softmax()
        if step > 0:
            role.wait_groups(0, TAG_PV)
            role.release(MAP_V, stage_id(shape.kernel, MAP_V, step - 1))
    if order:
        role.wait_for(MAP_V, stage_id(shape.kernel, MAP_V, len(order) - 1))
        role.gemm_pv()
        role.wait_groups(0, TAG_PV)
        role.release(MAP_V, stage_id(shape.kernel, MAP_V, len(order) - 1))
    role.store()
    return role.program


class Consumer:
    """Writes one consumer warpgroup's program, event by event (section 5.2). It begins with the wait for Q."""

    def __init__(self, shape: Shape, index: int) -> None:
        self.shape, self.index = shape, index
        self.program = Program()
        self.gid = -1  # of the group committed last
        self.stages: dict[int, int] = {}  # the stage of K and V waited for last
        self.wait_for(MAP_Q, SID_Q)

    def wait_for(self, tensor: int, sid: int) -> None:
        """MB_WAIT for a tile of Q, K or V."""
        self.stages[tensor] = sid
        self.program.emit("MB_WAIT", tag=tensor, sid=sid)

    def gemm_qk(self) -> None:
        """Arrive at the other consumers' barriers, then Q K^T as one group of WGMMAs."""
        shape = self.shape
        if shape.kernel.pipeline.ping_pong:
            for other in range(shape.kernel.pipeline.consumer_warpgroups):
                if other != self.index:
                    self.program.emit("BAR_ARRIVE", tag=TAG_QK, bid=other)
        self._gemm(shape.kernel.tile.kv_rows, shape.head_dim, TAG_QK, mode="SS")

    def gemm_pv(self) -> None:
        """P V as one group of WGMMAs, P from registers."""
        self._gemm(self.shape.head_dim, self.shape.kernel.tile.kv_rows, TAG_PV, mode="RS")

    def wait_groups(self, count: int, tag: int) -> None:
        """WGMMA_WAIT: at most `count` groups outstanding."""
        self.program.emit("WGMMA_WAIT", tag=tag, gid=self.gid, count=count)

    def release(self, tensor: int, sid: int) -> None:
        """RELEASE_STAGE of a K or V tile."""
        self.program.emit("RELEASE_STAGE", tag=tensor, sid=sid)

    def softmax(self) -> None:
        """Wait for the other consumers to have issued their Q K^T, then the bubble."""
        pipeline = self.shape.kernel.pipeline
        if pipeline.ping_pong:
            others = pipeline.consumer_warpgroups - 1
            self.program.emit("BAR_WAIT", tag=TAG_SOFTMAX, bid=self.index, count=others)
        self.program.emit("BUBBLES", tag=TAG_SOFTMAX, cycles=self.shape.softmax_cycles)

    def store(self) -> None:
        """Store this consumer's rows of O and wait for them."""
        row = self.index * self.shape.consumer_rows
        smem = row * self.shape.head_dim * DTYPES[self.shape.dtype]
        self.program.emit("TMA_STORE", tag=MAP_O, smem=smem, gmem=(0, 0, row, 0), map=MAP_O, gid=0)
        self.program.emit("TMA_COMMIT", gid=0)
        self.program.emit("TMA_WAIT", tag=MAP_O, gid=0, count=0)

    def _gemm(self, n: int, k: int, tag: int, mode: str) -> None:
        """An M x n x k product as a group of its own."""
        self.gid += 1
        b = f"{'k' if tag == TAG_QK else 'v'}{self.stages[MAP_K if tag == TAG_QK else MAP_V]}"
        gemm(self.program, self.shape, n, k, tag, b, mode, self.gid)


def gemm(program: Program, shape: Shape, n: int, k: int, tag: int, b: str, mode: str = "SS", gid: int = 0) -> None:
    """An M x n x k product of one consumer as a group of WGMMAs of m64; a partial one costs a whole one."""
    dtype = shape.wgmma_dtype
    d, a = ("s", "q") if tag == TAG_QK else ("o", "p")
    instructions = -(-k // WGMMA_K[dtype]) * -(-shape.consumer_rows // WGMMA_M)
    for first in range(0, n, WGMMA_N_MAX):
        width = -(-min(n - first, WGMMA_N_MAX) // WGMMA_N_STEP) * WGMMA_N_STEP
        for _ in range(instructions):
            program.emit(
                "WGMMA", tag=tag, d=d, a=a, b=b, n=width, k=WGMMA_K[dtype], dtype=dtype, mode=mode, gid=gid
            )  # fmt: skip
    program.emit("WGMMA_COMMIT", gid=gid)


def tile_order(kernel: KernelSpec, tiles: int, backward: bool = False) -> list[int]:
    """K/V tiles of a CTA in the order in which it reads them; `backward`: a sawtooth's way back."""
    from_last = (kernel.pipeline.kv_order == "last_to_first") != backward
    return list(range(tiles))[::-1] if from_last else list(range(tiles))


def stage_id(kernel: KernelSpec, tensor: int, step: int) -> int:
    """Stage of the K or V tile of a step: Q has the first mbarrier, then the K ring, then the V ring."""
    pipeline = kernel.pipeline
    if tensor == MAP_K:
        return 1 + step % pipeline.k_stages
    return 1 + pipeline.k_stages + step % pipeline.v_stages


def load_q(program: Program) -> None:
    """TMA_TENSOR of the CTA's query tile; its stage is used once, so there is nothing to acquire."""
    program.emit("TMA_TENSOR", tag=MAP_Q, smem=0, gmem=(0, 0, 0, 0), map=MAP_Q, sid=SID_Q)


def load(program: Program, shape: Shape, tensor: int, tile: int, sid: int) -> None:
    """ACQUIRE_STAGE and TMA_TENSOR of one K or V tile, its coordinates from its index.

    With multicast it is the first CTA's share of the tile; the origins of the others lie further down.
    """
    program.emit("ACQUIRE_STAGE", tag=tensor, sid=sid)
    first = (0, 0, tile * shape.kernel.tile.kv_rows, 0)
    shared = {"multicast": shape.multicast} if shape.multicast else {}
    program.emit("TMA_TENSOR", tag=tensor, smem=shape.stage_offset(sid), gmem=first, map=tensor, sid=sid, **shared)
