"""Launches grouped into kernels, attention proposed by name, and each kernel made a case for comparison."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import Any

from dashboard.measured.case import Case, Reading
from dashboard.measured.infer import propose
from dashboard.measured.launch import Dims, Launch

WARM_UP = 1
_ATTENTION = re.compile(r"flash|fmha|attn|attention|sdpa|cutile|mha_|_mha", re.IGNORECASE)
_HELPER = re.compile(
    r"bwd|backward|combine|fixup|preprocess|prepare|convert|rotary|rope|norm|quant|reshape|metadata", re.IGNORECASE
)


@dataclass(frozen=True)
class Group:
    """Launches of one kernel with one shape on one device of one file, in file order."""

    id: str
    file: str
    kernel: str
    grid: Dims | None
    block: Dims | None
    launches: tuple[Launch, ...]

    @cached_property
    def attention(self) -> bool:
        """Whether the name is that of an attention forward kernel."""
        return is_attention(self.kernel)

    @cached_property
    def total_us(self) -> float:
        """Time of all launches together, for ordering."""
        return sum(launch.duration_ns or 0.0 for launch in self.launches) / 1e3


def is_attention(kernel: str) -> bool:
    """By name alone: an attention kernel, and neither a backward pass nor a helper around one."""
    return bool(_ATTENTION.search(kernel)) and not _HELPER.search(kernel)


def groups(launches: Iterable[Launch]) -> list[Group]:
    """The kernels of a file, attention first, then by total time."""
    found: dict[tuple[Any, ...], list[Launch]] = {}
    for launch in launches:
        found.setdefault(_key(launch), []).append(launch)
    made = [_group(key, members) for key, members in found.items()]
    return sorted(made, key=lambda group: (not group.attention, -group.total_us))


def _key(launch: Launch) -> tuple[Any, ...]:
    device = (launch.device_name, launch.compute_capability, launch.device)
    return (launch.file, launch.kernel, launch.grid, launch.block, launch.kind, *device)


def _group(key: tuple[Any, ...], members: Sequence[Launch]) -> Group:
    name = hashlib.sha256(repr(key).encode("utf-8", "replace")).hexdigest()[:16]
    first = members[0]
    return Group(name, first.file, first.kernel, first.grid, first.block, tuple(members))


def used(group: Group, warm_up: int = WARM_UP) -> tuple[Launch, ...]:
    """The launches that count: all but the first `warm_up`, and never fewer than one."""
    return group.launches[min(warm_up, len(group.launches) - 1) :]


def case(group: Group, warm_up: int = WARM_UP) -> Case:
    """The kernel as a case: medians over the launches that count, spread, and the proposed workload."""
    kept = used(group, warm_up)
    first = kept[0]
    match, reasons = propose(
        group.kernel,
        group.grid,
        group.file[:500],
        (first.device_name or "")[:200],
        (first.compute_capability or "")[:20],
    )
    return Case(
        id=group.id,
        file=group.file[:2000],
        kernel_name=group.kernel[:10_000],
        title=short_name(group.kernel),
        match=match,
        reasons=tuple(reasons),
        latency_us=_reading(kept, "duration_ns", "counter", 1e-3),
        l2_bytes=_l2(kept),
        dram_bytes=_dram(kept),
        dram_read_bytes=_counted(kept, "dram_read_bytes"),
        clock_hz=_median(kept, "sm_clock_hz"),
        launches=sum(launch.instances or 1 for launch in kept),
        left_out=len(group.launches) - len(kept),
        spread_pct=_spread(kept),
        conditions=first.provenance.get("conditions", ""),
        device=(first.device_name or "")[:200],
    )


def short_name(kernel: str) -> str:
    """A kernel's name without return type, namespaces and template arguments, 48 characters at most."""
    if "FlashAttnFwdSm90" in kernel:
        return "FlashAttnFwdSm90"
    plain = kernel.replace("(anonymous namespace)", "").removeprefix("void ")
    head = re.split(r"[<(]", plain, maxsplit=1)[0].rstrip(":")
    name = head.rsplit("::", 1)[-1].strip() or kernel.strip()
    return name[:48] or "unnamed kernel"


def _l2(kept: Sequence[Launch]) -> Reading:
    """The SM-side counter where the file has one, else what all units together asked of the L2."""
    sm_side = _reading(kept, "l2_bytes_sm_side", "counter")
    return sm_side if sm_side.value is not None else _reading(kept, "l2_bytes", "all units")


def _dram(kept: Sequence[Launch]) -> Reading:
    counted = _counted(kept, "dram_bytes")
    return counted if counted.value is not None else _reading(kept, "dram_bytes_from_rate", "rate")


def _counted(kept: Sequence[Launch], field: str) -> Reading:
    """A counter's value; an estimate where it stands in for counters that the GPU has not."""
    counted = _reading(kept, field, "counter")
    estimate = counted.value is not None and counted.source.startswith("estimate")
    return counted.model_copy(update={"kind": "estimate"}) if estimate else counted


def _reading(kept: Sequence[Launch], field: str, kind: str, scale: float = 1.0) -> Reading:
    value = _median(kept, field)
    sources = {launch.provenance.get(field, "") for launch in kept if getattr(launch, field) is not None}
    if value is None:
        gap = kept[0].provenance.get(field, "")
        return Reading(source=gap or "missing: no such counter in the file")
    return Reading(value=value * scale, source=" or ".join(sorted(sources))[:10_000], kind=kind)  # type: ignore[arg-type]


def _median(kept: Sequence[Launch], field: str) -> float | None:
    values = [value for launch in kept if (value := getattr(launch, field)) is not None]
    return float(median(values)) if values else None


def _spread(kept: Sequence[Launch]) -> float | None:
    """Largest less smallest duration, in percent of the median; from a summary its own bounds."""
    lows = [low for launch in kept if (low := launch.min_ns or launch.duration_ns) is not None]
    highs = [high for launch in kept if (high := launch.max_ns or launch.duration_ns) is not None]
    middle = _median(kept, "duration_ns")
    several = len(kept) > 1 or (kept[0].instances or 1) > 1
    if not (several and lows and highs and middle):
        return None
    return max(0.0, (max(highs) - min(lows)) / middle * 100)
