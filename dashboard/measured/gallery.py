"""The public measurements shipped with the project as cases: what the page shows before any upload.

Rows of `presets/measured/measured_attention.csv` (times) and `measured_traffic.csv` (bytes) that describe the
same run are one case. A row whose GPU has no preset is a case that says why it is not compared.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from typing import Any

from dashboard.measured import gpus, tiles
from dashboard.measured.case import Case, Match, Reading
from presets.measured_points import rows

_SAME_RUN = ("gpu", "clock_mhz", "kernel", "causal", "batch", "heads_q", "heads_kv", "head_dim", "seq_q", "seq_kv")
_CUTILE = "cutile-fa-64x64"
_MISSES = "estimate for an integrated GPU: bytes of L2 sector misses"

Row = Mapping[str, str]


@cache
def cases() -> tuple[Case, ...]:
    """All shipped public measurements, in file order."""
    runs: dict[tuple[str, ...], dict[str, Any]] = {}
    for row in rows("measured_attention"):
        runs.setdefault(_run(row), {"row": row})["latency"] = Reading(
            value=float(row["latency_us"]), source=_said(row), kind="counter"
        )
    for row in rows("measured_traffic"):
        kept = runs.setdefault(_run(row), {"row": row})
        kept.setdefault("bytes", {})[row["metric"]] = (float(row["bytes"]), _said(row))
        kept["block_m"] = int(row["block_m"])
    return tuple(_case(key, kept) for key, kept in runs.items())


def case_of(row: Row) -> Case:
    """The case that a row of either table belongs to."""
    name = _id(_run(row))
    return next(case for case in cases() if case.id == name)


def _id(key: tuple[str, ...]) -> str:
    return hashlib.sha256(repr(key).encode()).hexdigest()[:16]


def _run(row: Row) -> tuple[str, ...]:
    return tuple(row[name] for name in _SAME_RUN)


def _said(row: Row) -> str:
    return ": ".join(filter(None, (row["source"], row["note"])))


def _case(key: tuple[str, ...], kept: dict[str, Any]) -> Case:
    row: Row = kept["row"]
    gpu, why = gpus.find(row["gpu"])
    settings, kernel, reason = _kernel(row, kept.get("block_m"))
    found: dict[str, tuple[float, str]] = kept.get("bytes", {})
    return Case(
        id=_id(key),
        file="measured_traffic.csv" if "latency" not in kept else "measured_attention.csv",
        kernel_name=row["kernel"],
        title=f"{row['kernel']} on {row['gpu']}",
        match=Match(
            gpu=gpu,
            kernel=kernel,
            batch=int(row["batch"]),
            heads_q=int(row["heads_q"]),
            heads_kv=int(row["heads_kv"]),
            head_dim=int(row["head_dim"]),
            seq_q=int(row["seq_q"]),
            seq_kv=int(row["seq_kv"]),
            mask="causal" if row["causal"] == "1" else "none",
            dtype=row.get("dtype", "fp16"),  # type: ignore[arg-type]
            settings=settings,
        ),
        reasons=tuple(filter(None, (why, reason))),
        latency_us=kept.get("latency", Reading(source="missing: not in the table")),
        l2_bytes=_l2(found),
        dram_bytes=_dram(found),
        clock_hz=float(row["clock_mhz"]) * 1e6 if row["clock_mhz"] else None,
        conditions=_conditions(row),
        device=row["gpu"],
        why_not="" if gpu else why,
    )


def _l2(found: dict[str, tuple[float, str]]) -> Reading:
    if "l2_read_bytes" not in found or "l2_write_bytes" not in found:
        return Reading(source="missing: not in the table")
    (read, said), (written, _) = found["l2_read_bytes"], found["l2_write_bytes"]
    return Reading(value=read + written, source=f"L2 reads and writes of the SMs; {said}", kind="counter")


def _dram(found: dict[str, tuple[float, str]]) -> Reading:
    if "dram_bytes" in found:
        return Reading(value=found["dram_bytes"][0], source=found["dram_bytes"][1], kind="rate")
    if "l2_miss_bytes" in found:
        value, said = found["l2_miss_bytes"]
        return Reading(value=value, source=f"{_MISSES}; {said}", kind="estimate")
    return Reading(source="missing: not in the table")


def _conditions(row: Row) -> str:
    if "cold cache" in row["note"]:
        return "cold cache, clock locked, by Nsight Compute"
    return "by Nsight Compute" if "Nsight Compute" in row["source"] else ""


def _kernel(row: Row, block_m: int | None) -> tuple[str, str, str]:
    """Settings, kernel preset and the reason for them."""
    name, head_dim, causal = row["kernel"], int(row["head_dim"]), row["causal"] == "1"
    if name.startswith("FlashAttention-3"):
        old = "July 2024" in row["note"] or row["source"].startswith("FA3 paper")
        settings, reason = tiles.fa3_settings(
            head_dim, causal, row.get("dtype", "fp16"), int(row["seq_q"]), july_2024=old
        )
        return settings, "fa3", reason
    if name.startswith("cuTile"):
        occupancy = "pipeline.occupancy_ctas=2" if "occupancy 2" in row["note"] else ""
        return occupancy, _CUTILE, "64 x 64 tile: as the source says"
    if block_m:
        return tiles.plain_settings(block_m, 64), _CUTILE, f"{block_m} rows of Q per CTA: as the source says"
    if "T_M=128" in name:
        return tiles.plain_settings(128, 64), _CUTILE, "128 rows of Q per CTA: as the source says"
    return "", _CUTILE, "tile not stated; the 64 x 64 tile of cuTile stands in"
