"""TMA bandwidth from DRAM by box shape and CTAs per SM: the paper's Figs. 4 and 5, on the public H800 PCIe logs.

Every CTA copies one tile, waits for it, and goes on to the tile `grid` further, tiles counted along the tensor's
first dimension, then its second, then its third, as the public benchmark does it over 4 GiB. Here each CTA copies
a few tiles, by a trace on the line-level engine; what the first tiles take is not counted. A round costs, beside,
`mbarrier_wait_cycles`, which the latency study has named, and `copy_cycles`, fitted here as is the share of the
DRAM's bandwidth that any copy reaches.

The logs give no global shapes. Copies of the benchmark's source have 32768 x 32768 FP32 elements in two dimensions
and 1024 x 1024 x 1024 in three, both 4 GiB; these are assumed here.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import mean

from presets import loader, measured_points
from presets.errors import NotModelled
from presets.specs import BandwidthProbeSpec, GpuSpec
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
SOURCE = "NVIDIA-Hopper-Benchmark, tma_bw logs, H800 PCIe"
MSHR_ENTRIES, LARGEST_BYTES = (192, 224, 256, 320, 384), 16384
CHUNK_EVENTS = 2000  # between two looks at the clock
CONTEXT = (
    "The logs do not give global shapes; assumed are 32768 x 32768 and 1024 x 1024 x 1024 FP32 elements. Where "
    "rows of a box are shorter than a line (3D with 4 to 16 elements) the model is too slow: every row takes "
    "one of 64 lines in flight, and 114 x 64 lines in 640 cycles are 11 requests per cycle; the logs show up to "
    "37. Between small and large tiles it is too fast, by up to 32 %: its DRAM has one latency, whatever the "
    "load. Neighbouring lines lie in one partition here. The paper reports 6.19 % (worst 14.20 %) on a "
    "selection of cases on its own machine."
)


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
        return f"{self.kind} {shape}, {self.occupancy}"

    @property
    def group(self) -> str:
        """Cases whose errors are averaged."""
        return f"{self.kind}, {self.occupancy}"

    @property
    def occupancy(self) -> str:
        """CTAs per SM, in words."""
        return f"{self.ctas_per_sm} CTA{'s' if self.ctas_per_sm > 1 else ''} per SM"


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
    return _steady_gbs(case, gpu, _run(case, gpu, seed)[1])


def _steady_gbs(case: Case, gpu: GpuSpec, reached: Sequence[tuple[int, int]]) -> float:
    total_bytes = rounds(case) * case.tile_bytes * gpu.sm.count * case.ctas_per_sm
    requests = reached[-1][1]
    (start, before), (end, after) = (
        next(point for point in reached if point[1] >= share * requests) for share in (0.25, 0.75)
    )
    return (after - before) / requests * total_bytes / (end - start) * gpu.sm.clock_hz / 1e9


def _run(case: Case, gpu: GpuSpec, seed: int) -> tuple[Machine, list[tuple[int, int]]]:
    """The finished machine, and (cycle, requests so far) along the way."""
    if gpu.latency_probe is None or gpu.bandwidth_probe is None:
        raise NotModelled(f"{gpu.name} lacks a section the bandwidth study needs: latency_probe, bandwidth_probe")
    wait_cycles = round(gpu.latency_probe.mbarrier_wait_cycles + gpu.bandwidth_probe.copy_cycles)
    machine = trace_launch.build(trace_of(case, gpu, wait_cycles), _sustained(gpu), seed)
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


def _sustained(gpu: GpuSpec) -> GpuSpec:
    assert gpu.bandwidth_probe is not None
    rate = gpu.dram.channel_bandwidth_bytes_per_s * gpu.bandwidth_probe.sustained_dram_share
    return gpu.model_copy(update={"dram": gpu.dram.model_copy(update={"channel_bandwidth_bytes_per_s": rate})})


def fit(gpu: GpuSpec) -> dict[str, float]:
    """The two fitted values, from `fit_cases`: the best share of DRAM's bandwidth, and small tiles' missing cycles.

    The share is the mean over cases above 90 % of the peak. The cycles are the mean, over tiles of 1 KiB and less
    with one CTA per SM, of the logged time of a round less the model's without `copy_cycles`.
    """
    peak_gbs = gpu.dram.bandwidth_bytes_per_s / 1e9
    shares = [case.measured_gbs / peak_gbs for case in fit_cases() if case.measured_gbs > 0.9 * peak_gbs]
    probe = BandwidthProbeSpec(copy_cycles=0.0, sustained_dram_share=mean(shares))
    bare = gpu.model_copy(update={"bandwidth_probe": probe})
    small = [case for case in fit_cases() if case.tile_bytes <= 1024 and case.ctas_per_sm == 1]
    missing = [round_cycles(case, gpu, case.measured_gbs) - round_cycles(case, gpu, bandwidth_gbs(case, bare))
               for case in small]  # fmt: skip
    return {"copy_cycles": mean(missing), "sustained_dram_share": mean(shares)}


def round_cycles(case: Case, gpu: GpuSpec, gbs: float) -> float:
    """Cycles of one copy and wait at a bandwidth."""
    return case.tile_bytes * gpu.sm.count * case.ctas_per_sm / gbs / 1e9 * gpu.sm.clock_hz


def study(gpu: GpuSpec | None = None, wanted: Callable[[Case], bool] = lambda case: True) -> Study:
    """Every wanted case against its logged bandwidth. NotModelled if the preset lacks a section."""
    gpu = gpu or loader.load(GpuSpec, "h800-pcie")
    seen = fit_cases()
    points = [
        Point(
            case.label,
            case.measured_gbs,
            bandwidth_gbs(case, gpu),
            "GB/s",
            case in seen,
            case.kind,
            group=case.group,
        )
        for case in cases(wanted)
    ]
    return Study(
        "tma-bandwidth",
        "TMA bandwidth from DRAM by box shape and CTAs per SM (Figs. 4 and 5)",
        SOURCE,
        "bandwidth_probe.copy_cycles and sustained_dram_share, on every second row",
        points,
        CONTEXT,
    )


def mshr_study(gpu: GpuSpec | None = None, entries: Sequence[int] = MSHR_ENTRIES) -> Study:
    """The paper's Fig. 4: the largest tiles at several numbers of MSHRs per slice.

    With 64 lines in flight per SM, 114 SMs have at most 7,296 on their way, 91 per slice: 192 MSHRs bind only where
    a slice gets twice its share. The context says in how many requests any slice had to wait for one.
    """
    gpu = gpu or loader.load(GpuSpec, "h800-pcie")
    points, waits, seen = [], [], fit_cases()
    for count in entries:
        changed = loader.override(gpu, {"l2_timing.mshr_entries": str(count)})
        waits.append(0)
        for case in cases(lambda case: case.tile_bytes == LARGEST_BYTES):
            machine, reached = _run(case, changed, 0)
            waits[-1] += int(machine.memory.cache.slices["mshr_waits"].sum())
            gbs = _steady_gbs(case, gpu, reached)
            label, series = f"{count} MSHRs, {case.label}", f"{count} MSHRs"
            points.append(Point(label, case.measured_gbs, gbs, "GB/s", case in seen, series))
    found = ", ".join(f"{count}: {number:,}" for count, number in zip(entries, waits, strict=True))
    return Study(
        "tma-mshr",
        "TMA bandwidth of 16 KiB tiles at several numbers of MSHRs per slice (Fig. 4)",
        SOURCE,
        "as tma-bandwidth",
        points,
        f"Requests that waited for an MSHR, by MSHRs per slice: {found}. The paper's error is 24.85 % at 192, "
        "5.79 % at 256, 21.06 % at 384.",
    )
