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
from simfa.validation.study import Point, Study

PRESET = "hbm3-5200"
REFRESH: dict[str, Refresh] = {"none": "none", "allbank": "all-bank"}
PERCENTILES = {"lat_p50_ns": 50, "lat_p95_ns": 95, "lat_p99_ns": 99}
DIGITS = 3  # of the reference's figures


@dataclass(frozen=True)
class Row:
    """One row of the reference and ours: figures by the reference's column names."""

    refresh: str
    pattern: str
    overloaded: bool
    source: str
    same_requests: bool
    reference: dict[str, float]
    ours: dict[str, float]
    requests: int
    wall_s: float

    def is_exact(self) -> bool:
        """Whether every figure equals the reference to its last digit."""
        return all(abs(self.ours[key] - value) < 0.51 * 10**-DIGITS for key, value in self.reference.items())


@cache
def _patterns() -> dict[str, Pattern]:
    return {pattern.name: pattern for pattern in patterns()}


def compare(wanted: Callable[[dict[str, str]], bool] = lambda row: True) -> Iterator[Row]:
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
        yield _row(row, digits, result, pattern, group)


def _name_and_group(name: str) -> tuple[str, str | None]:
    head, _, tail = name.rpartition("_")
    return (head, tail) if tail in IDLE_GROUPS else (name, None)


def _run(spec: DramChannelSpec, pattern: Pattern, refresh: Refresh) -> ChannelResult:
    return dram_channel.run(
        spec, pattern.requests, outstanding=pattern.outstanding, mapping=pattern.mapping, refresh=refresh
    )


def _row(row: dict[str, str], digits: str, result: ChannelResult, pattern: Pattern, group: str | None) -> Row:
    columns = ("lat_mean_ns", *PERCENTILES, "bw_GBps")
    return Row(
        refresh=row["refresh"],
        pattern=row["pattern"],
        overloaded=row["overloaded"] == "1",
        source=row["source"],
        same_requests=digits == row["request_seq_sha256_16"],
        reference={key: float(row[key]) for key in columns if row[key]},
        ours=_figures(result) if group is None else _group_figures(result, pattern.groups == group),
        requests=result.done_ticks.size,
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


@cache
def _all() -> tuple[Row, ...]:
    return tuple(compare())


def latency_study() -> Study:
    """Mean read latency of every row that is not overloaded."""
    return _study("dram-latency", "mean read latency", "lat_mean_ns", "ns")


def bandwidth_study() -> Study:
    """Bandwidth of every row that is not overloaded and has one."""
    return _study("dram-bandwidth", "bandwidth", "bw_GBps", "GB/s")


def _study(name: str, what: str, column: str, unit: str) -> Study:
    rows_in_study = [row for row in _all() if not row.overloaded and column in row.reference]
    points = [
        Point(f"{row.pattern}, {kind}", row.reference[column], row.ours[column], unit, series=kind)
        for row in rows_in_study
        for kind in (f"refresh {REFRESH[row.refresh]}",)
    ]
    return Study(
        name,
        f"One HBM3-5200 channel at command level: {what}",
        rows_in_study[0].source,
        "nothing",
        points,
        "The reference is a simulator too, with the same timing set: this shows that the scheduling is its own, "
        "not that a vendor's HBM3 has these timings. Rows whose queue only grows are left out.",
    )
