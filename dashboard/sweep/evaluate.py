"""One point of a sweep as a row: its coordinates, the estimator's record, and what became of it."""

from typing import Any

from dashboard import compare, limits
from dashboard.catalog import ESTIMATORS, record_of
from dashboard.sweep.plan import Plan, Point
from presets.errors import NotModelled
from presets.experiment import Experiment
from simfa import coverage

Row = dict[str, Any]
DONE, IMPOSSIBLE, FAILED, WAITING, CANCELLED = "done", "impossible", "failed", "waiting", "cancelled"


def row(plan: Plan, point: Point, estimator: str, state: str, record: Row | None, reason: str = "") -> Row:
    """Coordinates first, then state and reason, then the record's keys (absent without an experiment)."""
    if record is None and point.experiment is not None:
        record = compare.unanswered(point.experiment, estimator, reason)
    head: Row = {axis.key: point.coordinates().get(axis.key) for axis in plan.axes}
    if point.role:
        head = {"varied": next(iter(point.changes), None), "role": point.role} | _varied(point)
    return head | {"state": state, "reason": reason, "estimator": estimator} | (record or {}) | head


def _varied(point: Point) -> Row:
    return {"value": next(iter(point.coordinates().values()), None)}


def impossible(plan: Plan, point: Point, estimator: str) -> Row | None:
    """The row of a point that cannot be answered whatever one computes; None when it can."""
    if point.experiment is None:
        return row(plan, point, estimator, IMPOSSIBLE, None, point.refusal)
    reason = unfit(point.experiment)
    if not reason and ESTIMATORS[estimator].simulated:
        try:
            coverage.check(point.experiment)
            reason = limits.refusal(point.experiment)
        except NotModelled as not_modelled:
            reason = str(not_modelled)
    return row(plan, point, estimator, IMPOSSIBLE, None, reason) if reason else None


def instant(plan: Plan, estimator: str) -> list[Row]:
    """Every row at once, for an estimator that needs no simulation (some 0.5 ms a point)."""
    return [impossible(plan, point, estimator) or _answered(plan, point, estimator) for point in plan.points]


def _answered(plan: Plan, point: Point, estimator: str) -> Row:
    assert point.experiment is not None
    try:
        return row(plan, point, estimator, DONE, record_of(estimator, point.experiment))
    except NotModelled as reason:
        return row(plan, point, estimator, IMPOSSIBLE, None, str(reason))


def unfit(experiment: Experiment) -> str:
    """Why the tile cannot run on this GPU: its shared memory, with the sum; empty when it fits."""
    tile, pipeline, sm = experiment.kernel.tile, experiment.kernel.pipeline, experiment.gpu.sm
    need = experiment.kernel.shared_memory_bytes(experiment.llm.head_dim, experiment.precision_bytes)
    ctas = pipeline.occupancy_ctas
    if need <= sm.cta_shared_memory_bytes and need * ctas <= sm.shared_memory_bytes:
        return ""
    stages = pipeline.k_stages + pipeline.v_stages
    return (
        f"the tile does not fit: {experiment.precision_bytes} B x {experiment.llm.head_dim} x ({tile.query_rows} "
        f"Q rows + {stages} stages x {tile.kv_rows} K/V rows) = {need:,} B of shared memory a CTA, {ctas} a SM; "
        f"{experiment.gpu.name} allows {sm.cta_shared_memory_bytes:,} B a CTA, {sm.shared_memory_bytes:,} B a SM"
    )
