"""Traffic along lengths, exact however large: in int64 at once, or one by one where that would overflow."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from analytical import simfa_python
from analytical.simfa_python import Estimate
from presets.experiment import Experiment


class Traffic(NamedTuple):
    """What an estimator says at each length; arrays of one entry per length, bytes and passes."""

    dram_bytes: np.ndarray
    l2_bytes: np.ndarray
    waves: np.ndarray
    fits_l2: np.ndarray


def traffic(
    sweep: Callable[..., Estimate], experiment: Experiment, lengths: np.ndarray, both: bool = True
) -> Traffic:
    """`sweep` (of simfa_python or launch_order) over L = S, or over S alone.

    FLOPs of a long launch of many batches exceed 64 bits long before its bytes do.
    """
    swept = changes(lengths, both)
    if simfa_python.overflows(simfa_python.changed(experiment, **swept)):
        found = [sweep(experiment, **changes(int(length), both)) for length in lengths]
        return Traffic(*(np.array([getattr(one, name) for one in found]) for name in Traffic._fields))
    answer = sweep(experiment, **swept)
    return Traffic(*(np.broadcast_to(getattr(answer, name), lengths.shape) for name in Traffic._fields))


def changes(lengths: Any, both: bool) -> dict[str, Any]:
    """What of a Problem a length, or an array of them, replaces: L and S, or S alone."""
    return {"L": lengths, "S": lengths} if both else {"S": lengths}
