"""Traffic against length from 512 to 1M tokens: what every estimator says, where regimes change, and why.

All of it closed forms over arrays; what is measured or simulated comes in as points. Bytes are exact counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from analytical import along, genz, launch_order, llm_viewer, simfa_python
from analytical.launch_order import InFlight, Order
from analytical.simfa_python import Problem
from dashboard.measured import gallery
from dashboard.traffic import first_unfit_tokens
from presets.experiment import Experiment

SHORTEST, LONGEST = 512, 2**20
POINTS = 400
SPLIT = 64  # points of a grid by which a length is searched
DRAWN_STEPS = 64  # wave steps drawn upright; later ones are closer together than a pixel
NEAR = 0.05
SIMULATED_LENGTHS = (*(2**n for n in range(9, 18)), 6144, 24_576, 49_152)
CLOSED = (simfa_python.NAME, launch_order.NAME, genz.NAME)


@dataclass(frozen=True)
class Regimes:
    """Curves (columns length, then `dram.NAME` and `l2.NAME` in bytes, waves, fits) and their landmarks."""

    experiment: Experiment
    points: pd.DataFrame
    boundary_tokens: int  # the shortest K/V that fails Eq. (4)
    live_boundary_tokens: int | None  # of the heads in reuse there, passed over again; None: none up to LONGEST
    off_ideal_tokens: int | None  # the shortest at which launch order leaves the ideal line; None: as above
    wave_steps: tuple[tuple[int, int], ...]  # (waves, shortest length with that many), doublings only
    sweeps_query: bool

    @property
    def length(self) -> int:
        """Where the experiment stands on the axis."""
        return self.experiment.workload.seq_kv


def curves(experiment: Experiment, peer: bool = False) -> Regimes:
    """All curves of an experiment, of L = S, or of S alone where the experiment has L != S."""
    both = experiment.workload.seq_q == experiment.workload.seq_kv
    boundary = first_unfit_tokens(experiment)
    live = _first_length(experiment, both, lambda found: found.outgrown)
    off_ideal = _first_length(experiment, both, lambda found: found.off_ideal)
    lengths = _lengths(experiment, both, [edge for edge in (boundary, live) if edge])
    paper = along.traffic(simfa_python.sweep, experiment, lengths, both)
    ordered = along.traffic(launch_order.sweep, experiment, lengths, both)
    columns: dict[str, Any] = {
        "length": lengths,
        f"dram.{simfa_python.NAME}": paper.dram_bytes,
        f"dram.{launch_order.NAME}": ordered.dram_bytes,
        f"l2.{simfa_python.NAME}": paper.l2_bytes,
        "waves": paper.waves,
        "fits": paper.fits_l2,
        f"dram.{genz.NAME}": [_peer_bytes(genz, experiment, int(n), both) for n in lengths],
    }
    if peer:
        columns[f"dram.{llm_viewer.NAME}"] = [_peer_bytes(llm_viewer, experiment, int(n), both) for n in lengths]
    points = pd.DataFrame({name: np.broadcast_to(value, lengths.shape) for name, value in columns.items()})
    return Regimes(experiment, points, boundary, live, off_ideal, _wave_steps(experiment, both), both)


def at_length(experiment: Experiment, length: int) -> Experiment:
    """The experiment at another length; L follows where it equals S."""
    work = experiment.workload
    query = length if work.seq_q == work.seq_kv else work.seq_q
    return experiment.model_copy(update={"workload": work.model_copy(update={"seq_q": query, "seq_kv": length})})


def flight(experiment: Experiment) -> InFlight:
    """Heads in flight of one experiment."""
    return launch_order.in_flight(Problem.of(experiment), Order.of(experiment))


def measured_points(experiment: Experiment) -> list[dict[str, Any]]:
    """Shipped measurements of this GPU and shape: rows of quantity, length, bytes, kind, label, source."""
    work, found = experiment.workload, []
    for case in gallery.cases():
        match = case.match
        same = (match.gpu, match.heads_q, match.heads_kv, match.head_dim, match.batch) == (
            *(experiment.gpu.name, experiment.heads_q, experiment.heads_kv),
            *(experiment.llm.head_dim, work.batch),
        )
        if not same or (match.mask == "causal") != work.causal or match.dtype != work.dtype or case.why_not:
            continue
        for quantity in ("l2_bytes", "dram_bytes"):
            reading = getattr(case, quantity)
            if reading.value is not None:
                found.append(
                    {
                        "quantity": quantity,
                        "length": match.seq_kv,
                        "bytes": reading.value,
                        "kind": reading.kind,
                        "label": case.label,
                        "source": reading.source,
                    }
                )
    return found


def simulated_points(length: int, record: dict[str, Any]) -> list[dict[str, Any]]:
    """A simulated record as rows like those of `measured_points`; traffic from a sample says its error."""
    return [
        {
            "quantity": quantity,
            "length": length,
            "bytes": record[quantity],
            "kind": "simulated",
            "label": "Sim-FA",
            "source": f"{record['cycles']:,} cycles{_extrapolated(record, quantity)}",
        }
        for quantity in ("l2_bytes", "dram_bytes")
    ]


def _extrapolated(record: dict[str, Any], quantity: str) -> str:
    """Words for traffic from a sample; bytes at the SMs are exact."""
    if "sample" not in record or quantity != "dram_bytes":
        return ""
    return f", extrapolated from a sample of {record['sampled_fraction']:.2%}: ± {record['dram_error_pct']:.1f} %"


def rows(
    shown: Regimes,
    measured: list[dict[str, Any]],
    simulated: list[dict[str, Any]],
    base: Regimes | None = None,
) -> list[dict[str, Any]]:
    """Everything on the chart as rows for a download: length, estimator, quantity, bytes, kind, source.

    With a `base`, the pinned run's curves follow, told apart by `run`.
    """
    if base is not None:
        mine = [{"run": "this"} | row for row in rows(shown, measured, simulated)]
        return mine + [{"run": "baseline"} | row for row in rows(base, [], [])]
    experiment = shown.experiment
    context = {
        "llm": experiment.llm.name or experiment.llm.title,
        "gpu": experiment.gpu.name,
        "kernel": experiment.kernel.name,
        "effective_l2_bytes": experiment.gpu.l2.effective_bytes,
    }
    found = []
    for column in [name for name in shown.points.columns if "." in name]:
        quantity, name = column.split(".", 1)
        found += [
            context | {"length": int(n), "estimator": name, "quantity": f"{quantity}_bytes", "bytes": int(value)}
            for n, value in zip(shown.points["length"], shown.points[column], strict=True)
        ]
    found += [context | {"estimator": "sim-fa"} | row for row in simulated]
    found += [context | {"estimator": "measured"} | row for row in measured]
    return found


def _lengths(experiment: Experiment, both: bool, edges: list[int]) -> np.ndarray:
    spaced = np.geomspace(SHORTEST, LONGEST, POINTS).round().astype(np.int64) // 128 * 128
    steps = [n for _, n in _steps(experiment, range(2, DRAWN_STEPS + 1))] if both else []
    named = [*edges, *steps, experiment.workload.seq_kv]
    named += [n - 1 for n in (*edges, *steps)]
    inside = [n for n in named if SHORTEST <= n <= LONGEST]
    return np.unique(np.concatenate([spaced, np.array(inside, np.int64)]))


def _steps(experiment: Experiment, waves: Any) -> list[tuple[int, int]]:
    """(w, L): the shortest L for which Eq. (5) gives at least w waves: ceil(L / T_M) > (w - 1) R / G."""
    p = Problem.of(experiment)
    return [(w, p.T_M * ((w - 1) * p.N_SM * p.O_limit // p.G) + 1) for w in waves]


def _wave_steps(experiment: Experiment, both: bool) -> tuple[tuple[int, int], ...]:
    if not both:
        return ()
    found = _steps(experiment, [2**n for n in range(1, 24)])
    return tuple((waves, n) for waves, n in found if SHORTEST <= n <= LONGEST)


def _flights(experiment: Experiment, both: bool, lengths: np.ndarray) -> InFlight:
    """Heads in flight at each of the lengths."""
    problem = simfa_python.changed(experiment, **along.changes(lengths, both))
    return launch_order.in_flight(problem, Order.of(experiment))


def _run_ends(experiment: Experiment, both: bool) -> np.ndarray:
    """The longest lengths with one and the same number of heads in flight, up to the end of the range.

    The number falls as L takes more tiles of T_M, and is 1 where the tiles of a head fill the GPU. Between two
    ends it stays, so that bytes, passes and loss only grow with the length.
    """
    if not both:
        return np.array([LONGEST])
    p = Problem.of(experiment)
    most = min(-(-p.N_SM * p.O_limit // p.G), LONGEST // p.T_M) + 1
    lengths = np.arange(1, most + 1, dtype=np.int64) * p.T_M
    live = launch_order.live_heads(replace(p, L=lengths), Order.of(experiment))
    falls = np.flatnonzero(np.diff(np.broadcast_to(live, lengths.shape)))
    return np.array([*(n for n in lengths[falls] if n < LONGEST), LONGEST])


def _first_length(experiment: Experiment, both: bool, holds: Callable[[InFlight], Any]) -> int | None:
    """The shortest length of which `holds` is true; None up to the end of the range.

    Over the whole range it may hold, stop holding as fewer heads are in flight, and hold again: so the first run
    at whose end it holds, and within that, where it only begins to hold, by ever narrower grids.
    """

    def held(lengths: np.ndarray) -> np.ndarray:
        return np.broadcast_to(holds(_flights(experiment, both, lengths)), lengths.shape)

    ends = _run_ends(experiment, both)
    at_ends = held(ends)
    if not at_ends.any():
        return None
    first = int(np.argmax(at_ends))
    low, high = int(ends[first - 1]) if first else 0, int(ends[first])
    while high - low > 1:
        grid = np.unique(np.linspace(low, high, SPLIT).astype(np.int64))
        found = int(np.argmax(held(grid[1:])))
        low, high = int(grid[found]), int(grid[found + 1])
    return high


def _peer_bytes(peer: Any, experiment: Experiment, length: int, both: bool) -> int:
    work = experiment.workload
    heads = (experiment.heads_kv, experiment.heads_q // experiment.heads_kv)
    answer = peer.estimate(
        work.batch,
        *(heads if peer is genz else (experiment.heads_q,)),
        length if both else work.seq_q,
        length,
        experiment.llm.head_dim,
        experiment.precision_bytes,
        experiment.gpu.peak_flop_per_s(work.dtype),
        experiment.gpu.dram.bandwidth_bytes_per_s,
    )
    if peer is genz:
        return int(answer.offchip_read_bytes + answer.offchip_write_bytes)
    return int(answer.memory_access_bytes)
