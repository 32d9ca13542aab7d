"""TMA and plain-load latency against working set: the paper's Fig. 3, on the public H800 PCIe logs.

The logs chase pointers at random through one node per 128-byte line, with plain loads and with 16-byte
non-tensor TMA loads. Here the L2 model is walked the same way: one warm-up pass, one measured pass. What lies
beside the L2 is named in the preset: the load's own path, TMA launch, mbarrier wait, shared-memory read.
"""

from collections.abc import Sequence

import numpy as np

from presets import loader, measured_points
from presets.errors import NotModelled
from presets.specs import GpuSpec
from simfa import launch
from simfa.memory import l2
from simfa.memory.chase import chase
from simfa.validation.study import Point, Study

TMA, LOAD = "TMA cp.async.bulk 16 B", "regular load"
# Chosen before any fit: the L2 floor, the transition of one partition, and beyond it (nearest logged size, MiB).
WORKING_SETS_MIB = (1.5, 5, 10, 20, 24, 26, 28, 36, 48, 128)
TRANSITION_MIB = (25, 50)
FITTED_UP_TO_MIB = 20


def measured(access: str) -> list[tuple[float, float]]:
    """Logged (working set in MiB, latency in cycles) of one kind of access, in order of size."""
    rows = [row for row in measured_points.rows("tma_latency_h800_pcie") if row["access"] == access]
    return sorted((float(row["working_set_KiB"]) / 1024, float(row["latency_cycles"])) for row in rows)


def nearest(points: list[tuple[float, float]], wanted_mib: float) -> tuple[float, float]:
    """The logged point whose working set is nearest to the wanted one."""
    return min(points, key=lambda point: abs(point[0] - wanted_mib))


def study(gpu: GpuSpec | None = None, sizes_mib: Sequence[float] = WORKING_SETS_MIB, seed: int = 0) -> Study:
    """Both accesses at the logged sizes nearest to `sizes_mib`. NotModelled if the preset lacks a section."""
    gpu = gpu or loader.load(GpuSpec, "h800-pcie")
    points = []
    for access in (TMA, LOAD):
        logged = measured(access)
        overhead = overhead_cycles(gpu, access)
        fitted = {point[0] for point in _fit_points(logged)}
        for size, cycles in dict.fromkeys(nearest(logged, wanted) for wanted in sizes_mib):
            model = l2_cycles(gpu, round(size * 2**20), seed) + overhead
            label = f"{access}, {size:.2f} MiB"
            points.append(Point(label, cycles, model, "cycles", size in fitted, access, size))
    return Study(
        "tma-latency",
        "TMA and plain-load latency against working set (Fig. 3)",
        "NVIDIA-Hopper-Benchmark, tma_lat_random logs, H800 PCIe",
        "load_path_cycles and mbarrier_wait_cycles, on every second size from 1 to 20 MiB",
        points,
        "The paper reports 5.45 % (worst 12.73 %) for TMA on ten working sets of its own machine.",
        "Working set (MiB)",
    )


def overhead_cycles(gpu: GpuSpec, access: str) -> float:
    """What a chase step costs beside the L2: the load's path, and for TMA launch, mbarrier and shared memory."""
    if gpu.latency_probe is None or gpu.tma is None:
        raise NotModelled(f"{gpu.name} lacks a section the latency study needs: latency_probe, tma")
    probe = gpu.latency_probe
    if access == LOAD:
        return probe.load_path_cycles
    waiting = probe.mbarrier_wait_cycles + probe.shared_memory_load_cycles
    return probe.load_path_cycles + gpu.tma.launch_latency_cycles + waiting


def l2_cycles(gpu: GpuSpec, working_set_bytes: int, seed: int) -> float:
    """Mean cycles of the L2 model over one measured pass, after one warm-up pass over the same order."""
    if gpu.l2_timing is None:
        raise NotModelled(f"{gpu.name} lacks a section the latency study needs: l2_timing")
    cache = l2.make_l2(launch.l2_config(gpu, gpu.l2_timing, seed))
    count = max(working_set_bytes // gpu.l2.line_bytes, 1)
    lines = np.random.default_rng(seed).permutation(count).astype(np.int64)
    warm = chase(cache, lines, 0, 0, 0)
    return float(chase(cache, lines, 0, 0, warm) - warm) / count


def fit(gpu: GpuSpec) -> dict[str, float]:
    """The two fitted values, from every second logged size between 1 and 20 MiB (the L2 floor)."""
    loads, tma = (np.mean([cycles for _, cycles in _fit_points(measured(access))]) for access in (LOAD, TMA))
    assert gpu.l2_timing is not None and gpu.tma is not None and gpu.latency_probe is not None
    known = gpu.tma.launch_latency_cycles + gpu.latency_probe.shared_memory_load_cycles
    return {
        "load_path_cycles": float(loads) - gpu.l2_timing.near_latency_cycles,
        "mbarrier_wait_cycles": float(tma - loads) - known,
    }


def _fit_points(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    return [point for point in points if 1 <= point[0] <= FITTED_UP_TO_MIB][::2]
