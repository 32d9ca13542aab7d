"""The tiles of a launch: their order, how many K/V blocks each reads, and how many of those need a mask."""

from dataclasses import dataclass

import numpy as np

from presets.experiment import Experiment
from presets.specs import KernelSpec

Order = tuple[np.ndarray, np.ndarray, np.ndarray]  # batch, query head and query tile of every CTA or tile


@dataclass(frozen=True)
class Plan:
    """What a launch runs: every CTA or tile in the order in which they are handed out, and what each reads."""

    order: Order
    steps: np.ndarray  # K/V tiles
    turns: np.ndarray  # steps after the first: with a mask, without; shape (CTAs, 2)
    backward: np.ndarray  # whether K/V tiles are read against the kernel's order

    def only(self, kept: np.ndarray) -> "Plan":
        """Some of the CTAs, by their number, in the same order."""
        batch, head, index = (axis[kept] for axis in self.order)
        return Plan((batch, head, index), self.steps[kept], self.turns[kept], self.backward[kept])


def plan(experiment: Experiment) -> Plan:
    """The whole launch of an experiment."""
    order = launch_order(experiment)
    index = order[2]
    return Plan(order, kv_tiles(experiment)[index], turns(experiment)[index], backward(experiment))


def packed_heads(experiment: Experiment) -> int:
    """Query heads that share a tile, head fastest, then row: all of a KV head where the kernel packs, else 1.

    The official kernel packs where rows of one head fill tiles badly and packed ones do not (`pack_gqa_below`). A
    group that does not divide a warpgroup's rows is left unpacked: its rows are no box of a tensor map.
    """
    kernel = experiment.kernel
    group, below = experiment.heads_q // experiment.heads_kv, kernel.pipeline.pack_gqa_below
    whole = kernel.tile.query_rows // kernel.pipeline.consumer_warpgroups % group == 0
    if not below or group == 1 or not whole or not is_persistent(kernel):
        return 1
    rows, tile = experiment.workload.seq_q, kernel.tile.query_rows
    return group if _filled(rows, tile) < below * _filled(rows * group, tile) else 1


def _filled(rows: int, tile_rows: int) -> float:
    """Share of their tiles that rows fill."""
    return rows / (-(-rows // tile_rows) * tile_rows)


def tile_heads(experiment: Experiment) -> int:
    """Heads of a batch as tiles count them: query heads, or KV heads where the kernel packs."""
    return experiment.heads_q // packed_heads(experiment)


def query_tiles(experiment: Experiment) -> int:
    """Query tiles of one of `tile_heads`."""
    return -(-experiment.workload.seq_q * packed_heads(experiment) // experiment.kernel.tile.query_rows)


def kv_tiles(experiment: Experiment) -> np.ndarray:
    """K/V tiles that each query tile reads, shape (query tiles,): all, or what a causal mask leaves."""
    work, tile = experiment.workload, experiment.kernel.tile
    ends = np.arange(1, query_tiles(experiment) + 1) * tile.query_rows
    last_rows = np.minimum(work.seq_q, -(-ends // packed_heads(experiment)))
    visible = np.full_like(last_rows, work.seq_kv)
    if work.causal:
        visible = np.clip(work.seq_kv - work.seq_q + last_rows, 0, work.seq_kv)
    return -(-visible // tile.kv_rows)


def masked_tiles(experiment: Experiment) -> np.ndarray:
    """Of those, the ones that hold a score the causal mask takes from the tile's first row on."""
    work, tile = experiment.workload, experiment.kernel.tile
    if not work.causal:
        return np.zeros(query_tiles(experiment), np.int64)
    starts = np.arange(query_tiles(experiment)) * tile.query_rows
    first_rows = starts // packed_heads(experiment) + work.seq_kv - work.seq_q
    return kv_tiles(experiment) - np.clip((first_rows + 1) // tile.kv_rows, 0, kv_tiles(experiment))


def turns(experiment: Experiment) -> np.ndarray:
    """Steps of each query tile after its first: with a mask, without; shape (query tiles, 2)."""
    steps = kv_tiles(experiment)
    masked = np.clip(masked_tiles(experiment) - 1, 0, None)
    return np.stack([masked, np.maximum(steps - 1 - masked, 0)], axis=1).astype(np.int32)


def is_persistent(kernel: KernelSpec) -> bool:
    """Whether CTAs go through tiles, as the official kernel's do."""
    return kernel.pipeline.schedule in ("static", "dynamic")


def is_by_weight(kernel: KernelSpec) -> bool:
    """Whether the heaviest tiles are handed out first."""
    return kernel.pipeline.schedule == "dynamic" and kernel.pipeline.tile_order != "grid"


def launch_order(experiment: Experiment) -> Order:
    """Batch, head (of `tile_heads`) and query tile of every CTA or tile, in the order of handing out."""
    return heaviest_first(experiment) if is_by_weight(experiment.kernel) else in_grid_order(experiment)


def in_grid_order(experiment: Experiment) -> Order:
    """Batch, head (of `tile_heads`) and query tile of every tile, in the order of the grid's numbers.

    block_fastest: query tile fastest, then head, then batch. head_fastest: head, then batch, then query tile, whose
    grid is batch x heads wide; CTAs of a cluster, neighbouring query tiles of one head, stay together.
    """
    work = experiment.workload
    axes = np.meshgrid(
        np.arange(work.batch), np.arange(tile_heads(experiment)), np.arange(query_tiles(experiment)), indexing="ij"
    )
    batch, head, index = (axis.ravel() for axis in axes)
    if experiment.kernel.pipeline.grid_order == "head_fastest":
        order = np.lexsort((index, head, batch, index // cluster_ctas(experiment)))
        return batch[order], head[order], index[order]
    return batch, head, index


def backward(experiment: Experiment) -> np.ndarray:
    """Whether each CTA of a grid, by its number, reads K/V against the kernel's order, shape (CTAs,).

    A sawtooth turns round with every wave of CTAs that fill the GPU, so that a wave begins with the tiles its
    predecessor read last; cyclic passes never turn.
    """
    pipeline = experiment.kernel.pipeline
    count = experiment.workload.batch * tile_heads(experiment) * query_tiles(experiment)
    if pipeline.kv_traversal != "sawtooth":
        return np.zeros(count, bool)
    resident = experiment.gpu.sm.count * pipeline.occupancy_ctas
    return np.asarray(np.arange(count) // resident % 2 == 1)


def cluster_ctas(experiment: Experiment) -> int:
    """CTAs dispatched together: the kernel's cluster if it divides a head's query tiles and fits the GPU."""
    size = experiment.kernel.pipeline.cluster_ctas
    fits = query_tiles(experiment) % size == 0 and size <= experiment.gpu.sm.count
    return size if fits else 1


def section_heads(experiment: Experiment) -> int:
    """Query heads of a section of the dynamic schedule: a power of two of KV heads that fit `section_bytes`."""
    group = tile_heads(experiment) // experiment.heads_kv
    head_bytes = 2 * experiment.workload.seq_kv * experiment.llm.head_dim * experiment.precision_bytes
    fits = max((experiment.kernel.pipeline.section_bytes or 0) // head_bytes, 1)
    return int(2 ** (fits.bit_length() - 1)) * group


def heaviest_first(experiment: Experiment) -> Order:
    """The dynamic schedule's order: section by section, last query tile first; inside it heads are fastest."""
    section = section_heads(experiment)
    batch, head, index = in_grid_order(experiment)
    number = batch * tile_heads(experiment) + head
    order = np.lexsort((number % section, -index, number // section))
    return batch[order], head[order], index[order]
