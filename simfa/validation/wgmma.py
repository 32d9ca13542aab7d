"""WGMMA time by shape, operand mode and dtype, against public microbenchmarks of Hopper.

Latencies are as measured. Times by throughput are cycles per instruction of a saturated pipe, taken relative to
m64n256k16 at its measured 128 cycles, so that the unknown clock under load drops out.
"""

from presets import loader, measured_points
from presets.specs import GpuSpec
from simfa import launch
from simfa.validation.study import Point, Study


def study(gpu: GpuSpec | None = None) -> Study:
    """Every measured shape; the two rows that gave a preset value its number are marked as seen by a fit."""
    timing = launch.wgmma_timing(gpu or loader.load(GpuSpec, "h800-pcie"))
    points = []
    for row in measured_points.rows("wgmma_h800"):
        model = timing.cycles(int(row["n"]), row["dtype"], row["mode"], row["sparse"] == "1")
        kind = "latency" if row["how"] == "latency" else "cycles by throughput"
        points.append(Point(row["label"], float(row["cycles"]), model, "cycles", row["fitted"] == "1", kind))
    return Study(
        "wgmma",
        "WGMMA time by N, operand mode and dtype",
        "arXiv 2402.13499 (H800 PCIe), arXiv 2512.02189 (H200)",
        "tensor.minimum_wgmma_cycles on m64n8k16 RS, tensor.shared_bytes_per_cycle on sparse m64n256k32 SS",
        points,
        "The paper models N/2 cycles for FP16 and sufficiently large shapes.",
    )
