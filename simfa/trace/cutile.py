"""A synchronous tile kernel, such as cuTile's on GB10, as programs: TMA loads, mma.sync products, no overlap.

The paper's section 6.1 runs cuTile FlashAttention; how its compiler orders a tile is not published. Here one thread
loads Q, then K and V tile by tile, and one group of warps computes: Q K^T, softmax, P V, each done before the next
begins, as mma.sync returns its result. Only loads run ahead, by as many tiles as there are stages, and of two
CTAs on an SM one computes its softmax while the other has the tensor core.

mma.sync is written down as WGMMA pieces of m64 and k16 with a wait for the group right after: a product takes
its FLOPs over the tensor core's rate, whatever its pieces. Coordinates are as in `simfa.trace.fa3`.
"""

from simfa.isa import Program
from simfa.trace.fa3 import (
    MAP_K,
    MAP_O,
    MAP_Q,
    MAP_V,
    SID_Q,
    TAG_PV,
    TAG_QK,
    TAG_SOFTMAX,
    Shape,
    gemm,
    load,
    load_q,
    stage_id,
    tile_order,
)


def roles(shape: Shape, tiles: int, backward: bool = False) -> list[Program]:
    """Loader and one computing group of a CTA that reads `tiles` K/V tiles; `backward` turns their order round."""
    order = tile_order(shape.kernel, tiles, backward)
    return [loader(shape, order), compute(shape, order)]


def loader(shape: Shape, order: list[int]) -> Program:
    """Q, then K and V of each step as their stages become free."""
    program = Program()
    load_q(program)
    for step, tile in enumerate(order):
        for tensor in (MAP_K, MAP_V):
            load(program, shape, tensor, tile, stage_id(shape.kernel, tensor, step))
    return program


def compute(shape: Shape, order: list[int]) -> Program:
    """Per step Q K^T, softmax, P V, each waited for; then O is stored."""
    program = Program()
    program.emit("MB_WAIT", tag=MAP_Q, sid=SID_Q)
    for step in range(len(order)):
        _product(program, shape, MAP_K, step)
        program.emit("BUBBLES", tag=TAG_SOFTMAX, cycles=shape.softmax_cycles)
        _product(program, shape, MAP_V, step)
    program.emit("TMA_STORE", tag=MAP_O, smem=0, gmem=(0, 0, 0, 0), map=MAP_O, gid=0)
    program.emit("TMA_COMMIT", gid=0)
    program.emit("TMA_WAIT", tag=MAP_O, gid=0, count=0)
    return program


def _product(program: Program, shape: Shape, tensor: int, step: int) -> None:
    """Wait for a tile, multiply, wait for the result, give the stage back. Q K^T with K, P V with V."""
    sid, gid = stage_id(shape.kernel, tensor, step), 2 * step + (tensor == MAP_V)
    sizes, tag = (shape.kernel.tile.kv_rows, shape.head_dim), TAG_QK
    if tensor == MAP_V:
        sizes, tag = sizes[::-1], TAG_PV
    program.emit("MB_WAIT", tag=tensor, sid=sid)
    gemm(program, shape, *sizes, tag, f"{'v' if tensor == MAP_V else 'k'}{sid}", "RS", gid)
    program.emit("WGMMA_WAIT", tag=tag, gid=gid, count=0)
    program.emit("RELEASE_STAGE", tag=tensor, sid=sid)
