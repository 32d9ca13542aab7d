"""A launch with fewer steps along K/V: the same CTAs, each going through a part of its K/V loop.

K/V length, L2 capacity and the bytes of Q and O shrink by one factor, so that what stays in the L2 from wave to
wave, and by how much a CTA that misses falls behind one that hits, are the same shares of a pass over K/V as in
the whole launch. Every latency, rate, queue and schedule is the machine's own.
"""

from dataclasses import dataclass, replace

import numpy as np

from presets.experiment import Experiment
from simfa import coverage, launch
from simfa.engine.machine import Machine
from simfa.tiles import Plan
from simfa.trace import fa3
from simfa.trace.tensor_map import TensorMap

NOT_OBSERVED = -1


def steps_of(experiment: Experiment) -> int:
    """K/V tiles of the whole K/V length."""
    return -(-experiment.workload.seq_kv // experiment.kernel.tile.kv_rows)


def kv_rows(experiment: Experiment, steps: int) -> int:
    """K/V length with fewer tiles: the last one is as full as the last of all."""
    return experiment.workload.seq_kv - (steps_of(experiment) - steps) * experiment.kernel.tile.kv_rows


def kv_share(experiment: Experiment, steps: int) -> float:
    """K/V length with fewer tiles over the whole: the factor by which everything that is shortened shrinks."""
    return kv_rows(experiment, steps) / experiment.workload.seq_kv


def l2_sets(experiment: Experiment) -> int:
    """Sets of one L2 slice."""
    cache, timing = experiment.gpu.l2, coverage.check(experiment).timing
    return cache.bytes // (cache.line_bytes * cache.slices * timing.ways)


@dataclass(frozen=True)
class Short:
    """A launch as it is run: the experiment with K/V length and L2 of the run, its CTAs, its tensor maps."""

    experiment: Experiment
    plan: Plan
    maps: tuple[TensorMap, ...]

    def machine(self, seed: int) -> Machine:
        """A machine at cycle 0."""
        return launch.machine_for(
            self.experiment, coverage.check(self.experiment), self.plan, self.maps, seed, NOT_OBSERVED
        )


def short(experiment: Experiment, kept: Plan, steps: int, sets: int) -> Short:
    """The CTAs kept, with `steps` K/V tiles and `sets` sets in each L2 slice; with all K/V tiles as they are."""
    whole = steps_of(experiment)
    if steps >= whole:
        return Short(experiment, kept, launch.tensor_maps(experiment))
    shorter, share = _shorter(experiment, steps, sets), kv_share(experiment, steps)
    return Short(shorter, _fewer_steps(kept, steps, whole), _thinner(launch.tensor_maps(shorter), share))


def _shorter(experiment: Experiment, steps: int, sets: int) -> Experiment:
    gpu, work = experiment.gpu, experiment.workload
    set_bytes = gpu.l2.line_bytes * gpu.l2.slices * coverage.check(experiment).timing.ways
    cache = gpu.l2.model_copy(update={"bytes": sets * set_bytes})
    return experiment.model_copy(
        update={
            "gpu": gpu.model_copy(update={"l2": cache}),
            "workload": work.model_copy(update={"seq_kv": kv_rows(experiment, steps)}),
        }
    )


def _fewer_steps(kept: Plan, steps: int, whole: int) -> Plan:
    """The same shares of each CTA's steps, at least one of those that have any."""
    fewer = np.where(kept.steps > 0, np.maximum(np.rint(kept.steps * (steps / whole)).astype(np.int64), 1), 0)
    further = np.maximum(fewer - 1, 0)
    masked = np.minimum(kept.turns[:, 0], further)
    return replace(kept, steps=fewer, turns=np.stack([masked, further - masked], axis=1).astype(np.int32))


def _thinner(maps: tuple[TensorMap, ...], share: float) -> tuple[TensorMap, ...]:
    """Boxes of Q and O with a share of their rows, at least one."""
    found = list(maps)
    for name in (fa3.MAP_Q, fa3.MAP_O):
        width, heads, rows, batch = maps[name].box
        found[name] = replace(maps[name], box=(width, heads, max(round(rows * share), 1), batch))
    return tuple(found)


def tile_bytes(experiment: Experiment) -> int:
    """Bytes of one K tile and one V tile together."""
    return 2 * experiment.kernel.tile.kv_rows * experiment.llm.head_dim * experiment.precision_bytes


def live_heads(experiment: Experiment, plan: Plan, wave: int) -> int:
    """KV heads that the CTAs of a first wave read."""
    batch, head, _ = (axis[:wave] for axis in plan.order)
    group = experiment.heads_q // experiment.heads_kv
    return len(np.unique(batch * experiment.heads_kv + head // group))
