"""Tiles of the official FlashAttention-3 forward kernel on Hopper, as changes to the `fa3` preset.

By head dimension, dtype and mask, from the presets of the kernel as built; the release of July 2024, behind the
figure of the FlashAttention-3 paper, used 192 x 128 at head dimension 64 and clusters of 2 for every non-causal
launch of head dimension 128 and 256.
"""

from __future__ import annotations

from presets import params

FA3 = "fa3"
WARPGROUP_ROWS = 64


def fa3_settings(head_dim: int, causal: bool, dtype: str, seq_q: int, july_2024: bool = False) -> tuple[str, str]:
    """Settings text for the official tile, and the reason; both empty where the table has no such case."""
    if head_dim not in params.HEAD_DIMS:
        return "", ""
    built = params.official_case(FA3, head_dim, dtype, causal)
    query_rows, kv_rows, cluster = built.tile.query_rows, built.tile.kv_rows, built.pipeline.cluster_ctas
    if july_2024 and head_dim == 64:
        kv_rows = 128
    tiles = -(-seq_q // query_rows)
    if cluster == 2 and tiles % 2 and not july_2024:
        cluster = 1
    release = "July 2024 release" if july_2024 else "official kernel"
    reason = f"{query_rows} x {kv_rows} tile, cluster {cluster}: {release} at head dimension {head_dim}"
    return settings(query_rows, kv_rows, cluster), reason + (", causal" if causal else "")


def settings(query_rows: int, kv_rows: int, cluster: int = 1) -> str:
    """A WGMMA kernel's tile as settings text: one consumer warpgroup per 64 rows of Q."""
    consumers = max(1, min(3, query_rows // WARPGROUP_ROWS))
    values = {
        "tile.query_rows": query_rows,
        "tile.kv_rows": kv_rows,
        "pipeline.consumer_warpgroups": consumers,
        "pipeline.cluster_ctas": cluster,
    }
    return "; ".join(f"{key}={value}" for key, value in values.items())


def plain_settings(query_rows: int, kv_rows: int) -> str:
    """Another kernel's tile on a preset that stands in for it; these kernels are built on mma.sync.

    So the simulator, which runs WGMMA pipelines, gives no answer for them rather than FlashAttention-3's. Their
    grids run over query tiles fastest, as FlashAttention-2's (blocks, batch, heads), whatever the stand-in does.
    """
    return (
        f"instruction=mma.sync; tile.query_rows={query_rows}; tile.kv_rows={kv_rows}; "
        "pipeline.consumer_warpgroups=1; pipeline.cluster_ctas=1; pipeline.grid_order=block_fastest"
    )
