"""DRAM traffic against sequence length: what each closed form says, and where Eq. (4) changes the regime."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from analytical import along, genz, simfa_python
from presets.experiment import Experiment

SHORTEST, LONGEST = 1024, 131_072
POINTS = 300


@dataclass(frozen=True)
class TrafficCurve:
    """Bytes by length (columns length, simfa_python, genz, fits) and where Eq. (4) first fails, in tokens."""

    points: pd.DataFrame
    first_unfit_tokens: int
    sweeps_query: bool


def curve(experiment: Experiment, shortest: int = SHORTEST, longest: int = LONGEST) -> TrafficCurve:
    """The curves from `shortest` to `longest` tokens: of L = S, or of S alone where the experiment has L != S."""
    boundary = first_unfit_tokens(experiment)
    rounded = np.geomspace(shortest, longest, POINTS).round().astype(np.int64) // 128 * 128
    named = [n for n in (shortest, boundary - 1, boundary, longest) if shortest <= n <= longest]
    lengths = np.unique(np.concatenate([rounded, np.array(named, np.int64)]))
    both = experiment.workload.seq_q == experiment.workload.seq_kv
    closed = along.traffic(simfa_python.sweep, experiment, lengths, both)
    points = pd.DataFrame(
        {
            "length": lengths,
            "simfa_python": closed.dram_bytes,
            "genz": [_genz_bytes(experiment, int(n), both) for n in lengths],
            "fits": closed.fits_l2,
        }
    )
    return TrafficCurve(points, boundary, both)


def first_unfit_tokens(experiment: Experiment) -> int:
    """The shortest K/V for which Eq. (4) fails: one K and one V head no longer smaller than the effective L2."""
    per_token = 2 * experiment.precision_bytes * experiment.llm.head_dim
    return -(-experiment.gpu.l2.effective_bytes // per_token)


def _genz_bytes(experiment: Experiment, length: int, both: bool) -> int:
    answer = genz.estimate(
        experiment.workload.batch,
        experiment.heads_kv,
        experiment.heads_q // experiment.heads_kv,
        length if both else experiment.workload.seq_q,
        length,
        experiment.llm.head_dim,
        experiment.precision_bytes,
        experiment.gpu.peak_flop_per_s(experiment.workload.dtype),
        experiment.gpu.dram.bandwidth_bytes_per_s,
    )
    return answer.offchip_read_bytes + answer.offchip_write_bytes
