"""TMA bandwidth from DRAM by box shape and CTAs per SM: the paper's Figs. 4 and 5, on the public H800 PCIe logs.

Every CTA copies one tile, waits for it, and goes on to the tile `grid` further, tiles counted along the tensor's
first dimension, then its second, then its third, as the public benchmark does it over 4 GiB. Here each CTA copies
a few tiles, by a trace on the line-level engine; what the first tiles take is not counted. A round of copy and wait
costs `mbarrier_wait_cycles` beside, the value that the latency study has named.

The logs give no global shapes. Copies of the benchmark's source have 32768 x 32768 FP32 elements in two dimensions
and 1024 x 1024 x 1024 in three, both 4 GiB; these are assumed here.
"""

from collections.abc import Callable
from dataclasses import dataclass

from presets import loader, measured_points
from presets.specs import GpuSpec
from simfa import simulate, trace_launch
from simfa.engine import loop
from simfa.engine.machine import Machine
from simfa.isa import Program
from simfa.trace.model import Cta, Launch, Trace
from simfa.trace.tensor_map import TensorMap
from simfa.validation.study import Point, Study

ELEMENT_BYTES = 4
ARRAY_BYTES = 4 * 2**30
SHAPES = {1: (2**30,), 2: (2**15, 2**15), 3: (2**10, 2**10, 2**10)}  # elements of a tensor by dimensions
LINES = 1536  # of an SM in a run, at least
MIN_ROUNDS = 10
BULK = "bulk (non-tensor)"
CHUNK_EVENTS = 2000  # between two looks at the clock
CONTEXT = "The paper reports 6.19 % (worst 14.20 %) on a selection of cases on its own machine."


@dataclass(frozen=True)
class Case:
    """One logged row: kind of copy, box in elements (empty for bulk), bytes of a tile, CTAs per SM, GB/s."""

    kind: str
    box: tuple[int, ...]
    tile_bytes: int
    ctas_per_sm: int
    measured_gbs: float

    @property
    def label(self) -> str:
        """The case in words."""
        shape = "x".join(map(str, self.box)) if len(self.box) > 1 else f"{self.tile_bytes:,} B"
        return f"{self.kind} {shape}, {self.ctas_per_sm} CTAs per SM"

    @property
    def series(self) -> str:
        """Cases that belong on one line."""
        return f"{self.kind}, {self.ctas_per_sm} CTAs per SM"


def cases(wanted: Callable[[Case], bool] = lambda case: True) -> list[Case]:
    """Every logged row whose note does not doubt it, of `wanted`."""
    rows = measured_points.rows("tma_bandwidth_h800_pcie")
    return [case for case in map(_case, (row for row in rows if not row["note"])) if wanted(case)]


def _case(row: dict[str, str]) -> Case:
    tile_bytes = round(float(row["bytes_per_tma"]))
    linear = () if row["kind"] == BULK else (tile_bytes // ELEMENT_BYTES,)
    text = row["box_fp32_elements"]
    box = linear if text == "linear" else tuple(map(int, text.split("x")))
    return Case(row["kind"], box, tile_bytes, int(row["ctas_per_sm"]), float(row["throughput_GBps"]))


def rounds(case: Case) -> int:
    """Tiles that each CTA copies: enough for a steady state."""
    lines = max(case.tile_bytes // 128, _rows(case))
    return max(MIN_ROUNDS, -(-LINES // (lines * case.ctas_per_sm)))


def _rows(case: Case) -> int:
    return case.tile_bytes // (case.box[0] * ELEMENT_BYTES) if case.box else 1


def tile_place(case: Case, tile: int) -> tuple[int, ...]:
    """First element of a tile, tiles counted along dimension 0 first; only whole tiles of a row are counted."""
    place = []
    for size, box in zip(SHAPES[len(case.box)], case.box, strict=True):
        tile, index = divmod(tile, size // box)
        place.append(index * box)
    return tuple(place)


def trace_of(case: Case, gpu: GpuSpec, wait_cycles: int) -> Trace:
    """The benchmark as a trace: a program for every CTA, since each has its own tiles."""
    grid = gpu.sm.count * case.ctas_per_sm
    programs = {}
    for cta in range(grid):
        program = programs[f"cta{cta}"] = Program()
        for number in range(rounds(case)):
            _copy(program, case, cta + number * grid)
            program.emit("MB_WAIT", sid=0)
            program.emit("BUBBLES", cycles=wait_cycles)
    maps = (_tensor_map(case),) if case.box else ()
    launch = Launch(ctas_per_sm=case.ctas_per_sm)
    return Trace(maps, programs, tuple(Cta((name,)) for name in programs), launch)


def _copy(program: Program, case: Case, tile: int) -> None:
    if case.box:
        program.emit("TMA_TENSOR", gmem=tile_place(case, tile), map=0, sid=0)
    else:
        program.emit("TMA_BULK", gmem=tile * case.tile_bytes, bytes=case.tile_bytes, sid=0)


def _tensor_map(case: Case) -> TensorMap:
    dims = SHAPES[len(case.box)]
    strides, size = [], ELEMENT_BYTES
    for dim in dims[:-1]:
        size *= dim
        strides.append(size)
    return TensorMap("source", dims, tuple(strides), case.box, ELEMENT_BYTES)


def bandwidth_gbs(case: Case, gpu: GpuSpec, seed: int = 0) -> float:
    """Bytes of tiles per second, GB/s, from a quarter to three quarters of the run's requests."""
    machine, reached = _run(case, gpu, seed)
    total_bytes = rounds(case) * case.tile_bytes * gpu.sm.count * case.ctas_per_sm
    requests = reached[-1][1]
    (start, before), (end, after) = (
        next(point for point in reached if point[1] >= share * requests) for share in (0.25, 0.75)
    )
    return (after - before) / requests * total_bytes / (end - start) * gpu.sm.clock_hz / 1e9


def _run(case: Case, gpu: GpuSpec, seed: int) -> tuple[Machine, list[tuple[int, int]]]:
    """The finished machine, and (cycle, requests so far) along the way."""
    wait_cycles = gpu.latency_probe.mbarrier_wait_cycles if gpu.latency_probe else 0.0
    machine = trace_launch.build(trace_of(case, gpu, round(wait_cycles)), gpu, seed)
    loop.begin(machine)
    reached, status = [], loop.RUNNING
    while status == loop.RUNNING:
        status = loop.advance(machine, CHUNK_EVENTS)
        requests = int(machine.engines.engines["load_lines"].sum())
        reached.append((int(machine.queue.header[0]["now"]), requests))
    if status != loop.FINISHED:
        raise simulate.SimulationError(f"{case.label}: the generated trace did not finish")
    return machine, reached


def fit_cases() -> list[Case]:
    """The half of the data that a fit may see, chosen before any: every second row in the order of the logs."""
    return cases()[::2]


def study(gpu: GpuSpec | None = None, wanted: Callable[[Case], bool] = lambda case: True) -> Study:
    """Every wanted case against its logged bandwidth. NotModelled if the preset lacks a section."""
    gpu = gpu or loader.load(GpuSpec, "h800-pcie")
    points = [
        Point(case.label, case.measured_gbs, bandwidth_gbs(case, gpu), "GB/s", series=case.series)
        for case in cases(wanted)
    ]
    return Study(
        "tma-bandwidth",
        "TMA bandwidth from DRAM by box shape and CTAs per SM (Figs. 4 and 5)",
        "NVIDIA-Hopper-Benchmark, tma_bw logs, H800 PCIe",
        "nothing",
        points,
        CONTEXT,
    )
