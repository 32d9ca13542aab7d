"""One measured kernel launch, or one row of a per-kernel summary, in base units."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

Dims = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Launch:
    """A launch as the file states it; None means missing from the file, never zero.

    Times are nanoseconds, traffic is bytes, clocks are Hz, rates of hits are percent. `grid` and `block`
    have three entries, or one where the file states only the number of blocks or threads.
    `dram_bytes` comes from counters of bytes or sectors; on integrated GPUs it is the estimate that also
    stands in `dram_bytes_estimate`. `dram_bytes_from_rate` is a rate times the duration, kept apart.
    For summaries over several launches `duration_ns` is the median (the average where no median is
    printed) and `avg_ns`, `med_ns`, `min_ns`, `max_ns`, `stddev_ns`, `total_ns`, `instances` stand beside.
    `provenance` maps each field to its counters and assumptions; one mapping may serve many launches.
    """

    file: str
    kernel: str
    grid: Dims | None = None
    block: Dims | None = None
    grid_size: int | None = None
    block_size: int | None = None
    kind: str = ""
    id: str | None = None
    process_id: str | None = None
    context: str | None = None
    stream: str | None = None
    device: str | None = None
    device_name: str | None = None
    compute_capability: str | None = None
    duration_ns: float | None = None
    dram_bytes: float | None = None
    dram_read_bytes: float | None = None
    dram_write_bytes: float | None = None
    dram_bytes_from_rate: float | None = None
    dram_bytes_estimate: float | None = None
    l2_bytes: float | None = None
    l2_bytes_sm_side: float | None = None
    l2_hit_rate_pct: float | None = None
    sm_clock_hz: float | None = None
    cycles: float | None = None
    start_ns: float | None = None
    total_ns: float | None = None
    avg_ns: float | None = None
    med_ns: float | None = None
    min_ns: float | None = None
    max_ns: float | None = None
    stddev_ns: float | None = None
    instances: int | None = None
    provenance: dict[str, str] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        """The launch as plain JSON types, every field present, grids as lists."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        for name in ("grid", "block"):
            values[name] = None if values[name] is None else list(values[name])
        return values | {"provenance": dict(self.provenance)}


@dataclass(slots=True)
class RawLaunch:
    """A launch as text, before the file's decimal separator is known.

    `counters` holds (metric name, unit as printed) pairs, `texts` the cell of each; only metrics that
    some rule uses are kept.
    """

    kernel: str
    kind: str
    grid: str = ""
    block: str = ""
    id: str = ""
    process_id: str = ""
    context: str = ""
    stream: str = ""
    device: str = ""
    device_name: str = ""
    cc: str = ""
    instances: str = ""
    counters: tuple[tuple[str, str], ...] | list[tuple[str, str]] = field(default_factory=list)
    texts: tuple[str, ...] | list[str] = field(default_factory=list)
