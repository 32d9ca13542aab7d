"""What one shortened run says: time, each CTA's time, traffic by what caused it, and how busy the units were."""

from dataclasses import dataclass

import numpy as np

from presets.experiment import Experiment
from simfa import stats
from simfa.engine.machine import Machine
from simfa.memory import l2
from simfa.sampling import shorten
from simfa.sampling.shorten import Short


@dataclass(frozen=True)
class Sample:
    """One run. `steps` are the mean K/V tiles of its CTAs; traffic in bytes, times in cycles.

    `busy_cycles` is, by CTA, the time from the end of the one before it in its slot to its own end, so that the
    times of a slot add up to its last CTA's end. `kv_read_bytes` are DRAM reads other than those of Q;
    `course` is how many CTAs had ended, by which cycle, and after how many of these bytes, shape (readings, 3).
    """

    steps: float
    cycles: float
    busy_cycles: np.ndarray
    kv_read_bytes: float
    course: np.ndarray
    dirty_bytes: float
    tensor_cycles: float
    lines: int
    shares: dict[str, float]


class Readings:
    """How far a run had come, taken whenever the machine reports."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._seen = [(0, 0, 0)]

    def take(self, _: float) -> None:
        """Note where the machine stands."""
        retired = int(self._machine.grid.config[0]["retired"])
        now = int(self._machine.queue.header[0]["now"])
        self._seen.append((retired, now, int(self._machine.memory.cache.channels["reads"].sum())))

    def table(self) -> np.ndarray:
        """CTAs ended, rising, with cycle and lines read by then, shape (readings, 3)."""
        found = np.array(self._seen, float)
        return found[np.flatnonzero(np.diff(found[:, 0], prepend=-1.0) > 0)]


def sample(run: Short, machine: Machine, seen: np.ndarray) -> Sample:
    """What a machine says after its run, and what was seen of its course (`Readings.table`)."""
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
        seen * (1.0, 1.0, line_bytes) - np.outer(seen[:, 0], (0.0, 0.0, query / len(run.plan.steps))),
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
