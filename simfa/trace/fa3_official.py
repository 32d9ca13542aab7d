"""FlashAttention-3's warpgroup roles as the official Hopper kernel runs them, for persistent CTAs.

Three differences to `simfa.trace.fa3`, which reads the paper literally: a CTA goes from tile to tile, each
warpgroup at its own pace, so the next tile's K and Q load during the last one's epilogue; the consumers take turns
at issuing GEMMs, the next Q K^T and the last P V together; softmax is phases on the SM's shared pipes. Programs are
loops: one serves every tile, whose number of masked and plain steps the launch gives (`turns`). Steps run from the
last K/V block to the first.
"""

from dataclasses import dataclass

from simfa.isa import Program
from simfa.trace.fa3 import (
    MAP_K,
    MAP_NAMES,
    MAP_O,
    MAP_Q,
    MAP_V,
    SID_Q,
    TAG_EPILOGUE,
    TAG_EXP,
    TAG_PV,
    TAG_QK,
    TAG_SOFTMAX,
    Shape,
    gemm,
)  # fmt: skip
from simfa.trace.phases import Bubbles, Softmax

COUNTER = {MAP_K: 0, MAP_V: 1}
WROTE_O, READ_V = 3, 4  # named barriers after the consumers' own: O is in shared memory; V is no longer read
MASKED, PLAIN = 0, 1  # loops: further steps with a mask, then those without
__all__ = ["MAP_NAMES", "Kernel", "empty_roles", "primed_barriers", "roles"]


@dataclass(frozen=True)
class Kernel:
    """The shape, the softmax's phases, and what each tile costs a consumer beyond GEMMs, softmax and store.

    `rescale_first`: O is rescaled before P V is issued, which keeps the tensor core waiting, instead of after it.
    `overlaps`: a warpgroup's softmax runs beside its own P V; without, Q K^T, softmax and P V follow one another.
    `prologue_overlaps`: the next tile's first K and Q load before the last tile's O has left.
    """

    shape: Shape
    softmax: Softmax | Bubbles
    overhead_cycles: int
    p_in_shared: bool
    rescale_first: bool = False
    overlaps: bool = True
    prologue_overlaps: bool = True

    @property
    def sid_o(self) -> int:
        """O takes V's place in shared memory: the producer must not load V before O has left."""
        pipeline = self.shape.kernel.pipeline
        return 1 + pipeline.k_stages + pipeline.v_stages


def roles(kernel: Kernel) -> list[Program]:
    """Producer and consumers for tiles with at least one step."""
    consumers = range(kernel.shape.kernel.pipeline.consumer_warpgroups)
    return [_producer(kernel), *(_Consumer(kernel, index).written() for index in consumers)]


def empty_roles(kernel: Kernel) -> list[Program]:
    """For tiles whose rows a mask leaves nothing of: no load, a store of zeros."""
    producer = Program()
    producer.emit("ACQUIRE_STAGE", sid=kernel.sid_o)
    consumers = [_Consumer(kernel, index) for index in range(kernel.shape.kernel.pipeline.consumer_warpgroups)]
    for role in consumers:
        role.overhead()
        role.store()
    return [producer, *(role.program for role in consumers)]


def primed_barriers(kernel: Kernel) -> dict[int, int]:
    """Named barriers with an arrival before the kernel begins: the first consumer may issue first."""
    return {0: 1} if kernel.shape.kernel.pipeline.ping_pong else {}


def _producer(kernel: Kernel) -> Program:
    """First K, Q once its last use is over, then each next K before the previous V (sections 5.1, 5.2)."""
    program = Program()
    if not kernel.prologue_overlaps:
        program.emit("ACQUIRE_STAGE", tag=MAP_O, sid=kernel.sid_o)
    _load(program, kernel, MAP_K)
    program.emit("ACQUIRE_STAGE", tag=MAP_Q, sid=SID_Q)
    program.emit("TMA_TENSOR", tag=MAP_Q, smem=0, gmem=(0, 0, 0, 0), map=MAP_Q, sid=SID_Q)
    if kernel.prologue_overlaps:
        program.emit("ACQUIRE_STAGE", tag=MAP_O, sid=kernel.sid_o)
    for loop in (MASKED, PLAIN):
        program.emit("LOOP", bid=loop, count=0)
        _load(program, kernel, MAP_K)
        _load(program, kernel, MAP_V)
        program.emit("END_LOOP", bid=loop)
    _load(program, kernel, MAP_V)
    return program


def _load(program: Program, kernel: Kernel, tensor: int) -> None:
    ring = _ring(kernel, tensor)
    step = -kernel.shape.kernel.tile.kv_rows
    if kernel.shape.kernel.pipeline.kv_order == "first_to_last":
        step = -step
    program.emit("ACQUIRE_STAGE", tag=tensor, **ring)
    first = {"smem": kernel.shape.stage_offset(ring["sid"]), "gmem": (0, 0, 0, 0)}
    shared = {"multicast": kernel.shape.multicast} if kernel.shape.multicast else {}
    program.emit("TMA_TENSOR", tag=tensor, map=tensor, step=step, advance=1, **first, **ring, **shared)


def _ring(kernel: Kernel, tensor: int) -> dict[str, int]:
    """Where a tensor's ring of stages begins, its length, and the counter that walks it."""
    pipeline = kernel.shape.kernel.pipeline
    first, stages = (1, pipeline.k_stages) if tensor == MAP_K else (1 + pipeline.k_stages, pipeline.v_stages)
    return {"sid": first, "stages": stages, "counter": COUNTER[tensor]}


class _Consumer:
    """Writes one consumer warpgroup's program."""

    def __init__(self, kernel: Kernel, index: int) -> None:
        self.kernel, self.index = kernel, index
        self.shape, self.softmax = kernel.shape, kernel.softmax
        self.program = Program()

    def written(self) -> Program:
        """The whole program of a tile."""
        self.program.emit("MB_WAIT", tag=MAP_Q, sid=SID_Q)
        self._first_step()
        for loop in (MASKED, PLAIN):
            self.program.emit("LOOP", bid=loop, count=0)
            self._step(masked=loop == MASKED)
            self.program.emit("END_LOOP", bid=loop)
        self._last_step()
        self.overhead()
        self.store()
        return self.program

    def overhead(self) -> None:
        """What a tile costs beyond what is modelled: scheduler, descriptors, registers to shared memory."""
        if self.kernel.overhead_cycles:
            self.program.emit("BUBBLES", tag=TAG_EPILOGUE, cycles=self.kernel.overhead_cycles)

    def store(self) -> None:
        """Once all have read V, O to shared memory in its place; the last consumer stores the tile for all."""
        others = [index for index in range(self._consumers) if index != self.index]
        for index in others:
            self.program.emit("BAR_ARRIVE", tag=TAG_EPILOGUE, bid=READ_V + index)
        if others:
            self.program.emit("BAR_WAIT", tag=TAG_EPILOGUE, bid=READ_V + self.index, count=len(others))
        self._phases(self.softmax.output_to_shared())
        if self.index != self._consumers - 1:
            self.program.emit("BAR_ARRIVE", tag=TAG_EPILOGUE, bid=WROTE_O)
            return
        if others:
            self.program.emit("BAR_WAIT", tag=TAG_EPILOGUE, bid=WROTE_O, count=len(others))
        for row in range(0, self.shape.kernel.tile.query_rows, self.shape.consumer_rows):
            first = row // self.shape.packed_heads
            self.program.emit("TMA_STORE", tag=MAP_O, gmem=(0, 0, first, 0), map=MAP_O, gid=0)
        self.program.emit("TMA_COMMIT", gid=0)
        self.program.emit("TMA_WAIT", tag=MAP_O, gid=0, count=0)
        self.program.emit("RELEASE_STAGE", tag=MAP_O, sid=self.kernel.sid_o)

    @property
    def _consumers(self) -> int:
        return self.shape.kernel.pipeline.consumer_warpgroups

    def _first_step(self) -> None:
        """Q K^T of the first block and its softmax; nothing to overlap with yet."""
        self._wait(MAP_K)
        self._gemm_qk()
        self._finish(0, TAG_QK)
        self._release(MAP_K)
        self._phases(self.softmax.scores(masked=True))
        self._phases(self.softmax.probabilities(self.kernel.p_in_shared))

    def _step(self, masked: bool) -> None:
        """The last P V and the next Q K^T, and the softmax of its scores."""
        if self.kernel.overlaps:
            self._overlapped_step(masked)
        else:
            self._serial_step(masked)

    def _serial_step(self, masked: bool) -> None:
        """P V to its end, then Q K^T to its end, then softmax."""
        self._wait(MAP_V)
        self._gemm_pv()
        self._finish(0, TAG_PV)
        self._release(MAP_V)
        self._wait(MAP_K)
        self._await_turn()
        self._gemm_qk()
        self._finish(0, TAG_QK)
        self._pass_turn()
        self._release(MAP_K)
        self._phases(self.softmax.scores(masked))
        self._phases(self.softmax.probabilities(self.kernel.p_in_shared))
        self._phases(self.softmax.rescale())

    def _overlapped_step(self, masked: bool) -> None:
        """The next Q K^T and the last P V go to the tensor core together; softmax runs beside P V."""
        self._wait(MAP_K)
        self._await_turn()
        self._gemm_qk()
        if self.kernel.rescale_first:
            self._phases(self.softmax.rescale())
        self._wait(MAP_V)
        self._gemm_pv()
        self._pass_turn()
        self._finish(1, TAG_QK)
        self._release(MAP_K)
        self._phases(self.softmax.scores(masked))
        self._finish(0, TAG_PV)
        self._release(MAP_V)
        self._phases(self.softmax.probabilities(self.kernel.p_in_shared))
        if not self.kernel.rescale_first:
            self._phases(self.softmax.rescale())

    def _last_step(self) -> None:
        """P V of the last block, with Q free for the next tile; the row sums and the last rescaling of O."""
        self.program.emit("RELEASE_STAGE", tag=MAP_Q, sid=SID_Q)
        if self.kernel.rescale_first and self.kernel.overlaps:
            self._phases(self.softmax.rescale())
        self._wait(MAP_V)
        self._gemm_pv()
        self._phases(self.softmax.row_sums())
        self._finish(0, TAG_PV)
        self._release(MAP_V)
        self._phases(self.softmax.rescale())

    def _await_turn(self) -> None:
        """With ping-pong, until the warpgroup before has issued its GEMMs."""
        if self.shape.kernel.pipeline.ping_pong:
            self.program.emit("BAR_WAIT", tag=TAG_SOFTMAX, bid=self.index, count=1)

    def _pass_turn(self) -> None:
        if self.shape.kernel.pipeline.ping_pong:
            following = (self.index + 1) % self._consumers
            self.program.emit("BAR_ARRIVE", tag=TAG_SOFTMAX, bid=following)

    def _wait(self, tensor: int) -> None:
        self.program.emit("MB_WAIT", tag=tensor, **_ring(self.kernel, tensor))

    def _release(self, tensor: int) -> None:
        self.program.emit("RELEASE_STAGE", tag=tensor, advance=1, **_ring(self.kernel, tensor))

    def _gemm_qk(self) -> None:
        gemm(self.program, self.shape, self.shape.kernel.tile.kv_rows, self.shape.head_dim, TAG_QK, b="k")

    def _gemm_pv(self) -> None:
        mode = "SS" if self.kernel.p_in_shared else "RS"
        gemm(
            self.program, self.shape, self.shape.head_dim, self.shape.kernel.tile.kv_rows, TAG_PV, b="v", mode=mode
        )

    def _finish(self, count: int, tag: int) -> None:
        self.program.emit("WGMMA_WAIT", tag=tag, gid=0, count=count)

    def _phases(self, found: list[dict[str, int]]) -> None:
        for phase in found:
            self.program.emit("PHASE", tag=TAG_EXP if phase["mufu"] else TAG_SOFTMAX, **phase)
