"""Every estimator on the same measured kernels: simulation by either parameter set, closed forms, a rival.

Simulated times are those of the stored studies; closed forms are computed here, each on the kernel's own tile and
at the clock of the measurement, as on the Measured page. Where a source does not state its clock, each estimator
gets what it needs to be compared by shape, always fitted to the other kernels of that source: the simulation two
numbers (a clock that falls with tensor utilisation), a closed form one factor.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from analytical import genz, launch_order, simfa_python
from dashboard.catalog import ESTIMATORS
from dashboard.measured import gallery
from dashboard.measured.comparison import closed_record
from dashboard.validation import stored
from dashboard.validation.view import Row
from presets import measured_points
from simfa.validation import cases

CALIBRATED, PAPER, PRESET, RIVAL = "calibrated", "paper", "preset", "flashgpu-sim"
ROOFLINE, GENZ, LAUNCH_ORDER = simfa_python.NAME, genz.NAME, launch_order.NAME
UNLOCKED_PAPER = "fa3-unlocked-paper"
LATENCY, PROFILED = "latency", "profiled kernel"
_GROUPS = {
    "calibrated": (LATENCY, CALIBRATED),
    "paper's set": (LATENCY, PAPER),
    "FlashGPU-Sim, as published": (LATENCY, RIVAL),
    "Nsight profile, 1420 MHz": (PROFILED, CALIBRATED),
}
MEGABYTE = 1e6


@dataclass(frozen=True)
class Mark:
    """How an estimator is called and drawn; `points_only` ones are not joined by a line."""

    short: str
    color: str
    symbol: str
    dash: str = "solid"
    points_only: bool = False


def _closed_mark(name: str, dash: str = "solid") -> Mark:
    entry = ESTIMATORS[name]
    return Mark(entry.short, entry.color, entry.symbol, dash)


MARKS: dict[str, Mark] = {
    CALIBRATED: Mark("Sim-FA, calibrated", ESTIMATORS["sim-fa"].color, "circle"),
    PAPER: Mark("Sim-FA, paper's set", ESTIMATORS["sim-fa"].color, "circle-open", "dot"),
    PRESET: Mark("Sim-FA, GB10 preset", ESTIMATORS["sim-fa"].color, "circle"),
    ROOFLINE: _closed_mark(ROOFLINE),
    GENZ: _closed_mark(GENZ, "dash"),
    LAUNCH_ORDER: _closed_mark(LAUNCH_ORDER, "longdashdot"),
    RIVAL: Mark("FlashGPU-Sim, published", "#808080", "star"),
    "eq3": Mark("Eq. (3)", "#808080", "line-ew-open", "dot"),
    "eq6": Mark("Eq. (6)", "#808080", "line-ew-open", "longdash"),
    "sim-fa": Mark("Sim-FA, sampled", ESTIMATORS["sim-fa"].color, "circle", points_only=True),
}


@dataclass(frozen=True)
class Estimate:
    """What one estimator says of one quantity of one measured kernel, both in `unit`."""

    study: str
    quantity: str
    case: str
    estimator: str
    measured: float
    estimated: float
    unit: str
    fitted: bool = False

    @property
    def error_pct(self) -> float:
        """Signed error, % of the measured value."""
        return (self.estimated / self.measured - 1) * 100

    def record(self) -> Row:
        """Plain values, for downloads."""
        return {
            "study": self.study, "quantity": self.quantity, "kernel": self.case, "estimator": self.estimator,
            "measured": self.measured, "estimated": self.estimated, "unit": self.unit,
            "error_pct": self.error_pct, "seen_by_a_fit": self.fitted,
        }  # fmt: skip


def locked() -> list[Estimate]:
    """The sixteen FlashAttention-3 kernels at 1500 MHz, and the profiled one. Raises NotStored."""
    study, found = stored.study("fa3-all"), []
    for point in study["all_points"]:
        group, _, case = point["label"].partition(": ")
        if group in _GROUPS:
            quantity, estimator = _GROUPS[group]
            found.append(_estimate(study, point, quantity, case, estimator))
    profiled = next(row for row in measured_points.rows("measured_traffic") if row["kernel"] == "FlashAttention-3")
    for row in (*cases.locked(), profiled):
        mine = next(one for one in found if one.case == cases.fa3_label(row) and one.estimator == CALIBRATED)
        found += [
            replace(mine, estimator=name, estimated=_closed_us(name, row), fitted=False)
            for name in (ROOFLINE, GENZ)
        ]
    return found


def unlocked() -> list[Estimate]:
    """FlashAttention-3 at clocks that their sources do not state; the paper's set if stored. Raises NotStored."""
    found = []
    for name, estimator in (("fa3-unlocked", CALIBRATED), (UNLOCKED_PAPER, PAPER)):
        if name == UNLOCKED_PAPER and not stored.has(name):
            continue
        study = stored.study(name)
        found += [
            _estimate(study, point, LATENCY, point["label"], estimator)
            for point in study["all_points"]
            if point["label"].startswith(cases.UNLOCKED_SOURCES)  # a table's row goes by the law of its figure
        ]
    for source in cases.UNLOCKED_SOURCES:
        rows = cases.unlocked(source)
        for name in (ROOFLINE, GENZ):
            found += [
                Estimate("fa3-unlocked", LATENCY, f"{source}: {cases.fa3_label(row)}", name,
                         float(row["latency_us"]), us, "µs")
                for row, us in zip(rows, _scaled_us(name, rows), strict=True)
            ]  # fmt: skip
    return found


def gb10() -> list[Estimate]:
    """cuTile kernels on GB10: latency, L2 reads, and two counters that stand for DRAM traffic."""
    study = stored.study("gb10")
    found = []
    for point in study["all_points"]:
        quantity = LATENCY if point["series"].startswith(LATENCY) else point["series"]
        case = point["label"].removeprefix(f"{quantity}: ")
        simulated = _estimate(study, point, quantity, case, PRESET)
        found.append(simulated)
        row = next(row for row in cases.gb10() if cases.gb10_label(row) == case)
        for name in (ROOFLINE, LAUNCH_ORDER, GENZ):
            value = _of_gb10(name, row, quantity)
            if value is not None:
                found.append(replace(simulated, estimator=name, estimated=value))
    return found


def _of_gb10(name: str, row: Mapping[str, str], quantity: str) -> float | None:
    """A closed form's value in the unit of the study's points; None where it does not say."""
    record = closed_record(name, gallery.case_of(row), True)
    if quantity == LATENCY:
        return float(record["latency_us"]) if name != LAUNCH_ORDER else None
    if quantity == "L2 reads":
        return (record["l2_bytes"] - record["dram_write_bytes"]) / MEGABYTE if name == ROOFLINE else None
    return float(record["dram_bytes" if quantity == "L2 sector misses" else "dram_read_bytes"]) / MEGABYTE


def _closed_us(name: str, row: Mapping[str, str]) -> float:
    return float(closed_record(name, gallery.case_of(row), True)["latency_us"])


def _scaled_us(name: str, rows: Sequence[Mapping[str, str]]) -> list[float]:
    """A closed form's times, each scaled by what the others of its source need on average."""
    times = [_closed_us(name, row) for row in rows]
    needed = [float(row["latency_us"]) / us for row, us in zip(rows, times, strict=True)]
    return [
        us * fmean(factor for other, factor in enumerate(needed) if other != index)
        for index, us in enumerate(times)
    ]


def _estimate(study: Row, point: Row, quantity: str, case: str, estimator: str) -> Estimate:
    unit = point["unit"].replace("us", "µs")
    return Estimate(
        study["study"], quantity, case, estimator, point["reference"], point["model"], unit, point["fitted"]
    )


def summary(found: Iterable[Estimate]) -> list[Row]:
    """By quantity and estimator: number of kernels, mean size of the error, mean with sign, worst."""
    grouped: dict[tuple[str, str], list[Estimate]] = {}
    for one in found:
        grouped.setdefault((one.quantity, one.estimator), []).append(one)
    return [_summed(*key, some) for key, some in grouped.items()]


def _summed(quantity: str, estimator: str, some: Sequence[Estimate]) -> Row:
    errors = [one.error_pct for one in some]
    unseen = [abs(one.error_pct) for one in some if not one.fitted]
    worst = max(some, key=lambda one: abs(one.error_pct))
    return {
        "quantity": quantity,
        "estimator": estimator,
        "points": len(some),
        "mape_pct": fmean(map(abs, errors)),
        "mean_pct": fmean(errors),
        "worst_pct": worst.error_pct,
        "worst_at": worst.case,
        "unseen_mape_pct": fmean(unseen) if unseen else None,
    }
