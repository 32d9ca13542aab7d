"""The matching table: cases as rows a person edits, and the edits back into cases.

Rows are found again by the case's id; only cells that differ from the proposal are kept as edits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd
from pydantic import ValidationError

from dashboard.measured.case import ASSUMED, NEEDED, Case, Match

TEXTS = ("gpu", "kernel", "mask", "dtype", "settings")
WHOLE = ("batch", "heads_q", "heads_kv", "head_dim", "seq_q", "seq_kv")
FIELDS = (
    "gpu",
    "seq_q",
    "seq_kv",
    "heads_q",
    "heads_kv",
    "head_dim",
    "batch",
    "mask",
    "dtype",
    "kernel",
    "settings",
)
USE = "use"
Edits = Mapping[str, Mapping[str, Any]]


def frame(cases: Sequence[Case], chosen: Iterable[str]) -> pd.DataFrame:
    """One row per case, indexed by its id: whether it is used, the workload, and what was measured."""
    kept = set(chosen)
    rows = [
        {USE: case.id in kept, "title": case.title}
        | {field: getattr(case.match, field) for field in FIELDS}
        | {
            "latency_us": case.latency_us.value,
            "spread_pct": case.spread_pct,
            "l2_mb": None if case.l2_bytes.value is None else case.l2_bytes.value / 1e6,
            "dram_mb": None if case.dram_bytes.value is None else case.dram_bytes.value / 1e6,
            "clock_mhz": None if case.clock_hz is None else case.clock_hz / 1e6,
            "launches": case.launches,
            "file": case.file,
            "kernel_name": case.kernel_name,
            "reasons": "; ".join(case.reasons),
        }
        for case in cases
    ]
    table = pd.DataFrame(rows, index=[case.id for case in cases])
    for name in WHOLE:
        table[name] = table[name].astype("Int64")
    for name in ("latency_us", "spread_pct", "l2_mb", "dram_mb", "clock_mhz"):
        table[name] = table[name].astype("float64")
    return table


def changes(before: pd.DataFrame, after: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """The cells a person changed, by case id and column."""
    found: dict[str, dict[str, Any]] = {}
    for name in (USE, *FIELDS):
        for case, old, new in zip(before.index, before[name], after[name], strict=True):
            cell = _plain(name, new)
            if cell != _plain(name, old):
                found.setdefault(str(case), {})[name] = cell
    return found


def merged(old: Edits, new: Edits) -> dict[str, dict[str, Any]]:
    """Both sets of edits, the new ones winning."""
    return {case: {**old.get(case, {}), **new.get(case, {})} for case in {**old, **new}}


def edited(case: Case, edits: Mapping[str, Any]) -> Case:
    """The case with a person's values for the workload; what is out of range is said instead of compared."""
    values = {key: value for key, value in edits.items() if key in FIELDS}
    if not values:
        return case
    try:
        match = Match.model_validate(case.match.model_dump() | values)
    except ValidationError as error:
        first = error.errors()[0]
        word = (NEEDED | ASSUMED).get(str(first["loc"][0]), str(first["loc"][0]))
        message = f"{word}: {first['input']!r} is not allowed ({first['msg'].lower()})"
        return case.model_copy(update={"why_not": message})
    reasons = (*case.reasons, f"set by hand: {', '.join(values)}")
    return case.model_copy(update={"match": match, "reasons": reasons})


def missing(cases: Iterable[Case]) -> dict[str, int]:
    """What is still needed before an estimator can answer: field -> number of cases."""
    kept = list(cases)
    counts = {field: sum(lacks(case, field) for case in kept) for field in NEEDED}
    return {field: count for field, count in counts.items() if count}


def lacks(case: Case, field: str) -> bool:
    """Whether a person could make the case comparable by giving this field; not so on a GPU without a preset."""
    return not (case.why_not or case.no_preset or getattr(case.match, field))


def _plain(name: str, value: Any) -> Any:
    """A cell as the match holds it: text, whole number, True or False, or None."""
    if name == USE:
        return bool(value)
    if value is None or value is pd.NA or value != value:
        return "" if name in TEXTS else None
    return str(value) if name in TEXTS else int(value)
