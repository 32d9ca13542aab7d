"""SimFA-python: the paper's traffic model with its two cache regimes, and a roofline for latency (section 3).

`estimate` takes ints or NumPy arrays and is one pass of array operations, so a grid of a million points is one
call; `run` answers one Experiment with exact Python integers.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from analytical import equations as eq
from analytical import roofline, tiles
from analytical.numbers import Ints, Reals, select
from presets.errors import PresetError
from presets.experiment import Experiment
from presets.record import Result

NAME = "simfa-python"


@dataclass(frozen=True)
class Problem:
    """One attention problem, or a grid of them: every field an int (bool) or an integer array."""

    B: Ints
    L: Ints
    S: Ints
    H_KV: Ints
    G: Ints
    D: Ints
    P: Ints
    causal: Any
    T_M: Ints
    T_N: Ints
    N_SM: Ints
    O_limit: Ints
    size_L2_bytes: Ints

    @classmethod
    def of(cls, experiment: Experiment) -> "Problem":
        """The problem of one experiment; heads are those of one GPU."""
        work, gpu, kernel = experiment.workload, experiment.gpu, experiment.kernel
        return cls(
            B=work.batch,
            L=work.seq_q,
            S=work.seq_kv,
            H_KV=experiment.heads_kv,
            G=experiment.heads_q // experiment.heads_kv,
            D=experiment.llm.head_dim,
            P=experiment.precision_bytes,
            causal=work.causal,
            T_M=kernel.tile.query_rows,
            T_N=kernel.tile.kv_rows,
            N_SM=gpu.sm.count,
            O_limit=kernel.pipeline.occupancy_ctas,
            size_L2_bytes=gpu.l2.effective_bytes,
        )


@dataclass(frozen=True)
class Estimate:
    """SimFA-python's answer; every field a number or an array of them. Bytes and FLOPs exact, times in s."""

    flops: Ints
    l2_bytes: Ints
    fits_l2: Any
    waves: Ints
    dram_ideal_bytes: Ints
    dram_real_bytes: Ints
    dram_bytes: Ints
    dram_write_bytes: Ints
    traffic_ratio: Reals
    intensity: Reals
    ceilings_s: dict[str, Reals]
    latency_s: Reals
    bottleneck: Any
    tensor_core_utilization: Reals


@dataclass(frozen=True)
class DramTraffic:
    """What a view of the L2 makes of K and V: do they fit, how often are they read, how many bytes is that."""

    fits_l2: Any
    waves: Ints
    real_bytes: Ints  # all passes from DRAM
    dram_bytes: Ints  # what this view expects


def paper_dram_traffic(p: Problem) -> DramTraffic:
    """Eqs. (3) to (6): one KV head at a time; it fits and is read once, or every wave reads it again."""
    fits = eq.eq4_fits_l2(p.size_L2_bytes, p.P, p.S, p.D)
    waves = eq.eq5_waves(p.G, p.L, p.T_M, p.N_SM, p.O_limit)
    ideal = eq.eq3_dram_ideal_bytes(p.P, p.B, p.D, p.H_KV, p.G, p.L, p.S)
    real = eq.eq6_dram_real_bytes(p.P, p.B, p.H_KV, p.G, p.L, p.S, p.D, waves)
    return DramTraffic(fits, waves, real, select(fits, ideal, real))


def estimate(
    p: Problem, rates: roofline.Rates, dram_traffic: Callable[[Problem], DramTraffic] = paper_dram_traffic
) -> Estimate:
    """Traffic by Eqs. (1) to (7) and (11), latency by the roofline; `dram_traffic` is the view of the L2.

    Raises PresetError where a value is no whole number above 0, or where a grid would overflow int64.
    """
    p = _exact(p)
    _refuse_overflow(p)
    heads = p.B * p.H_KV * p.G
    counts = tiles.count(p.L, p.S, p.T_M, p.T_N, p.causal)
    flops = 4 * heads * counts.score_elements * p.D
    l2_bytes = p.P * heads * p.D * (2 * p.L + 2 * counts.kv_rows)
    dram = dram_traffic(p)
    dram_bytes = dram.dram_bytes
    sm_tiles = roofline.busiest_sm_tiles(heads, counts, p.N_SM, p.causal)
    times = roofline.ceiling_times_s(rates, sm_tiles, p.T_M * p.T_N, p.D, l2_bytes, dram_bytes)
    latency_s, bottleneck = roofline.highest(times)
    busy_s = 4 * heads * counts.tiles * p.T_M * p.T_N * p.D / p.N_SM / rates.sm_flop_per_s
    return Estimate(
        flops=flops,
        l2_bytes=l2_bytes,
        fits_l2=dram.fits_l2,
        waves=dram.waves,
        dram_ideal_bytes=eq.eq3_dram_ideal_bytes(p.P, p.B, p.D, p.H_KV, p.G, p.L, p.S),
        dram_real_bytes=dram.real_bytes,
        dram_bytes=dram_bytes,
        dram_write_bytes=p.P * heads * p.L * p.D,
        traffic_ratio=eq.eq7_traffic_ratio(l2_bytes, dram.real_bytes),
        intensity=eq.eq11_intensity(flops, l2_bytes),
        ceilings_s=times,
        latency_s=latency_s,
        bottleneck=bottleneck,
        tensor_core_utilization=busy_s / latency_s,
    )


def sweep(experiment: Experiment, **changes: Any) -> Estimate:
    """The estimate over arrays that replace fields of the experiment's Problem, e.g. `L=array, S=array`.

    `L` alone sweeps prompts: S follows it where the experiment has S = L.
    """
    return estimate(changed(experiment, **changes), roofline.Rates.of(experiment))


def changed(experiment: Experiment, **changes: Any) -> Problem:
    """The experiment's Problem with fields replaced by numbers or arrays; S follows L where they were equal."""
    problem = Problem.of(experiment)
    if "L" in changes and "S" not in changes and problem.L == problem.S:
        changes["S"] = changes["L"]
    return replace(problem, **changes)


def run(experiment: Experiment) -> Result:
    """SimFA-python's Result for one experiment."""
    answer = estimate(Problem.of(experiment), roofline.Rates.of(experiment))
    return result(NAME, answer, "ideal" if answer.fits_l2 else "realistic")


def result(name: str, answer: Estimate, regime: str) -> Result:
    """A single answer as the record every estimator gives."""
    return Result(
        estimator=name,
        latency_s=answer.latency_s,
        flops=answer.flops,
        l2_bytes=answer.l2_bytes,
        dram_read_bytes=answer.dram_bytes - answer.dram_write_bytes,
        dram_write_bytes=answer.dram_write_bytes,
        regime=regime,
        waves=answer.waves,
        bottleneck=answer.bottleneck,
        tensor_core_utilization=answer.tensor_core_utilization,
        extra={
            "dram_ideal_bytes": answer.dram_ideal_bytes,
            "dram_real_bytes": answer.dram_real_bytes,
            "traffic_ratio": answer.traffic_ratio,
            "intensity": answer.intensity,
            "ceilings_us": {name: time * 1e6 for name, time in answer.ceilings_s.items()},
        },
    )


def _exact(p: Problem) -> Problem:
    """The problem in Python ints and int64 arrays, whatever integer type came in: narrower ones would wrap."""
    return Problem(**{f.name: _whole(f.name, getattr(p, f.name)) for f in fields(p)})


def _whole(name: str, value: Any) -> Any:
    array = np.asarray(value)
    if name == "causal":
        return array.astype(bool) if array.ndim else bool(value)
    if array.dtype.kind not in "iu" or (array < 1).any():
        raise PresetError(f"{name}: {value!r}: every entry must be a whole number above 0")
    return array.astype(np.int64) if array.ndim else int(value)


def overflows(p: Problem) -> bool:
    """Whether a grid's largest count does not fit int64, which its arrays have; single values are unbounded."""
    if not any(isinstance(getattr(p, f.name), np.ndarray) for f in fields(p)):
        return False
    top = _largest(p)
    tile_area = (top["L"] + top["T_M"]) * (top["S"] + top["T_N"])
    return 4 * top["B"] * top["H_KV"] * top["G"] * tile_area * top["D"] * top["P"] > 2**63


def _largest(p: Problem) -> dict[str, float]:
    return {f.name: float(np.max(getattr(p, f.name), initial=1)) for f in fields(p)}


def _refuse_overflow(p: Problem) -> None:
    """Refuse a grid that would wrap round."""
    if overflows(p):
        top = _largest(p)
        flops = 4 * top["B"] * top["H_KV"] * top["G"] * top["L"] * top["S"] * top["D"]
        raise PresetError(
            f"this grid reaches {flops:.2e} FLOPs, beyond exact 64-bit "
            "integers; use a shorter length or a smaller batch"
        )
