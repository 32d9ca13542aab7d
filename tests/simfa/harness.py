"""Hand-written programs on a tiny GPU, without an Experiment: a timing test is a few lines.

`run(tiny(...), [role, role], maps=[box(...)])` builds a Machine, drives it to the end with the simulator's own
loop and returns what happened. The first instruction of an SM issues at cycle 0. By default memory answers every
line after `latency` cycles, hit or miss, with no queueing anywhere; tests switch on what they are about.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, NamedTuple

import numpy as np

from simfa import launch, simulate, stats
from simfa.engine import dispatch, events, loop, machine, probe, threads, tma
from simfa.engine.opcodes import RANKS
from simfa.isa import BY_NAME, Program
from simfa.memory.bounded.state import event_capacity
from simfa.trace import tensor_map
from simfa.trace.assemble import assemble, with_costs
from simfa.trace.fillings import Member
from simfa.trace.tensor_map import TensorMap
from tests.simfa.harness_memory import LINE, drain, leaks_of_memory, memory, memory_parts

__all__ = ["LINE", "drain", "leaks", "memory", "memory_parts", "program", "run", "tiny"]
SETUP = 40 + 130  # launch and TensorMap setup (section 4.3)
NAMES = dict(stats.REASON_NAMES)


@dataclass(frozen=True)
class Tiny:
    """A GPU of a few SMs. Latencies in cycles; the defaults leave no resource to queue for but the TMA's own."""

    sms: int = 1
    slots_per_sm: int = 1
    cluster: int = 1
    launch_cycles: int = 40
    setup_cycles: int = 130
    lines_per_cycle: int = 2
    inflight_lines: int = 64
    issue_buffer_entries: int = 16
    scheduler: str = "gto"
    issue_width: int = 1
    near_cycles: int = 258
    far_cycles: int = 258
    partitions: int = 1
    sm_partitions: tuple[int, ...] = ()
    slice_hash: str = "modulo"
    slices: int = 1
    sets: int = 64
    ways: int = 8
    mshrs: int = 256
    slice_cycles: float = 0
    dram_channels: int = 1
    dram_line_cycles: float = 0
    dram_latency_cycles: int = 0
    remote_copy_probability: float = 0.0
    remote_copy_way_share: float = 1.0
    sms_per_coalescer: int = 1
    operand_share: float = 0.0  # of the operand pipe that a WGMMA takes
    costs: tuple[tuple[str, int], ...] = ()  # cycles after an instruction, by name
    gemm_gap: int = 0
    wgmma_tail: int = 0
    schedule: str = "one_tile"
    primed: tuple[tuple[int, int], ...] = ()  # named barriers with arrivals before anything has run
    deduplicate: bool = True
    request_shift: int = -1
    descriptors: int = 0
    hit_cycles: int = 0
    multicast_cycles: int = 0
    remote_cycles: int = 2
    bounded: bool = False  # request and response queues, MSHRs and DRAM push back
    request_entries: int = 32
    response_entries: int = 128
    request_share: float = 0.5  # of the latency, on the way to the slice
    dram_queue_lines: int = 16
    dram_preset: str = ""  # of command-level channels; empty: in-order
    dram_ticks_per_cycle: Fraction = Fraction(1)
    dram_refresh: Literal["none", "all-bank"] = "none"
    dram_path_ticks: int = 0


ROWS = 10**6  # of every Box's tensor, unless limits say otherwise


class Box(NamedTuple):
    """One tensor map in two dimensions: rows of `row_bytes`, `stride_bytes` apart, `rows` of them in a box."""

    stride_bytes: int
    row_bytes: int
    rows: int


class Span(NamedTuple):
    """One observed activity of SM 0."""

    track: int
    name: str
    start: int
    end: int


@dataclass(frozen=True)
class Outcome:
    """A finished run: the machine, its last cycle, stalls by (role, reason), spans of SM 0."""

    machine: machine.Machine
    cycles: int
    stalls: dict[tuple[int, str], int]
    spans: list[Span]

    def of(self, name: str, track: int | None = None) -> list[tuple[int, int]]:
        """(start, end) of every span of an activity, in order of start."""
        return sorted((s.start, s.end) for s in self.spans if s.name == name and track in (None, s.track))

    @property
    def starts(self) -> list[int]:
        """Start cycle of every CTA."""
        return [int(cycle) for cycle in self.machine.grid.ctas["start_cycle"]]

    @property
    def ends(self) -> list[int]:
        """End cycle of every CTA."""
        return [int(cycle) for cycle in self.machine.grid.ctas["end_cycle"]]

    @property
    def slots(self) -> list[int]:
        """The slot in which every CTA ran."""
        return [int(slot) for slot in self.machine.grid.ctas["slot"]]

    def counted(self, name: str) -> int:
        """A counter summed over all L2 slices, or over all DRAM channels for `reads` and `writes`."""
        cache = self.machine.memory.cache
        return int((cache.channels if name in ("reads", "writes") else cache.slices)[name].sum())


def program(*lines: str) -> Program:
    """A program from lines like `TMA_TENSOR map=0 row=0 sid=1`; `3 * WGMMA cycles=64` repeats.

    `row=r` stands for the box that begins with row r of a Box, `at=5,0,-1` for its first coordinates. Operands
    left out are those of the table; the group of a wait is any (all groups) unless given.
    """
    written = Program()
    for line in lines:
        times, _, rest = line.rpartition(" * ")
        name, *operands = rest.split()
        values: dict[str, Any] = dict(operand.split("=") for operand in operands)
        values = {key: value if key in ("at", "mode", "dtype") else int(value) for key, value in values.items()}
        if "row" in values:
            values["gmem"] = (0, values.pop("row"))
        if "at" in values:
            values["gmem"] = tuple(map(int, values.pop("at").split(",")))
        if name in ("WGMMA_WAIT", "TMA_WAIT"):
            values.setdefault("gid", 1000)
        for _ in range(int(times or 1)):
            written.emit(name, **values)
    return written


def lines(count: int) -> Box:
    """A box of `count` consecutive lines."""
    return Box(LINE, LINE, count)


def build(
    gpu: Tiny,
    roles: Sequence[Any],
    maps: Sequence[Box | TensorMap] = (Box(LINE, LINE, 1),),
    ctas: int = 1,
    bases: Any = None,
    limits: Any = None,
    turns: Sequence[int] | None = None,
    kind_of: Sequence[int] | None = None,
) -> machine.Machine:
    """A machine at cycle 0: every CTA runs `roles`, Programs, or a list of Programs for each rank of a cluster.

    `bases` (bytes) and row `limits` of Boxes are by CTA and map, `turns` of loop 0 by CTA. With `kind_of`, of
    persistent CTAs of no cluster, tile n runs the `kind_of[n]`-th list of Programs.
    """
    tensors = [box if isinstance(box, TensorMap) else tensor_of(box) for box in maps]
    kinds = [roles] * gpu.cluster if isinstance(roles[0], Program) else roles
    places_of = [(0, [kind]) for kind in kinds] if kind_of else [(rank, kinds) for rank in range(gpu.cluster)]
    members = [Member(rank, cluster, gpu.schedule != "one_tile") for rank, cluster in places_of]
    code = assemble(kinds, tensors, None, members)
    launch.share_stages(code, members)
    engine = np.zeros(1, tma.CONFIG)
    shift = LINE.bit_length() - 1
    engine[0] = (
        gpu.launch_cycles,
        gpu.setup_cycles,
        gpu.lines_per_cycle,
        gpu.inflight_lines,
        shift,
        gpu.deduplicate,
        gpu.request_shift,
        gpu.descriptors,
        gpu.hit_cycles,
        gpu.multicast_cycles,
    )
    slots, count = gpu.sms * gpu.slots_per_sm, code.spans.shape[1]
    capacity = machine.event_capacity(
        gpu.sms,
        count * gpu.slots_per_sm,
        gpu.inflight_lines,
        gpu.issue_buffer_entries,
        gpu.issue_width * gpu.remote_cycles * (gpu.cluster - 1),
    )
    if gpu.bounded:
        capacity += event_capacity(gpu.sms, gpu.inflight_lines, gpu.slices, gpu.dram_channels)
    places = origins(maps, ctas, bases, limits)
    grid_ctas = np.zeros(ctas, dispatch.CTA)
    grid_ctas["program"] = np.arange(ctas) % gpu.cluster if kind_of is None else kind_of
    grid_ctas["turns"] = 0 if turns is None else turns
    grid = dispatch.make_grid(
        gpu.cluster,
        grid_ctas,
        places,
        code.spans,
        code.releasers,
        code.sources,
        slots,
        gpu.remote_cycles,
        gpu.schedule,
    )
    costs = {BY_NAME[name].opcode: cycles for name, cycles in gpu.costs}
    core = (gpu.scheduler, gpu.issue_width, gpu.gemm_gap, gpu.wgmma_tail, gpu.operand_share, dict(gpu.primed))
    return machine.Machine(
        grid,
        threads.make_threads(gpu.sms, gpu.slots_per_sm, count, *core),
        tma.make_tma(gpu.sms, engine, *tensor_map.encode(tuple(tensors)), code.starts, code.fills),
        memory(gpu),
        events.make_queue(capacity),
        probe.make_probe(0, 10_000, ctas, count),
        with_costs(code.instructions, costs),
        gpu.issue_buffer_entries,
    )


def tensor_of(box: Box) -> TensorMap:
    """A Box as a tensor map of bytes. A third dimension of stride 1 moves it to any address."""
    dims, strides = (box.row_bytes, ROWS, 2**40), (box.stride_bytes, 1)
    return TensorMap("box", dims, strides, (box.row_bytes, box.rows, 1), 1, -ROWS * box.stride_bytes)


def origins(maps: Sequence[Box | TensorMap], ctas: int, bases: Any, limits: Any) -> Any:
    """Origins that put the rows of each CTA's Box from its base on, and leave `limit` rows of the tensor."""
    shape = (ctas, len(maps))
    base = np.broadcast_to(np.asarray(0 if bases is None else bases, np.int64), shape)
    rows = np.broadcast_to(np.asarray(ROWS if limits is None else limits, np.int64), shape)
    found = np.zeros((*shape, RANKS), np.int64)
    for index, box in enumerate(maps):
        if isinstance(box, Box):
            found[:, index, 1] = ROWS - rows[:, index]
            found[:, index, 2] = base[:, index] + rows[:, index] * box.stride_bytes
    return found


def run(gpu: Tiny, roles: Sequence[Any], *args: Any, **options: Any) -> Outcome:
    """Build and run to the end; SimulationError on a deadlock."""
    return drive(build(gpu, roles, *args, **options))


def drive(built: machine.Machine) -> Outcome:
    """Run a machine to its end by the simulator's own loop."""
    loop.begin(built)
    simulate._finish(built, None, None, None, simulate.CHUNK_EVENTS)
    return outcome(built)


def outcome(built: machine.Machine) -> Outcome:
    """What a machine has done so far."""
    table = built.state.stall_cycles
    stalls = {(int(r), NAMES[int(k)]): int(table[r, k]) for r, k in zip(*np.nonzero(table), strict=True)}
    kept = built.observer.spans[: int(built.observer.header[0]["count"])]
    spans = [Span(int(s["track"]), NAMES[int(s["activity"])], int(s["start"]), int(s["end"])) for s in kept]
    return Outcome(built, int(built.queue.header[0]["now"]), stalls, spans)


def leaks(built: machine.Machine) -> list[str]:
    """Whatever a finished machine still holds: an event, a line, an operation, a thread, a buffer entry."""
    engines, header = built.engines.engines, built.queue.header[0]
    free = 0
    node = int(header["free"])
    while node >= 0:
        free, node = free + 1, int(built.queue.events[node]["next"])
    held = {
        "events pending": int(header["pending"] - header["superseded"]),
        "event nodes lost": len(built.queue.events) - free - int(header["superseded"]),
        "buckets filled": int((built.queue.buckets["head"] >= 0).sum() > header["superseded"]),
        **leaks_of_memory(built.memory, int(header["now"])),
        "event queue exhausted": int(header["exhausted"]),
        "lines in flight": int(engines["inflight"].sum()),
        "operations open": int((engines["next"] - engines["oldest"]).sum()),
        "operations not generated": int((engines["next"] - engines["generating"]).sum()),
        "lines outstanding": int(built.engines.operations["outstanding"].sum()),
        "WGMMAs buffered": int(built.state.sms["buffer"].sum()),
        "threads ready": int((built.state.sms["ready"] != 0).sum()),
        "threads waiting": int((built.state.threads["waits_for"] != threads.NOTHING).sum()),
        "stages loading": int(built.state.mbarriers["loading"].sum()),
        "CTAs resident": int((built.grid.running >= 0).sum()),
        "CTAs not retired": len(built.grid.ctas) - int(built.grid.config[0]["retired"]),
    }
    return [f"{count} {what}" for what, count in held.items() if count]


def tiny(**changes: Any) -> Tiny:
    """A Tiny with some values changed."""
    return replace(Tiny(), **changes)
