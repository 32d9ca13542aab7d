"""A roofline with named ceilings: tensor cores, MUFU exponentials, L2, DRAM and the launch floor.

Compute ceilings carry wave quantisation: SMs work in whole CTAs, so the busiest SM sets the time. Without a
mask that SM runs ceil(CTAs / N_SM) equal CTAs; under a causal mask CTAs differ, and the bound is the mean load,
or the longest CTA where that is more.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from analytical.numbers import Ints, Reals, at_least, ceil_div, select
from analytical.tiles import TileCounts
from presets.experiment import Experiment

CEILINGS = ("tensor_cores", "mufu", "l2", "dram", "launch")


@dataclass(frozen=True)
class Rates:
    """What the GPU can do at most: per SM and second, or for the whole GPU per second."""

    sm_flop_per_s: Reals
    sm_exp_per_s: Reals
    l2_bytes_per_s: Reals
    dram_bytes_per_s: Reals
    launch_floor_s: Reals

    @classmethod
    def of(cls, experiment: Experiment) -> "Rates":
        """The rates of the experiment's GPU at its clock and dtype."""
        gpu = experiment.gpu
        return cls(
            sm_flop_per_s=gpu.tensor_flop_per_cycle(experiment.workload.dtype) * gpu.sm.clock_hz,
            sm_exp_per_s=gpu.alu.mufu_op_per_cycle * gpu.sm.clock_hz,
            l2_bytes_per_s=gpu.l2_bandwidth_bytes_per_s(),
            dram_bytes_per_s=gpu.dram.bandwidth_bytes_per_s,
            launch_floor_s=gpu.launch.floor_s,
        )


def busiest_sm_tiles(heads: Ints, counts: TileCounts, N_SM: Ints, causal: Any) -> Ints:
    """Tiles that the busiest SM computes; `heads` is the number of (batch, query head) pairs."""
    equal_ctas = ceil_div(heads * counts.query_tiles, N_SM) * counts.tiles_of_longest
    mean_load = at_least(ceil_div(heads * counts.tiles, N_SM), counts.tiles_of_longest)
    return select(causal, mean_load, equal_ctas)


def ceiling_times_s(
    rates: Rates, sm_tiles: Ints, tile_elements: Ints, D: Ints, l2_bytes: Ints, dram_bytes: Ints
) -> dict[str, Reals]:
    """Seconds that each ceiling alone would take; `tile_elements` is T_M * T_N."""
    sm_elements = sm_tiles * tile_elements
    return {
        "tensor_cores": 4 * sm_elements * D / rates.sm_flop_per_s,
        "mufu": sm_elements / rates.sm_exp_per_s,
        "l2": l2_bytes / rates.l2_bytes_per_s,
        "dram": dram_bytes / rates.dram_bytes_per_s,
        "launch": rates.launch_floor_s + 0.0 * sm_elements,
    }


def highest(times: dict[str, Reals]) -> tuple[Reals, Any]:
    """The latency (the highest ceiling, s) and the name of that ceiling, elementwise for arrays."""
    stack = np.stack(np.broadcast_arrays(*(times[name] for name in CEILINGS)))
    index = stack.argmax(axis=0)
    latency = stack.max(axis=0)
    if latency.ndim == 0:
        return float(latency), CEILINGS[int(index)]
    return latency, np.array(CEILINGS)[index]
