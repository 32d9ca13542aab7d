"""Which CTAs of a launch a sample keeps: whole heads, and of each head whole waves.

CTAs that read the same K/V one after another are a head's unit: a KV head with its query heads in grid order, a
section of heads in the dynamic schedule, the whole launch where heads are fastest. A launch is one unit after
another, so units can be left out. Within a unit the waves after the first few are alike, so whole waves, as many
CTAs as the GPU holds, can be left out: what remains begins and ends at the same places of a wave. Under a causal
mask CTAs differ, and query tiles are thinned out evenly instead.
"""

from dataclasses import dataclass

import numpy as np

from presets.experiment import Experiment
from simfa import tiles
from simfa.tiles import Plan


@dataclass(frozen=True)
class Units:
    """The units of a launch: of each CTA its unit and its place in it; of each unit its CTAs."""

    number: np.ndarray
    place: np.ndarray
    sizes: np.ndarray

    @property
    def alike(self) -> int:
        """Units of one size, from the first on; only a last one can be smaller."""
        return int((self.sizes == self.sizes[0]).sum())


def wave_ctas(experiment: Experiment) -> int:
    """CTAs that the GPU holds at once, clusters whole."""
    cluster = tiles.cluster_ctas(experiment)
    return experiment.gpu.sm.count // cluster * cluster * experiment.kernel.pipeline.occupancy_ctas


def units(experiment: Experiment, plan: Plan) -> Units:
    """The units of the launch, in its order."""
    batch, head, _ = plan.order
    pipeline = experiment.kernel.pipeline
    if tiles.is_by_weight(experiment.kernel):
        number = (batch * experiment.heads_q + head) // tiles.section_heads(experiment)
    elif pipeline.grid_order == "head_fastest":
        number = np.zeros_like(batch)
    else:
        number = batch * experiment.heads_kv + head // (experiment.heads_q // experiment.heads_kv)
    sizes = np.bincount(number)
    first = np.cumsum(sizes) - sizes
    return Units(number, np.arange(len(number)) - first[number], sizes)


def choose(experiment: Experiment, plan: Plan, found: Units, waves: int, count: int) -> np.ndarray:
    """Numbers of the CTAs kept: of the first `count` units, and one that differs, about `waves` waves each.

    Without a mask the CTAs kept are, but for whole waves, as many as there are, of each unit and altogether.
    """
    in_unit = found.number < count
    if found.alike < len(found.sizes):
        in_unit |= found.number == len(found.sizes) - 1
    if experiment.workload.causal:
        return np.flatnonzero(in_unit & _thinned(experiment, plan, found, waves))
    wave = wave_ctas(experiment)
    kept_of = found.sizes - wave * np.maximum((found.sizes - waves * wave) // wave, 0)
    if count < found.alike:
        kept_of[count - 1] = _ending_alike(kept_of, found, count, wave)
    return np.flatnonzero(in_unit & (found.place < kept_of[found.number]))


def ctas_of_unit(experiment: Experiment, plan: Plan, found: Units, waves: int) -> int:
    """CTAs kept of a unit like most."""
    return int((found.number[choose(experiment, plan, found, waves, found.alike)] == 0).sum())


def _ending_alike(kept_of: np.ndarray, found: Units, count: int, wave: int) -> int:
    """CTAs of the last unit kept, so that the launch ends at the same place of a wave as the whole one."""
    others = kept_of[: count - 1].sum() + kept_of[found.alike :].sum()
    own = int(kept_of[count - 1])
    more = int(found.sizes.sum() - others - own) % wave
    return own + more if own + more <= found.sizes[count - 1] else max(own + more - wave, 1)


def _thinned(experiment: Experiment, plan: Plan, found: Units, waves: int) -> np.ndarray:
    """Whether each CTA stays when a unit keeps about `waves` waves: clusters of query tiles, evenly spread.

    The last, which reads all of K and V, always stays.
    """
    cluster = tiles.cluster_ctas(experiment)
    clusters = -(-tiles.query_tiles(experiment) // cluster)
    heads = -(-int(found.sizes[0]) // tiles.query_tiles(experiment))
    wanted = -(-waves * wave_ctas(experiment) // (heads * cluster))
    if wanted >= clusters:
        return np.ones(len(found.number), bool)
    chosen = clusters - 1 - np.arange(wanted) * clusters // wanted
    return np.isin(plan.order[2] // cluster, chosen)
