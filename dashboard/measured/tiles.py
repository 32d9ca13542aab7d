"""Tiles of the official FlashAttention-3 forward kernel on Hopper, as changes to the `fa3` preset.

By head dimension and mask, from the kernel's own tile table; the release of July 2024, behind the figure of the
FlashAttention-3 paper, used 192 x 128 at head dimension 64 and clusters of 2 for every non-causal launch of
head dimension 128 and 256.
"""

from __future__ import annotations

# (head dimension, causal) -> rows of Q, rows of K/V, cluster
_FP16 = {
    (64, False): (192, 192, 1),
    (64, True): (192, 128, 1),
    (128, False): (128, 176, 2),
    (128, True): (128, 128, 1),
    (256, False): (128, 80, 2),
    (256, True): (128, 80, 1),
}
_FP8 = {64: (192, 160), 128: (128, 224), 256: (128, 128)}
WARPGROUP_ROWS = 64


def fa3_settings(head_dim: int, causal: bool, dtype: str, seq_q: int, july_2024: bool = False) -> tuple[str, str]:
    """Settings text for the official tile, and the reason; both empty where the table has no such case."""
    found = _FP16.get((head_dim, causal))
    if dtype == "fp8" and head_dim in _FP8:
        found = (*_FP8[head_dim], 1)
    if found is None:
        return "", ""
    query_rows, kv_rows, cluster = found
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
