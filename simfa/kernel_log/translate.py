"""From a kernel log to a trace (section 5.2).

The warps of a warpgroup must tell the same story, which becomes that of one logical thread. Then, event by event:

    TMA_Q_ISSUE                  TMA_TENSOR (Q is loaded once, there is nothing to acquire)
    TMA_K_ISSUE, TMA_V_ISSUE     ACQUIRE_STAGE, TMA_TENSOR; the box from the tile index and the tensor map
    WAIT_K_START, WAIT_V_START   MB_WAIT
    GEMM_QK_ISSUE                BAR_ARRIVE (ping-pong), the WGMMAs of Q K^T, WGMMA_COMMIT
    GEMM_PV_ISSUE                the WGMMAs of P V, WGMMA_COMMIT
    WAIT_WG_1                    WGMMA_WAIT N = 1, RELEASE_STAGE of K, BAR_WAIT (ping-pong), bubbles
    WAIT_WG_0                    WGMMA_WAIT N = 0, RELEASE_STAGE of V; of K, BAR_WAIT and bubbles where Q K^T was
                                 still in flight, as in the first tile

A consumer begins with MB_WAIT for Q and ends with TMA_STORE of its rows of O, TMA_COMMIT and TMA_WAIT, which the
kernel does not log. What does not fit the kernel's protocol is an error that names the entry.
"""

from typing import NoReturn

import numpy as np

from presets import loader
from presets.specs import GpuSpec, KernelSpec, PipelineSpec, TileSpec
from simfa.isa import Program
from simfa.kernel_log.format import (
    DTYPES,
    EVENT_NAMES,
    EVENTS,
    PRODUCER_EVENTS,
    TENSORS,
    WARPS_PER_WARPGROUP,
    Log,
    LogError,
)
from simfa.trace import fa3
from simfa.trace.bubbles import THREADS_PER_WARPGROUP, softmax_cycles
from simfa.trace.model import Cta, Launch, Trace
from simfa.trace.tensor_map import TensorMap


def translate(log: Log, gpu: GpuSpec) -> Trace:
    """The trace of a log; the GPU's ALU rates give the softmax bubbles. Raises LogError."""
    return _Translator(log, gpu).trace()


def kernel_of(log: Log) -> KernelSpec:
    """The kernel as the header describes it."""
    header = log.header
    consumers = header["warps_per_block"] // WARPS_PER_WARPGROUP - 1
    if header["query_rows"] % consumers:
        raise LogError(f"{log.name}: header: {consumers} consumers cannot share {header['query_rows']} query rows")
    base = loader.load(KernelSpec, "fa3")
    pipeline = PipelineSpec.model_construct(
        consumer_warpgroups=consumers,
        k_stages=header["k_stages"],
        v_stages=header["v_stages"],
        occupancy_ctas=header["ctas_per_sm"],
        cluster_ctas=header["cluster"],
        ping_pong=bool(header["ping_pong"]),
        kv_order="last_to_first",
    )
    tile = TileSpec(query_rows=header["query_rows"], kv_rows=header["kv_rows"])
    return base.model_copy(update={"tile": tile, "pipeline": pipeline})


class _Translator:
    """One log: its kernel, and the programs found so far, each written once however many blocks run it."""

    def __init__(self, log: Log, gpu: GpuSpec) -> None:
        self.log, self.header, self.gpu = log, log.header, gpu
        self.kernel = kernel_of(log)
        self.consumers = self.kernel.pipeline.consumer_warpgroups
        rows = self.kernel.tile.query_rows // self.consumers
        bubble = softmax_cycles(gpu.alu, rows, self.kernel.tile.kv_rows, self.header["head_dim"]).total
        self.shape = fa3.Shape(self.kernel, self.header["head_dim"], DTYPES[self.header["dtype"]], bubble)
        self.query_tiles = -(-self.header["seq_q"] // self.kernel.tile.query_rows)
        self.kv_tiles = -(-self.header["seq_kv"] // self.kernel.tile.kv_rows)
        self.programs: dict[str, Program] = {}
        self.names: dict[tuple[int, bytes], str] = {}

    def trace(self) -> Trace:
        """All blocks as CTAs, in order."""
        ctas = tuple(self._cta(block) for block in range(self.header["blocks"]))
        pipeline, sm = self.kernel.pipeline, self.gpu.sm
        shared = self.kernel.shared_memory_bytes(self.header["head_dim"], self._element_bytes())
        threads = THREADS_PER_WARPGROUP * (1 + self.consumers) * pipeline.occupancy_ctas
        registers = min(sm.registers // threads // 8 * 8, 255)
        launch = Launch(shared, registers, pipeline.cluster_ctas, pipeline.occupancy_ctas)
        return Trace(self._maps(), self.programs, ctas, launch)

    def _element_bytes(self) -> int:
        return {"fp8": 1, "fp16": 2, "bf16": 2, "fp32": 4}[self.shape.dtype]

    def _maps(self) -> tuple[TensorMap, ...]:
        header, tile = self.header, self.kernel.tile
        box_rows = {"q": tile.query_rows, "k": tile.kv_rows, "v": tile.kv_rows, "o": self.shape.consumer_rows}
        found = []
        for name in TENSORS:
            side = "q" if name in "qo" else "kv"
            dims = (header["head_dim"], header[f"heads_{side}"], header[f"seq_{side}"], header["batch"])
            strides = tuple(header[f"{name}_{axis}_stride"] for axis in ("head", "row", "batch"))
            box = (header["head_dim"], 1, box_rows[name], 1)
            found.append(TensorMap(name.upper(), dims, strides, box, self._element_bytes(), header[f"{name}_base"]))
        return tuple(found)

    def _cta(self, block: int) -> Cta:
        tile, rest = block % self.query_tiles, block // self.query_tiles
        head, batch = rest % self.header["heads_q"], rest // self.header["heads_q"]
        groups = [self._merged(block, group) for group in range(1 + self.consumers)]
        self._check_loads(block, groups)
        names = [self._producer(block, tile, *groups[0])]
        names += [self._consumer(block, index, *groups[1 + index]) for index in range(self.consumers)]
        kv_head = head // (self.header["heads_q"] // self.header["heads_kv"])
        query, keys = (0, head, tile * self.kernel.tile.query_rows, batch), (0, kv_head, 0, batch)
        return Cta(tuple(names), tuple(enumerate((query, keys, keys, query))))

    def _merged(self, block: int, group: int) -> tuple[int, np.ndarray]:
        """A warp and the events (event, stage, payload) of its warpgroup.

        All four warps must have recorded alike, but those of the producer may be silent.
        """
        found: tuple[int, np.ndarray] | None = None
        for warp in range(group * WARPS_PER_WARPGROUP, (group + 1) * WARPS_PER_WARPGROUP):
            entries = self.log.entries[block, warp]
            used = entries[entries["event"] != 0]
            own = np.stack([used["event"], used["stage"], used["payload"]], axis=1)
            if group == 0 and len(own) == 0:
                continue
            if found is None:
                found = (warp, own)
            elif len(own) != len(found[1]) or (own != found[1]).any():
                self._disagree(block, (warp, own), found)
        if found is None:
            raise LogError(f"{self.log.name}: block {block}: no warp of the producer recorded anything")
        return found

    def _disagree(self, block: int, one: tuple[int, np.ndarray], other: tuple[int, np.ndarray]) -> NoReturn:
        length = min(len(one[1]), len(other[1]))
        differing = np.nonzero((one[1][:length] != other[1][:length]).any(axis=1))[0]
        entry = int(differing[0]) if len(differing) else length
        where = self.log.place(block, one[0], entry)
        raise LogError(f"{where}: differs from warp {other[0]} of the same warpgroup; all four must record alike")

    def _check_loads(self, block: int, groups: list[tuple[int, np.ndarray]]) -> None:
        """Every consumer must wait for the K and V stages that the producer loads, in that order."""
        for kind in "KV":
            loaded = _stages(groups[0][1], f"TMA_{kind}_ISSUE")
            for index, (_, events) in enumerate(groups[1:], start=1):
                waited = _stages(events, f"WAIT_{kind}_START")
                if waited != loaded:
                    raise LogError(
                        f"{self.log.name}: block {block}: the producer loads {len(loaded)} {kind} tiles into "
                        f"stages {loaded[:8]}, consumer {index} waits for {len(waited)} in stages {waited[:8]}"
                    )

    def _name(self, role: int, prefix: str, events: np.ndarray) -> tuple[str, bool]:
        """The name of a role's program for some events, and whether it is new."""
        key = (role, np.ascontiguousarray(events).tobytes())
        new = key not in self.names
        if new:
            self.names[key] = f"{prefix}_{sum(number == role for number, _ in self.names)}"
        return self.names[key], new

    def _producer(self, block: int, query_tile: int, warp: int, events: np.ndarray) -> str:
        is_q = events[:, 0] == EVENTS["TMA_Q_ISSUE"]
        tiles = events[is_q, 2].tolist()
        if tiles != [query_tile] or events[is_q, 1].any():
            raise LogError(
                f"{self.log.name}: block {block}, warp {warp}: expected TMA_Q_ISSUE once, for query tile "
                f"{query_tile} and stage 0; got tiles {tiles}; "
                "log every output tile of a persistent kernel as a block of its own"
            )
        alike = events.copy()
        alike[is_q, 2] = 0
        name, new = self._name(0, "producer", alike)
        if new:
            self.programs[name] = self._producer_program(block, warp, events)
        return name

    def _producer_program(self, block: int, warp: int, events: np.ndarray) -> Program:
        program = Program()
        for entry, event in enumerate(events):
            kind, stage, tile = _fields(event)
            if kind not in PRODUCER_EVENTS:
                self._fail(block, warp, entry, f"{kind} in the producer warpgroup")
            if kind == "TMA_Q_ISSUE":
                fa3.load_q(program)
                continue
            if tile >= self.kv_tiles:
                self._fail(block, warp, entry, f"{kind} of tile {tile}; there are {self.kv_tiles}")
            tensor = fa3.MAP_K if kind == "TMA_K_ISSUE" else fa3.MAP_V
            fa3.load(program, self.shape, tensor, tile, self._sid(tensor, stage, block, warp, entry))
        return program

    def _consumer(self, block: int, index: int, warp: int, events: np.ndarray) -> str:
        name, new = self._name(1 + index, f"consumer{1 + index}", events)
        if new:
            self.programs[name] = self._consumer_program(block, index, warp, events)
        return name

    def _consumer_program(self, block: int, index: int, warp: int, events: np.ndarray) -> Program:
        role = fa3.Consumer(self.shape, index)
        waited: dict[int, int] = {}  # K or V: stage waited for, GEMM not issued
        flying: dict[int, int] = {}  # K or V: stage whose GEMM is in flight
        for entry, event in enumerate(events):
            kind, stage, _ = _fields(event)
            tensor = fa3.MAP_K if kind in ("WAIT_K_START", "GEMM_QK_ISSUE") else fa3.MAP_V
            if kind in ("WAIT_K_START", "WAIT_V_START"):
                if tensor in waited:
                    self._fail(block, warp, entry, f"{kind} before the GEMM on the stage waited for before")
                waited[tensor] = self._sid(tensor, stage, block, warp, entry)
                role.wait_for(tensor, waited[tensor])
            elif kind in ("GEMM_QK_ISSUE", "GEMM_PV_ISSUE"):
                sid = self._sid(tensor, stage, block, warp, entry)
                if waited.pop(tensor, None) != sid or tensor in flying:
                    self._fail(block, warp, entry, f"{kind} on stage {stage} without a wait for it before")
                flying[tensor] = sid
                (role.gemm_qk if tensor == fa3.MAP_K else role.gemm_pv)()
            elif kind in ("WAIT_WG_1", "WAIT_WG_0"):
                self._wait(role, kind, flying, (block, warp, entry))
            else:
                self._fail(block, warp, entry, f"{kind} in a consumer warpgroup")
        if waited or flying:
            self._fail(block, warp, len(events), "the end of the log with a stage waited for or a GEMM in flight")
        role.store()
        return role.program

    def _wait(self, role: fa3.Consumer, kind: str, flying: dict[int, int], where: tuple[int, int, int]) -> None:
        """WAIT_WG_1: Q K^T is done, P V may go on. WAIT_WG_0: everything is done."""
        scores = flying.pop(fa3.MAP_K, None)
        if kind == "WAIT_WG_1" and (scores is None or fa3.MAP_V not in flying):
            self._fail(*where, "WAIT_WG_1 without both Q K^T and P V in flight")
        if scores is None and fa3.MAP_V not in flying:
            self._fail(*where, "WAIT_WG_0 with no GEMM in flight")
        role.wait_groups(int(kind == "WAIT_WG_1"), fa3.TAG_PV if scores is None else fa3.TAG_QK)
        if scores is not None:
            role.release(fa3.MAP_K, scores)
        if kind == "WAIT_WG_0" and fa3.MAP_V in flying:
            role.release(fa3.MAP_V, flying.pop(fa3.MAP_V))
        if scores is not None:
            role.softmax()

    def _sid(self, tensor: int, stage: int, block: int, warp: int, entry: int) -> int:
        stages = self.header["k_stages"] if tensor == fa3.MAP_K else self.header["v_stages"]
        if stage >= stages:
            self._fail(block, warp, entry, f"stage {stage} of {fa3.MAP_NAMES[tensor]}; there are {stages}")
        return fa3.stage_id(self.kernel, tensor, stage)

    def _fail(self, block: int, warp: int, entry: int, what: str) -> NoReturn:
        raise LogError(f"{self.log.place(block, warp, entry)}: {what}")


def _fields(event: np.ndarray) -> tuple[str, int, int]:
    return EVENT_NAMES[int(event[0])], int(event[1]), int(event[2])


def _stages(events: np.ndarray, name: str) -> list[int]:
    return [int(stage) for stage in events[events[:, 0] == EVENTS[name], 1]]
