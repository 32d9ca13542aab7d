"""The HBM3 channel against the published reference runs: mean read latency and bandwidth, row by row."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from presets import loader
from presets.dram_specs import DramChannelSpec
from presets.measured_points import rows
from simfa import dram_channel
from simfa.dram_channel import ChannelResult, Refresh
from simfa.validation.dram_patterns import IDLE_GROUPS, Pattern, fingerprint, patterns

PRESET = "hbm3-5200"
REFRESH: dict[str, Refresh] = {"none": "none", "allbank": "all-bank"}
PERCENTILES = {"lat_p50_ns": 50, "lat_p95_ns": 95, "lat_p99_ns": 99}
DIGITS = 3  # of the reference's figures


@dataclass(frozen=True)
class Point:
    """One row of the reference and ours: figures by the reference's column names."""

    refresh: str
    pattern: str
    overloaded: bool
    source: str
    same_requests: bool
    reference: dict[str, float]
    ours: dict[str, float]
    wall_s: float

    def error(self, column: str) -> float:
        """Relative error of one figure."""
        return self.ours[column] / self.reference[column] - 1

    def is_exact(self) -> bool:
        """Whether every figure equals the reference to its last digit."""
        return all(abs(self.ours[key] - value) < 0.51 * 10**-DIGITS for key, value in self.reference.items())


@cache
def _patterns() -> dict[str, Pattern]:
    return {pattern.name: pattern for pattern in patterns()}


def points(wanted: Callable[[dict[str, str]], bool] = lambda row: True) -> Iterator[Point]:
    """Every wanted row of the reference, simulated. The idle rows of one pattern share a run."""
    spec = loader.load(DramChannelSpec, PRESET)
    previous: tuple[str, str] | None = None
    for row in filter(wanted, rows("hbm3_reference")):
        name, group = _name_and_group(row["pattern"])
        pattern = _patterns()[name]
        if previous != (name, row["refresh"]):
            previous = name, row["refresh"]
            result = _run(spec, pattern, REFRESH[row["refresh"]])
            digits = fingerprint(spec, pattern)
        yield _point(row, digits, result, pattern, group)


def _name_and_group(name: str) -> tuple[str, str | None]:
    head, _, tail = name.rpartition("_")
    return (head, tail) if tail in IDLE_GROUPS else (name, None)


def _run(spec: DramChannelSpec, pattern: Pattern, refresh: Refresh) -> ChannelResult:
    return dram_channel.run(
        spec, pattern.requests, outstanding=pattern.outstanding, mapping=pattern.mapping, refresh=refresh
    )


def _point(row: dict[str, str], digits: str, result: ChannelResult, pattern: Pattern, group: str | None) -> Point:
    columns = ("lat_mean_ns", *PERCENTILES, "bw_GBps")
    return Point(
        refresh=row["refresh"],
        pattern=row["pattern"],
        overloaded=row["overloaded"] == "1",
        source=row["source"],
        same_requests=digits == row["request_seq_sha256_16"],
        reference={key: float(row[key]) for key in columns if row[key]},
        ours=_figures(result) if group is None else _group_figures(result, pattern.groups == group),
        wall_s=result.wall_s,
    )


def _figures(result: ChannelResult) -> dict[str, float]:
    answer = dram_channel.statistics(result)
    named = {f"lat_{name}_ns": answer[f"latency_{name}_ns"] for name in ("mean", "p50", "p95", "p99")}
    return named | {"bw_GBps": answer["bandwidth_gbs"]}


def _group_figures(result: ChannelResult, members: np.ndarray) -> dict[str, float]:
    latency = result.latency_ns()[members]
    named = {key: float(np.percentile(latency, share)) for key, share in PERCENTILES.items()}
    return {"lat_mean_ns": float(latency.mean())} | named


def summary(found: list[Point]) -> dict[str, float | int]:
    """Errors of mean latency and bandwidth over the rows that are not overloaded, and how many rows are exact."""
    fair = [point for point in found if not point.overloaded]
    errors = [
        abs(point.error(key)) for point in fair for key in ("lat_mean_ns", "bw_GBps") if key in point.reference
    ]
    return {
        "points": len(found),
        "compared": len(fair),
        "exact": sum(point.is_exact() for point in found),
        "mape_pct": 100 * float(np.mean(errors)),
        "worst_pct": 100 * float(np.max(errors)),
        "wall_s": sum(point.wall_s for point in found),
    }
