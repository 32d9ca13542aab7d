"""Measured against estimated: one row per case, estimator and quantity, and how far each estimator is off.

Errors are signed: (estimated - measured) / measured, in percent. The page, the downloads and the command all show
these rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from dashboard import standing
from dashboard.catalog import ESTIMATORS, record_of
from dashboard.measured.case import Case, Match, Reading, experiment
from presets.errors import NotModelled, PresetError
from presets.experiment import Experiment
from simfa import coverage

Row = dict[str, Any]
Answers = Mapping[str, Mapping[str, Any]]
TIMELINE_SM = 0  # as on the Compare page, so that both share one answer
NOT_SIMULATED = "not simulated yet"
OUTSIDE = f"{standing.MARK} outside the validated range"


@dataclass(frozen=True)
class Quantity:
    """One of the three things compared: its record key, title, and the unit tables and figures show it in."""

    key: str
    title: str
    unit: str
    scale: float


QUANTITIES = (
    Quantity("latency_us", "Latency", "µs", 1.0),
    Quantity("l2_bytes", "L2 traffic", "MB", 1e-6),
    Quantity("dram_bytes", "DRAM traffic", "MB", 1e-6),
)


@dataclass(frozen=True)
class Comparison:
    """All rows, and the cases that were not compared, each with the reason."""

    rows: list[Row]
    left_out: list[tuple[Case, str]]

    def of(self, quantity: str) -> list[Row]:
        """The rows of one quantity."""
        return [row for row in self.rows if row["quantity"] == quantity]


def compare(
    cases: Iterable[Case], names: Sequence[str], measured_clock: bool, answers: Answers | None = None
) -> Comparison:
    """Every case against every estimator. `answers` holds the simulator's records by `simulation_key`."""
    rows: list[Row] = []
    left_out: list[tuple[Case, str]] = []
    for case in cases:
        try:
            asked = case.experiment(measured_clock)
        except PresetError as error:
            left_out.append((case, str(error)))
            continue
        if not any(_measured(case, quantity.key).value for quantity in QUANTITIES):
            left_out.append((case, "no latency, L2 or DRAM traffic in the file"))
            continue
        for name in names:
            record, why = _record(name, asked, case, measured_clock, answers or {})
            rows += _rows(case, asked, name, record, why)
    return Comparison(rows, left_out)


def simulation_key(asked: Experiment) -> str:
    """The name of the simulator's answer to an experiment, the same as on the Compare page."""
    return coverage.answer_key(asked, 0, TIMELINE_SM)


def to_simulate(cases: Iterable[Case], measured_clock: bool) -> list[Experiment]:
    """The experiments of these cases that the simulator covers, shortest first, each once."""
    found: dict[str, Experiment] = {}
    for case in cases:
        try:
            asked = case.experiment(measured_clock)
            coverage.check(asked)
        except (PresetError, NotModelled):
            continue
        found.setdefault(simulation_key(asked), asked)
    return sorted(found.values(), key=coverage.line_requests)


def simulate_all(cases: Iterable[Case], measured_clock: bool) -> dict[str, dict[str, Any]]:
    """Run the simulator here and now for every covered case; for the command."""
    return {simulation_key(asked): record_of("sim-fa", asked) for asked in to_simulate(cases, measured_clock)}


def _record(
    name: str, asked: Experiment, case: Case, measured_clock: bool, answers: Answers
) -> tuple[Mapping[str, Any] | None, str]:
    if not ESTIMATORS[name].simulated:
        return closed_record(name, case, measured_clock), ""
    try:
        coverage.check(asked)
    except NotModelled as reason:
        return None, str(reason)
    answer = answers.get(simulation_key(asked))
    return (answer, "") if answer is not None else (None, NOT_SIMULATED)


def closed_record(name: str, case: Case, measured_clock: bool) -> Mapping[str, Any]:
    """A closed form's record for a case."""
    return _closed(name, case.match, case.clock_hz if measured_clock else None)


@lru_cache(maxsize=65_536)
def _closed(name: str, match: Match, clock_hz: float | None) -> Mapping[str, Any]:
    return record_of(name, experiment(match, clock_hz))


def _rows(case: Case, asked: Experiment, name: str, record: Mapping[str, Any] | None, why: str) -> list[Row]:
    found = []
    for quantity in QUANTITIES:
        measured = _measured(case, quantity.key)
        if not measured.value:
            continue
        key, remark = _basis(quantity.key, asked, record, measured)
        estimated = None if record is None else record.get(key)
        found.append(
            _identity(case, asked)
            | {
                "estimator": name,
                "quantity": quantity.key,
                "measured": measured.value,
                "measured_kind": measured.kind,
                "measured_source": measured.source,
                "estimated": estimated,
                "estimated_as": key,
                "error_pct": error_pct(estimated, measured.value),
                "eq2_bytes": record.get("l2_bytes") if record and quantity.key == "l2_bytes" else None,
                "regime": record.get("regime") if record else None,
                "bottleneck": record.get("bottleneck") if record else None,
                "remark": why or (_said(name, asked, remark) if estimated is not None else "no such quantity"),
            }
        )
    return found


def _said(name: str, asked: Experiment, remark: str) -> str:
    """A remark, with the mark of a simulated number outside the validated range."""
    outside = ESTIMATORS[name].simulated and standing.mark(asked)
    return "; ".join(filter(None, (remark, OUTSIDE if outside else "")))


def mark(rows: Iterable[Row], name: str) -> str:
    """The mark of an estimator of which some row lies outside the validated range."""
    outside = any(row["estimator"] == name and OUTSIDE in row["remark"] for row in rows)
    return f" {standing.MARK}" if outside else ""


def _measured(case: Case, key: str) -> Reading:
    reading: Reading = getattr(case, key)
    return reading


def _identity(case: Case, asked: Experiment) -> Row:
    work = asked.workload
    return {
        "case": case.id,
        "label": case.label,
        "file": case.file,
        "kernel_name": case.kernel_name,
        "gpu": asked.gpu.name,
        "kernel": asked.kernel.name,
        "settings": case.match.settings,
        "params": asked.params,
        "batch": work.batch,
        "heads_q": asked.heads_q,
        "heads_kv": asked.heads_kv,
        "head_dim": asked.llm.head_dim,
        "seq_q": work.seq_q,
        "seq_kv": work.seq_kv,
        "causal": work.causal,
        "dtype": work.dtype,
        "clock_mhz": asked.gpu.sm.clock_hz / 1e6,
        "measured_clock_mhz": case.clock_hz / 1e6 if case.clock_hz else None,
        "launches": case.launches,
        "left_out_launches": case.left_out,
        "spread_pct": case.spread_pct,
    }


def _basis(key: str, asked: Experiment, record: Mapping[str, Any] | None, measured: Reading) -> tuple[str, str]:
    """Which key of the record the measured value is compared with, and what has to be said about it."""
    if key == "dram_bytes":
        return key, "measured as an estimate from L2 misses" if measured.kind == "estimate" else ""
    if key != "l2_bytes":
        return key, ""
    said = ["all L2 clients counted, not only the SMs"] if measured.kind == "all units" else []
    clustered = asked.kernel.pipeline.cluster_ctas > 1
    if clustered and record is not None and record.get("l2_bytes_coalesced") is not None:
        key = "l2_bytes_coalesced"
        said.append("clustered kernel: what the L2 serves after coalescer and multicast; Eq. (2) beside it")
    elif clustered:
        said.append("clustered kernel: Eq. (2) counts bytes arriving at both CTAs, the counter what L2 serves once")
    return key, "; ".join(said)


def error_pct(estimated: float | None, measured: float) -> float | None:
    """Signed error in percent of the measured value; None where there is nothing to compare."""
    if estimated is None or not measured:
        return None
    return 100 * (estimated - measured) / measured


def summary(rows: Iterable[Row]) -> list[Row]:
    """Per quantity and estimator: how many values, MAPE, mean signed error, and the worst case."""
    grouped: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        grouped.setdefault((row["quantity"], row["estimator"]), []).append(row)
    return [_summed(*key, members) for key, members in grouped.items()]


def worst(rows: Iterable[Row]) -> str | None:
    """The case with the largest error of any estimator; None where there is no error."""
    known = [row for row in rows if row["error_pct"] is not None]
    found: Row | None = max(known, key=lambda row: abs(row["error_pct"]), default=None)
    return None if found is None else str(found["case"])


def _summed(quantity: str, estimator: str, members: Sequence[Row]) -> Row:
    known = [row for row in members if row["error_pct"] is not None]
    errors = [row["error_pct"] for row in known]
    worst = max(known, key=lambda row: abs(row["error_pct"]), default=None)
    return {
        "quantity": quantity,
        "estimator": estimator,
        "values": len(known),
        "of": len(members),
        "mape_pct": sum(map(abs, errors)) / len(errors) if errors else None,
        "mean_error_pct": sum(errors) / len(errors) if errors else None,
        "worst_error_pct": worst["error_pct"] if worst else None,
        "worst_case": worst["label"] if worst else None,
    } | _baseline(members)


def _baseline(members: Sequence[Row]) -> Row:
    """The same mean of a pinned baseline's errors, where the rows hold some (`dashboard.measured.against`)."""
    if not any("baseline_error_pct" in row for row in members):
        return {}
    errors = [abs(row["baseline_error_pct"]) for row in members if row.get("baseline_error_pct") is not None]
    return {"baseline_mape_pct": sum(errors) / len(errors) if errors else None}
