"""A launch with fewer steps along K/V: the same CTAs, each going through a part of its K/V loop.

K/V length, L2 capacity and the bytes of Q and O shrink by one factor, so that what stays in the L2 from wave to
wave, and by how much a CTA that misses falls behind one that hits, are the same shares of a pass over K/V as in
the whole launch. Every latency, rate, queue and schedule is the machine's own.

Rows of Q and O are whole numbers, and so are sets and ways. Where K/V is about as large as the L2, two per cent of
the capacity are three of the traffic, so the capacity follows what a wave really moves between two reads of one
line, rounded rows included, and ways give way before it does.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from presets.experiment import Experiment
from simfa import coverage, launch
from simfa.engine.machine import Machine
from simfa.tiles import Plan
from simfa.trace import fa3
from simfa.trace.tensor_map import TensorMap

NOT_OBSERVED = -1
WAYS_DIFFER = 0.25  # of a short run's L2 from the whole one's, at most


class Capacity(NamedTuple):
    """An L2 slice of a run."""

    sets: int
    ways: int

    @property
    def lines(self) -> int:
        """Lines that a slice holds."""
        return self.sets * self.ways


def steps_of(experiment: Experiment) -> int:
    """K/V tiles of the whole K/V length."""
    return -(-experiment.workload.seq_kv // experiment.kernel.tile.kv_rows)


def kv_rows(experiment: Experiment, steps: int) -> int:
    """K/V length with fewer tiles: the last one is as full as the last of all."""
    return experiment.workload.seq_kv - (steps_of(experiment) - steps) * experiment.kernel.tile.kv_rows


def kv_share(experiment: Experiment, steps: int) -> float:
    """K/V length with fewer tiles over the whole: the factor by which everything that is shortened shrinks."""
    return kv_rows(experiment, steps) / experiment.workload.seq_kv


def whole_capacity(experiment: Experiment) -> Capacity:
    """A slice of the GPU's own L2."""
    cache, ways = experiment.gpu.l2, coverage.check(experiment).timing.ways
    return Capacity(cache.bytes // (cache.line_bytes * cache.slices * ways), ways)


def capacities_of(experiment: Experiment, lines: float) -> list[Capacity]:
    """Slices of about so many lines, with ways like the GPU's own; at most all of its own L2."""
    whole = whole_capacity(experiment)
    least, most = (max(round(whole.ways * (1 + sign * WAYS_DIFFER)), 1) for sign in (-1, 1))
    found = [Capacity(max(round(lines / ways), 1), ways) for ways in range(least, most + 1)]
    return [one if one.lines < whole.lines else whole for one in found]


def moved_share(experiment: Experiment, plan: Plan, wave: int, steps: int) -> float:
    """`moved_bytes` of a short run over the whole launch's: rows of Q and O are whole numbers, K and V exact."""
    share = kv_share(experiment, steps)
    consumer_rows = launch.tensor_maps(experiment)[fa3.MAP_O].box[2]
    keys, own = _kv_bytes(experiment, plan, wave), _own_bytes(experiment, wave)
    return (keys * share + own * _rows(consumer_rows, share) / consumer_rows) / (keys + own)


def moved_bytes(experiment: Experiment, plan: Plan, wave: int) -> int:
    """What passes through the L2 between two reads of a line of K or V by one wave and the next.

    That is K and V of the heads that a wave reads, and its Q and O.
    """
    return _kv_bytes(experiment, plan, wave) + _own_bytes(experiment, wave)


def _kv_bytes(experiment: Experiment, plan: Plan, wave: int) -> int:
    row = experiment.llm.head_dim * experiment.precision_bytes
    return 2 * experiment.workload.seq_kv * row * live_heads(experiment, plan, wave)


def _own_bytes(experiment: Experiment, wave: int) -> int:
    row = experiment.llm.head_dim * experiment.precision_bytes
    return 2 * experiment.kernel.tile.query_rows * wave * row


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


def short(experiment: Experiment, kept: Plan, steps: int, capacity: Capacity) -> Short:
    """The CTAs kept, with `steps` K/V tiles and `capacity` of each L2 slice; with all K/V tiles as they are."""
    whole = steps_of(experiment)
    if steps >= whole:
        return Short(experiment, kept, launch.tensor_maps(experiment))
    shorter, share = _shorter(experiment, steps, capacity), kv_share(experiment, steps)
    return Short(shorter, _fewer_steps(kept, steps, whole), _thinner(launch.tensor_maps(shorter), share))


def _shorter(experiment: Experiment, steps: int, capacity: Capacity) -> Experiment:
    gpu, work = experiment.gpu, experiment.workload
    cache = gpu.l2.model_copy(update={"bytes": capacity.lines * gpu.l2.line_bytes * gpu.l2.slices})
    timing = coverage.check(experiment).timing.model_copy(update={"ways": capacity.ways})
    return experiment.model_copy(
        update={
            "gpu": gpu.model_copy(update={"l2": cache, "l2_timing": timing}),
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
    """Q and O with a share of each consumer's rows, at least one, close together as in the whole launch.

    Tiles keep their coordinates, so rows are a fifth dimension and the third counts tiles in smaller strides. With
    gaps between them, rows of tiles would lie at large powers of two and fall on few sets of the L2.
    """
    found = list(maps)
    consumer_rows = maps[fa3.MAP_O].box[2]
    kept = _rows(consumer_rows, share)
    for name in (fa3.MAP_Q, fa3.MAP_O):
        own = maps[name]
        width, heads, rows, batch = own.box
        by_head, by_row, _ = own.strides_bytes
        mine = kept * (rows // consumer_rows)
        smaller = by_row * kept // consumer_rows
        found[name] = replace(
            own,
            dims=(*own.dims, mine),
            strides_bytes=(by_head, smaller, own.dims[2] * smaller, by_row),
            box=(width, heads, 1, batch, mine),
        )
    return tuple(found)


def query_rows(maps: tuple[TensorMap, ...], plan: Plan) -> int:
    """Rows of Q (or O) that the CTAs of a plan load, from short maps or the launch's own."""
    box = maps[fa3.MAP_Q].box
    if len(box) > 4:
        return len(plan.steps) * box[-1]
    left = maps[fa3.MAP_Q].dims[2] - plan.order[2] * box[2]
    return int(np.minimum(left, box[2]).sum())


def _rows(consumer_rows: int, share: float) -> int:
    return max(round(consumer_rows * share), 1)


def tile_bytes(experiment: Experiment) -> int:
    """Bytes of one K tile and one V tile together."""
    return 2 * experiment.kernel.tile.kv_rows * experiment.llm.head_dim * experiment.precision_bytes


def live_heads(experiment: Experiment, plan: Plan, wave: int) -> int:
    """KV heads that the CTAs of a first wave read."""
    batch, head, _ = (axis[:wave] for axis in plan.order)
    group = experiment.heads_q // experiment.heads_kv
    return len(np.unique(batch * experiment.heads_kv + head // group))
