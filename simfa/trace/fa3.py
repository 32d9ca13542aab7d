"""FlashAttention-3's three warpgroup roles as programs (paper, section 5.2 and Table 4).

One producer warpgroup loads; consumer warpgroups overlap the next Q K^T with the last P V and hand the tensor
core to each other by named barriers (ping-pong). A program is written for a number of K/V tiles and shared by
all CTAs that read that many; each CTA brings its own tensor bases.
"""

from dataclasses import dataclass

from presets.specs import KernelSpec
from simfa.isa import WGMMA_K, WGMMA_M, Program, wgmma_cycles

MAP_Q, MAP_K, MAP_V, MAP_O = range(4)
MAP_NAMES = ("Q", "K", "V", "O")
SID_Q = 0
TAG_QK, TAG_PV, TAG_SOFTMAX = 1, 2, 3


@dataclass(frozen=True)
class Shape:
    """What the programs of one kernel launch depend on: tile, pipeline, dtype and rates."""

    kernel: KernelSpec
    head_dim: int
    dtype: str
    flop_per_cycle: float
    softmax_cycles: int

    @property
    def consumer_rows(self) -> int:
        """Query rows of one consumer warpgroup: the paper's T_M = 64."""
        return self.kernel.tile.query_rows // self.kernel.pipeline.consumer_warpgroups


def roles(shape: Shape, tiles: int) -> list[Program]:
    """Producer and consumers of a CTA that reads `tiles` K/V tiles; with 0 tiles they only load Q, store O."""
    order = _tile_order(shape.kernel, tiles)
    consumers = range(shape.kernel.pipeline.consumer_warpgroups)
    return [producer(shape, order), *(consumer(shape, order, index) for index in consumers)]


def producer(shape: Shape, order: list[int]) -> Program:
    """First K, then Q, then each next K before the previous V, each into its ring-buffer stage."""
    program = Program()
    if order:
        _load(program, shape, MAP_K, order, 0)
    program.emit("TMA_TENSOR", tag=MAP_Q, map=MAP_Q, row=0, sid=SID_Q)
    for step in range(len(order)):
        if step + 1 < len(order):
            _load(program, shape, MAP_K, order, step + 1)
        _load(program, shape, MAP_V, order, step)
    return program


def consumer(shape: Shape, order: list[int], index: int) -> Program:
    """Q K^T of a tile overlaps P V of the tile before it; softmax runs while the other consumer has the MMA."""
    program = Program()
    program.emit("MB_WAIT", tag=MAP_Q, sid=SID_Q)
    for step in range(len(order)):
        _wait(program, shape, MAP_K, step)
        if shape.kernel.pipeline.ping_pong:
            _arrive_at_others(program, shape, index)
        _gemm_qk(program, shape)
        if step > 0:
            _wait(program, shape, MAP_V, step - 1)
            _gemm_pv(program, shape)
        program.emit("WGMMA_WAIT", tag=TAG_QK, count=min(step, 1))
        _release(program, shape, MAP_K, step)
        if shape.kernel.pipeline.ping_pong:
            others = shape.kernel.pipeline.consumer_warpgroups - 1
            program.emit("BAR_WAIT", tag=TAG_SOFTMAX, bid=index, count=others)
        program.emit("BUBBLES", tag=TAG_SOFTMAX, cycles=shape.softmax_cycles)
        if step > 0:
            program.emit("WGMMA_WAIT", tag=TAG_PV, count=0)
            _release(program, shape, MAP_V, step - 1)
    if order:
        _wait(program, shape, MAP_V, len(order) - 1)
        _gemm_pv(program, shape)
        program.emit("WGMMA_WAIT", tag=TAG_PV, count=0)
        _release(program, shape, MAP_V, len(order) - 1)
    program.emit("TMA_STORE", tag=MAP_O, map=MAP_O, row=index * shape.consumer_rows)
    program.emit("TMA_COMMIT")
    program.emit("TMA_WAIT", tag=MAP_O, count=0)
    return program


def _tile_order(kernel: KernelSpec, tiles: int) -> list[int]:
    backward = kernel.pipeline.kv_order == "last_to_first"
    return list(range(tiles))[::-1] if backward else list(range(tiles))


def _sid(kernel: KernelSpec, tensor: int, step: int) -> int:
    """Stage of the K or V tile of a step: Q has the first mbarrier, then the K ring, then the V ring."""
    pipeline = kernel.pipeline
    if tensor == MAP_K:
        return 1 + step % pipeline.k_stages
    return 1 + pipeline.k_stages + step % pipeline.v_stages


def _load(program: Program, shape: Shape, tensor: int, order: list[int], step: int) -> None:
    sid = _sid(shape.kernel, tensor, step)
    program.emit("ACQUIRE_STAGE", tag=tensor, sid=sid)
    row = order[step] * shape.kernel.tile.kv_rows
    program.emit("TMA_TENSOR", tag=tensor, map=tensor, row=row, sid=sid)


def _wait(program: Program, shape: Shape, tensor: int, step: int) -> None:
    program.emit("MB_WAIT", tag=tensor, sid=_sid(shape.kernel, tensor, step))


def _release(program: Program, shape: Shape, tensor: int, step: int) -> None:
    program.emit("RELEASE_STAGE", tag=tensor, sid=_sid(shape.kernel, tensor, step))


def _arrive_at_others(program: Program, shape: Shape, index: int) -> None:
    for other in range(shape.kernel.pipeline.consumer_warpgroups):
        if other != index:
            program.emit("BAR_ARRIVE", tag=TAG_QK, bid=other)


def _gemm_qk(program: Program, shape: Shape) -> None:
    _gemm(program, shape, n=shape.kernel.tile.kv_rows, k=shape.head_dim, tag=TAG_QK)


def _gemm_pv(program: Program, shape: Shape) -> None:
    _gemm(program, shape, n=shape.head_dim, k=shape.kernel.tile.kv_rows, tag=TAG_PV)


def _gemm(program: Program, shape: Shape, n: int, k: int, tag: int) -> None:
    """An M x n x k product as WGMMAs of m64, committed as one group; a partial tile costs a whole one."""
    cycles = wgmma_cycles(n, shape.dtype, shape.flop_per_cycle)
    count = -(-k // WGMMA_K[shape.dtype]) * -(-shape.consumer_rows // WGMMA_M)
    for _ in range(count):
        program.emit("WGMMA", tag=tag, cycles=cycles)
    program.emit("WGMMA_COMMIT")
