"""Every CTA of a finished run as one row: where it ran, which tile it computed, when, and how long it stalled."""

import numpy as np

from presets.experiment import Experiment
from simfa import tiles
from simfa.columns import Columns
from simfa.engine.machine import Machine


def columns(machine: Machine, names: list[str], places: Columns | None = None) -> Columns:
    """Columns of all CTAs, in launch order.

    `cta`, `cluster`, `sm`, `slot` (of its SM), then `places`, then `start_cycle`, `end_cycle`, `cycles`, and for
    each role of `names` the cycles that its warpgroup stood stalled.
    """
    ctas, per_sm = machine.grid.ctas, int(machine.state.config[0]["slots_per_sm"])
    number = np.arange(len(ctas), dtype=np.int32)
    stalls = machine.observer.stall_cycles
    return {
        "cta": number,
        "cluster": number // np.int32(machine.grid.config[0]["cluster"]),
        "sm": (ctas["slot"] // per_sm).astype(np.int16),
        "slot": (ctas["slot"] % per_sm).astype(np.int8),
        **(places or {}),
        "start_cycle": ctas["start_cycle"].copy(),
        "end_cycle": ctas["end_cycle"].copy(),
        "cycles": ctas["end_cycle"] - ctas["start_cycle"],
        **{f"{name.replace(' ', '_')}_stall_cycles": stalls[:, role].copy() for role, name in enumerate(names)},
    }


def places(experiment: Experiment) -> Columns:
    """What each CTA of the built-in kernel, or each tile of its persistent CTAs, computes.

    Batch, query head (the first, where the kernel packs those of a KV head), KV head, query tile, and K/V tiles it
    reads.
    """
    batch, head, tile = tiles.launch_order(experiment)
    head = head * tiles.packed_heads(experiment)
    return {
        "batch": batch.astype(np.int32),
        "head_q": head.astype(np.int32),
        "head_kv": (head // (experiment.heads_q // experiment.heads_kv)).astype(np.int32),
        "query_tile": tile.astype(np.int32),
        "kv_tiles": tiles.kv_tiles(experiment)[tile].astype(np.int32),
    }
