"""What one shortened run says: time, each CTA's time, traffic by what caused it, and how busy the units were."""

from dataclasses import dataclass

import numpy as np

from presets.experiment import Experiment
from simfa import stats
from simfa.engine.machine import Machine
from simfa.memory import l2
from simfa.sampling import shorten
from simfa.sampling.shorten import Short
from simfa.tiles import Plan


@dataclass(frozen=True)
class Sample:
    """One run. `steps` are the mean K/V tiles of its CTAs; traffic in bytes, times in cycles.

    `busy_cycles` is, by CTA, the time from the end of the one before it in its slot to its own end, so that the
    times of a slot add up to its last CTA's end. `kv_read_bytes` are DRAM reads other than those of Q.
    """

    steps: float
    cycles: float
    busy_cycles: np.ndarray
    kv_read_bytes: float
    dirty_bytes: float
    tensor_cycles: float
    lines: int
    shares: dict[str, float]


def sample(run: Short, machine: Machine) -> Sample:
    """What a machine says after its run."""
    cache, line_bytes = machine.memory.cache, run.experiment.gpu.l2.line_bytes
    engines = machine.engines.engines
    cycles = int(machine.queue.header[0]["now"])
    reads = int(cache.channels["reads"].sum()) * line_bytes
    query = shorten.query_rows(run.maps, run.plan) * row_bytes(run.experiment)
    return Sample(
        float(run.plan.steps.mean()),
        cycles,
        busy(machine.grid.ctas["slot"], machine.grid.ctas["end_cycle"]),
        max(reads - query, 0),
        int(((cache.bits & l2.DIRTY) != 0).sum()) * line_bytes,
        float(machine.state.sms["tensor_busy"].sum()),
        int(engines["load_lines"].sum() + engines["store_lines"].sum()),
        stats.utilization(run.experiment.gpu, machine, cycles),
    )


def busy(slot: np.ndarray, end_cycle: np.ndarray) -> np.ndarray:
    """Of each CTA the cycles since the end of the one before it in its slot, or since the beginning."""
    order = np.lexsort((end_cycle, slot))
    ends, same = end_cycle[order], np.diff(slot[order], prepend=-1) == 0
    found = np.empty(len(slot), np.int64)
    found[order] = ends - np.where(same, np.roll(ends, 1), 0)
    return found


def row_bytes(experiment: Experiment) -> int:
    """One row of a head."""
    return experiment.llm.head_dim * experiment.precision_bytes
