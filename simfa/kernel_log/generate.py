"""The log that an instrumented FlashAttention-3 would write, event by event as its main loops run.

Written after the kernel's loops and Table 4, not from the simulator's programs, so that log, translation and
built-in programs check each other. Timestamps only have an order.
"""

import numpy as np

from presets.errors import NotModelled
from presets.experiment import Experiment
from simfa import launch, tiles
from simfa.kernel_log.format import DTYPES, ENTRY, EVENTS, TENSORS, WARPS_PER_WARPGROUP, encode

Event = tuple[str, int, int]  # name, stage, payload


def producer_events(tiles: int, query_tile: int, k_stages: int, v_stages: int, backward: bool) -> list[Event]:
    """One warp issues all loads: the first K, Q, then each next K before the V of the tile before it."""
    order = list(range(tiles))[::-1] if backward else list(range(tiles))
    events: list[Event] = [("TMA_K_ISSUE", 0, order[0])] if order else []
    events.append(("TMA_Q_ISSUE", 0, query_tile))
    for step, tile in enumerate(order):
        if step + 1 < tiles:
            events.append(("TMA_K_ISSUE", (step + 1) % k_stages, order[step + 1]))
        events.append(("TMA_V_ISSUE", step % v_stages, tile))
    return events


def consumer_events(tiles: int, k_stages: int, v_stages: int) -> list[Event]:
    """Q K^T of the first tile, then each next Q K^T with P V of the tile before, then the last P V."""
    events: list[Event] = []
    for step in range(tiles):
        k, v = step % k_stages, (step - 1) % v_stages
        events += [("WAIT_K_START", k, step), ("GEMM_QK_ISSUE", k, step)]
        if step == 0:
            events.append(("WAIT_WG_0", k, step))
            continue
        events += [("WAIT_V_START", v, step - 1), ("GEMM_PV_ISSUE", v, step - 1)]
        events += [("WAIT_WG_1", k, step), ("WAIT_WG_0", v, step - 1)]
    if tiles:
        v = (tiles - 1) % v_stages
        events += [("WAIT_V_START", v, tiles - 1), ("GEMM_PV_ISSUE", v, tiles - 1), ("WAIT_WG_0", v, tiles - 1)]
    return events


def generate(experiment: Experiment, entries_per_warp: int = 0) -> bytes:
    """The log of an experiment's launch; 0 entries per warp: as many as it takes, and one.

    Raises NotModelled for multicast.
    """
    if tiles.is_persistent(experiment.kernel):
        raise NotModelled(f"{experiment.kernel.name} runs persistent CTAs, whose logs are not generated")
    if launch.multicasts(experiment):
        raise NotModelled("pipeline.multicast: Table 4 has no event that tells a share of a tile from a whole one")
    pipeline = experiment.kernel.pipeline
    stages = (pipeline.k_stages, pipeline.v_stages)
    counts = [int(count) for count in tiles.kv_tiles(experiment)]
    consumers = {tiles: consumer_events(tiles, *stages) for tiles in set(counts)}
    backward = pipeline.kv_order == "last_to_first"
    blocks = len(counts) * experiment.heads_q * experiment.workload.batch
    warpgroups = 1 + pipeline.consumer_warpgroups
    longest = max(max(map(len, consumers.values())), 2 * max(counts) + 1)
    shape = (blocks, warpgroups * WARPS_PER_WARPGROUP, entries_per_warp or longest + 1)
    entries = np.zeros(shape, ENTRY)
    for block in range(blocks):
        tile = block % len(counts)
        loads = producer_events(counts[tile], tile, *stages, backward)
        _record(entries[block, 0], loads, start=1000 + block)
        for warp in range(WARPS_PER_WARPGROUP, shape[1]):
            _record(entries[block, warp], consumers[counts[tile]], start=1000 + block + 3 * warp)
    return encode(header_of(experiment), entries)


def _record(buffer: np.ndarray, events: list[Event], start: int) -> None:
    """Lane 0 of one warp: what does not fit is not recorded."""
    kept = events[: len(buffer)]
    for name, values in (
        ("timestamp", [start + 100 * index for index in range(len(kept))]),
        ("event", [EVENTS[event] for event, _, _ in kept]),
        ("stage", [stage for _, stage, _ in kept]),
        ("payload", [payload for _, _, payload in kept]),
    ):
        buffer[name][: len(kept)] = values


def header_of(experiment: Experiment) -> dict[str, int]:
    """The header of an experiment's log."""
    work, kernel, pipeline = experiment.workload, experiment.kernel, experiment.kernel.pipeline
    header = {
        "batch": work.batch, "seq_q": work.seq_q, "seq_kv": work.seq_kv, "heads_q": experiment.heads_q,
        "heads_kv": experiment.heads_kv, "head_dim": experiment.llm.head_dim, "query_rows": kernel.tile.query_rows,
        "kv_rows": kernel.tile.kv_rows, "k_stages": pipeline.k_stages, "v_stages": pipeline.v_stages,
        "dtype": DTYPES.index(work.dtype), "ping_pong": int(pipeline.ping_pong),
        "cluster": launch.cluster_ctas(experiment), "ctas_per_sm": pipeline.occupancy_ctas,
    }  # fmt: skip
    for name, tensor in zip(TENSORS, launch.tensor_maps(experiment), strict=True):
        head, row, batch = tensor.strides_bytes
        header |= {f"{name}_base": tensor.base, f"{name}_head_stride": head}
        header |= {f"{name}_row_stride": row, f"{name}_batch_stride": batch}
    return header
