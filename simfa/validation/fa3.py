"""FlashAttention-3 on H100 SXM, end to end: simulated kernel times against public measurements.

Sixteen kernels were measured at a locked clock. Two values of the calibrated set were fitted on those of 512 and
8,192 tokens; 2,048 tokens, the profiled kernel and other sources were not looked at for it. Values that an
independent study had chosen with these times in view are labelled informed, so no result here is blind.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from joblib import Parallel, delayed

from presets import loader, measured_points
from presets.arguments import bare_shape, build
from presets.experiment import Experiment, Params
from presets.specs import GpuSpec, KernelSpec
from simfa import simulate
from simfa.validation.cases import Row, fa3_label, locked
from simfa.validation.study import Point, Study

KERNEL = "fa3"
FIT_LENGTHS = ("512", "8192")
CALIBRATED, UNFITTED, PAPER, RIVAL = (
    "calibrated",
    "without fitted values",
    "paper's set",
    "FlashGPU-Sim, as published",
)
PROFILED = "Nsight profile, 1420 MHz"
# What the fitted values would be unfitted: the study that the informed values come from counts 1.5 operand reads.
UNFIT = {"softmax.operand_factor": "1.5", "pipeline.tile_overhead_cycles": "0"}
FITTED = ("softmax.operand_factor", "pipeline.tile_overhead_cycles")
Job = tuple[Row, Params, Mapping[str, str], str]  # a measured row, a parameter set, changed values, a kernel preset


class Run(NamedTuple):
    """One simulated kernel: time in us, cycles, tensor-core utilisation."""

    latency_us: float
    cycles: int
    utilization: float


def study() -> Study:
    """The calibrated set on the kernels of 512 and 2,048 tokens and on the profiled one."""
    return _study("fa3", _calibrated(locked(("512", "2048"))))


def full_study() -> Study:
    """All sixteen kernels: calibrated, without its fitted values, the paper's set, and a published rival."""
    rows = locked()
    points = _calibrated(rows)
    for name, chosen, changes in ((UNFITTED, "calibrated", UNFIT), (PAPER, "paper", {})):
        jobs: list[Job] = [(row, chosen, changes, KERNEL) for row in rows]  # type: ignore[misc]
        times = zip(rows, latencies_us(jobs), strict=True)
        points += [point(row, us, name, fitted=False) for row, us in times]
    points += [point(row, _rival_us(row), RIVAL, fitted=False) for row in rows]
    return _study("fa3-all", points)


def _calibrated(rows: list[Row]) -> list[Point]:
    jobs: list[Job] = [(row, "calibrated", {}, KERNEL) for row in [*rows, _profiled()]]
    times = latencies_us(jobs)
    points = [
        point(row, us, CALIBRATED, fitted=row["seq_q"] in FIT_LENGTHS)
        for row, us in zip(rows, times[:-1], strict=True)
    ]
    return [*points, point(_profiled(), times[-1], PROFILED, fitted=False)]


def _profiled() -> Row:
    """The FlashAttention-3 kernel of measured_traffic, whose duration its note gives."""
    row = next(row for row in measured_points.rows("measured_traffic") if row["kernel"] == "FlashAttention-3")
    duration = re.search(r"([\d.]+) us", row["note"])
    assert duration is not None
    return row | {"latency_us": duration.group(1), "dtype": "fp16"}


def experiment(row: Row, chosen: Params, changes: Mapping[str, str], kernel: str = KERNEL) -> Experiment:
    """The launch of a row at its clock on H100 SXM, with values changed."""
    settings = {"sm.clock_hz": f"{row['clock_mhz']}MHz"} if row["clock_mhz"] else {}
    return build(
        bare_shape(int(row["heads_q"]), int(row["heads_kv"]), int(row["head_dim"])),
        loader.load(GpuSpec, "h100-sxm"),
        loader.load(KernelSpec, kernel),
        settings | dict(changes),
        chosen,
        seq_q=int(row["seq_q"]),
        seq_kv=int(row["seq_kv"]),
        batch=int(row["batch"]),
        causal=row["causal"] == "1",
        dtype=row["dtype"],
    )


def latencies_us(jobs: Sequence[Job]) -> list[float]:
    """Simulated kernel times, in two worker processes."""
    return [run.latency_us for run in runs(jobs)]


def runs(jobs: Sequence[Job]) -> list[Run]:
    """Simulated kernels, in two worker processes."""
    return list(Parallel(n_jobs=2)(delayed(_run)(job) for job in jobs))


def _run(job: Job) -> Run:
    result = simulate.run(experiment(*job)).result
    assert result.latency_s is not None and result.tensor_core_utilization is not None
    return Run(result.latency_s * 1e6, result.extra["cycles"], result.tensor_core_utilization)


def _rival_us(row: Row) -> float:
    said = re.search(r"FlashGPU-Sim itself says ([\d.]+) us", row["note"])
    assert said is not None
    return float(said.group(1))


def point(row: Row, us: float, group: str, fitted: bool) -> Point:
    """A measured row against `us`."""
    measured_us, tokens = float(row["latency_us"]), float(row["seq_q"])
    return Point(f"{group}: {fa3_label(row)}", measured_us, us, "us", fitted, group, tokens)


def _study(name: str, points: list[Point]) -> Study:
    titles = {
        "fa3": "FlashAttention-3 on H100 at a locked clock, calibrated, up to 2,048 tokens",
        "fa3-all": "FlashAttention-3 on H100 at a locked clock: every parameter set, and a rival",
    }
    return Study(
        name,
        titles[name],
        "FlashGPU-Sim test baselines (Nsight Compute, H100 SXM at 1500 MHz, cold cache); "
        "modern-gpu-simulator-micro-2025 profile",
        "softmax.operand_factor and pipeline.tile_overhead_cycles, on the kernels of 512 and 8,192 tokens; "
        "informed values were chosen elsewhere with all sixteen times in view",
        points,
        "FlashGPU-Sim, instruction by instruction, states 5.0 % mean and 8.6 % worst on 24 kernels.",
        x_title="sequence length (tokens)",
    )
