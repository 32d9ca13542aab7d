"""Run the samples of a launch and answer for the whole of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

import numpy as np

from presets.experiment import Experiment
from presets.record import Result
from simfa import coverage, launch, simulate, stats, tiles
from simfa.sampling import estimate, measure, shorten
from simfa.sampling.design import LINES, Design, design
from simfa.sampling.estimate import Value
from simfa.sampling.groups import Groups, groups
from simfa.sampling.measure import Sample
from simfa.tiles import Plan

WHOLE: dict[str, Any] = {  # what a launch that was simulated whole says of its sample
    **dict.fromkeys(("latency_error_pct", "dram_error_pct", "dram_read_error_pct", "dram_write_error_pct"), 0.0),
    "sampled_fraction": 1.0,
}
CHUNK_EVENTS = 100_000  # between two readings of a run: some hundred of them
Progress = Callable[[float], None] | None
Stop = Callable[[], bool] | None


@dataclass(frozen=True)
class Samples:
    """The runs of a design: K/V steps rising; the last but one of these (or the only one) with a wave less of each
    unit; and with half of the L2, where it is too large.
    """

    most: Sequence[Sample]
    fewer: Sample | None
    half_l2: Sample | None
    wall_s: float


def run(
    experiment: Experiment, seed: int = 0, progress: Progress = None, should_stop: Stop = None, lines: int = LINES
) -> Result | None:
    """The answer by sampling with about so many line requests; None if the whole launch needs no more.

    Raises as `simulate.run`, and NotModelled where samples would not stand for the launch.
    """
    coverage.check_sample(experiment)
    plan = tiles.plan(experiment)
    found = design(experiment, plan, lines)
    if found is None:
        return None
    samples = _samples(experiment, plan, found, seed, progress, should_stop)
    return _result(experiment, plan, found, groups(experiment, plan, found), samples)


def as_whole(result: Result) -> Result:
    """The answer of a whole simulation where a sample was asked for: nothing left out, no error by it."""
    note = "simulated whole: the launch is too short to leave much of it out"
    return replace(result, extra={**result.extra, **WHOLE}, notes=(*result.notes, note))


def _samples(
    experiment: Experiment, plan: Plan, found: Design, seed: int, progress: Progress, should_stop: Stop
) -> Samples:
    runs = [(found.kept, *size) for size in zip(found.steps, found.capacities, strict=True)]
    first_fewer = len(runs)
    if len(found.fewer) < len(found.kept):
        runs.append((found.fewer, found.steps[-2:][0], found.capacities[-2:][0]))
    last_fewer = len(runs)
    if found.l2_is_larger:
        own = found.capacities[-2]
        runs.append((found.kept, found.steps[-2], own._replace(sets=max(own.sets // 2, 1))))
    costs = [len(kept) * steps for kept, steps, _ in runs]
    done, wall_s, results = 0, 0.0, []
    for (kept, steps, capacity), cost in zip(runs, costs, strict=True):
        if should_stop is not None and should_stop():
            raise simulate.Cancelled
        short = shorten.short(experiment, plan.only(kept), steps, capacity)
        machine = short.machine(seed)
        readings = measure.Readings(machine)
        told = _part(progress, done / sum(costs), cost / sum(costs), readings)
        wall_s += simulate.run_machine(machine, told, should_stop, chunk_events=CHUNK_EVENTS)
        results.append(measure.sample(short, machine, readings.table()))
        done += cost
    half = results[-1] if found.l2_is_larger else None
    fewer = results[first_fewer] if last_fewer > first_fewer else None
    return Samples(results[:first_fewer], fewer, half, wall_s)


def _part(progress: Progress, start: float, share: float, readings: measure.Readings) -> Callable[[float], None]:
    def told(done: float) -> None:
        readings.take(done)
        if progress is not None:
            progress(start + done * share)

    return told


def _result(experiment: Experiment, plan: Plan, found: Design, own: Groups, samples: Samples) -> Result:
    cycles, reads, writes = _values(experiment, plan, own, samples)
    tensor = estimate.tensor_cycles(samples.most, own) / (experiment.gpu.sm.count * cycles.value)
    shares = samples.most[-1].shares | {"tensor_cores": tensor}
    del shares["mufu"]  # of phases and bubbles a sample keeps no count
    requested = l2_bytes(experiment, plan)
    return Result(
        simulate.NAME,
        latency_s=cycles.value / experiment.gpu.sm.clock_hz + (experiment.gpu.launch.overhead_s or 0.0),
        flops=stats.flops(experiment),
        l2_bytes=requested,
        dram_read_bytes=round(reads.value),
        dram_write_bytes=round(writes.value),
        regime=_regime(experiment, plan, reads.value),
        bottleneck=stats.bottleneck(shares),
        tensor_core_utilization=tensor,
        extra={
            "cycles": round(cycles.value),
            **_errors(cycles, reads, writes),
            **_shares_of(experiment, found, own, samples, requested // experiment.gpu.l2.line_bytes),
            "wall_s": samples.wall_s,
            "utilization": shares,
        },
        notes=(coverage.standing(experiment), _note(found, cycles)),
    )


def _values(experiment: Experiment, plan: Plan, own: Groups, samples: Samples) -> tuple[Value, Value, Value]:
    """Cycles, DRAM reads and writes. Q is read and O written once, but for what the L2 still holds of it."""
    cycles = estimate.cycles(samples.most, own)
    output = _output_bytes(experiment, plan)
    all_kv = _kv_bytes(experiment)
    one_head = all_kv / (experiment.workload.batch * experiment.heads_kv)
    moved = shorten.moved_bytes(experiment, plan, own.slots) / experiment.gpu.l2.bytes
    kv = estimate.kv_read_bytes(samples.most, samples.fewer, own, estimate.Reads(all_kv, one_head, moved))
    every_wave = max(one_head * own.ctas / own.slots, all_kv)
    cycles += Value(0.0, estimate.TIME_FOLLOWS * kv.error / every_wave * cycles.value)
    dirty = estimate.dirty_bytes(samples.most, samples.fewer, own, min(output, experiment.gpu.l2.bytes))
    if samples.half_l2 is not None:
        cycles, kv = (_allowing_for(value, samples, of) for value, of in ((cycles, _cycles), (kv, _kv_read)))
    return cycles, Value(output + kv.value, kv.error), Value(output - dirty.value, dirty.error)


def _output_bytes(experiment: Experiment, plan: Plan) -> int:
    """Bytes of O, which are those of Q."""
    return shorten.query_rows(launch.tensor_maps(experiment), plan) * measure.row_bytes(experiment)


def _regime(experiment: Experiment, plan: Plan, read_bytes: float) -> str:
    moved = read_bytes + _output_bytes(experiment, plan)
    return "ideal" if moved <= stats.IDEAL_TOLERANCE * stats.compulsory_bytes(experiment) else "realistic"


def _errors(cycles: Value, reads: Value, writes: Value) -> dict[str, float]:
    return {
        "latency_error_pct": cycles.error_pct,
        "dram_error_pct": (reads + writes).error_pct,
        "dram_read_error_pct": reads.error_pct,
        "dram_write_error_pct": writes.error_pct,
    }


def _shares_of(experiment: Experiment, found: Design, own: Groups, samples: Samples, lines: int) -> dict[str, Any]:
    """What was simulated of the whole launch, which asks for so many lines."""
    runs = [*samples.most, *filter(None, (samples.fewer, samples.half_l2))]
    simulated = sum(run.lines for run in runs)
    return {
        "line_requests": lines,
        "sampled_line_requests": simulated,
        "sampled_fraction": simulated / lines,
        "sample": {
            "kv_steps": list(found.steps),
            "kv_steps_of": shorten.steps_of(experiment),
            "ctas": len(found.kept),
            "ctas_of": own.ctas,
            "units": found.units,
            "units_of": found.units + own.units_left_out,
        },
    }


def _allowing_for(value: Value, samples: Samples, of: Callable[[Sample], float]) -> Value:
    """The L2 of the runs was larger than their steps ask for: off by what half of it changes."""
    assert samples.half_l2 is not None
    change = abs(of(samples.half_l2) / max(of(samples.most[-2]), 1.0) - 1)
    return Value(value.value, sqrt(value.error**2 + (change * value.value) ** 2))


def _cycles(sample: Sample) -> float:
    return sample.cycles


def _kv_read(sample: Sample) -> float:
    return sample.kv_read_bytes


def _note(found: Design, cycles: Value) -> str:
    return (
        f"extrapolated from a sample of {len(found.kept):,} CTAs and up to {found.steps[-1]:,} K/V steps; "
        f"latency within about {cycles.error_pct:.1f} % of the whole simulation"
    )


def _kv_bytes(experiment: Experiment) -> int:
    work = experiment.workload
    return 2 * work.batch * work.seq_kv * experiment.heads_kv * measure.row_bytes(experiment)


def l2_bytes(experiment: Experiment, plan: Plan) -> int:
    """Bytes that all CTAs load and store: with multicast the CTAs of a cluster load K and V once together."""
    tile, work = experiment.kernel.tile, experiment.workload
    query = shorten.query_rows(launch.tensor_maps(experiment), plan)
    keys = int(np.minimum(plan.steps * tile.kv_rows, work.seq_kv).sum())
    cluster = tiles.cluster_ctas(experiment)
    if experiment.kernel.pipeline.multicast and cluster > 1:
        keys //= cluster
    return 2 * (query + keys) * measure.row_bytes(experiment)
