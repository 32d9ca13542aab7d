"""What is read off a sweep: metrics, the Pareto front, sensitivities."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from dashboard.compare import difference, digits
from dashboard.sweep.evaluate import DONE, Row
from dashboard.sweep.plan import BASE

TENFOLD = 10


@dataclass(frozen=True)
class Metric:
    """A quantity of a record: its key, title, unit, scale to that unit, and whether less is better.

    With a `base`, a value in that unit, it is the difference to it in percent, or as a `multiple` of it.
    """

    key: str
    title: str
    unit: str
    scale: float
    lower_is_better: bool = True
    base: float | None = None
    multiple: bool = False

    @property
    def label(self) -> str:
        """Title and unit."""
        if self.base is None:
            return f"{self.title} ({self.unit})"
        return f"{self.title} (times the baseline)" if self.multiple else f"{self.title} against the baseline (%)"

    def said(self, value: float) -> str:
        """A value with its unit; differences with sign, from tenfold on as a multiple."""
        if self.base is None:
            return f"{digits(value)} {self.unit}"
        if self.multiple:
            return f"x {digits(value)}"
        return difference(1 + value / 100, 1) or "no difference"

    def against(self, base: Row | None, rows: Sequence[Row] = ()) -> "Metric":
        """The difference to a row's value; the quantity itself where that has none, or zero.

        In percent; as a multiple where `rows` are ten times away from it, for which percent are no scale.
        """
        height = value(base, self) if base else None
        if not height:
            return self
        ratios = [size / height for row in rows if (size := value(row, self)) is not None]
        far = any(not 1 / TENFOLD < ratio < TENFOLD for ratio in ratios) and min(ratios) > 0
        return replace(self, base=height, multiple=far)


METRICS: dict[str, Metric] = {
    metric.key: metric
    for metric in (
        Metric("latency_us", "Latency of one layer", "µs", 1.0),
        Metric("tflops", "Throughput", "TFLOPS", 1.0, lower_is_better=False),
        Metric("dram_bytes", "DRAM traffic", "GB", 1e-9),
        Metric("l2_bytes", "L2 traffic", "GB", 1e-9),
        Metric("dram_read_bytes", "DRAM read", "GB", 1e-9),
        Metric("dram_write_bytes", "DRAM write", "GB", 1e-9),
        Metric("tensor_core_utilization", "Tensor cores busy", "%", 100.0, lower_is_better=False),
        Metric("model_latency_us", "Latency of all layers", "ms", 1e-3),
    )
}


def value(row: Row, metric: Metric) -> float | None:
    """A row's value in the metric's unit, or its difference in percent; None where there is none."""
    given = row.get(metric.key)
    if given is None:
        return None
    size = float(given) * metric.scale
    if metric.base is None:
        return size
    return size / metric.base if metric.multiple else 100 * (size / metric.base - 1)


@dataclass(frozen=True)
class Cost:
    """One side of a Pareto view: a column of the rows, and whether less of it is better."""

    key: str
    lower_is_better: bool


def front(rows: Sequence[Row], first: Cost, second: Cost) -> list[int]:
    """Indices of the rows that no other row beats: none is at least as good in both and better in one.

    Rows without a number in either are left out; equal rows are all kept. Sorted by the first column.
    """
    known = [
        (_signed(row, first), _signed(row, second), index)
        for index, row in enumerate(rows)
        if row["state"] == DONE and _is_number(row.get(first.key)) and _is_number(row.get(second.key))
    ]
    found: list[int] = []
    best, best_first = float("inf"), float("inf")
    for x, y, index in sorted(known):
        if y < best or (y == best and x == best_first):
            found.append(index)
            best, best_first = y, x
    return found


def _signed(row: Row, cost: Cost) -> float:
    return float(row[cost.key]) * (1 if cost.lower_is_better else -1)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


@dataclass(frozen=True)
class Bar:
    """One parameter's sensitivity: change of the metric in percent of the base, at the low and the high value."""

    key: str
    low: Any
    high: Any
    low_pct: float | None
    high_pct: float | None

    @property
    def swing_pct(self) -> float:
        """The larger of the two changes, whatever its sign."""
        return max((abs(pct) for pct in (self.low_pct, self.high_pct) if pct is not None), default=0.0)


def tornado(rows: Sequence[Row], metric: Metric) -> tuple[list[Bar], list[str]]:
    """Bars, the largest swing first; the parameters without effect."""
    base = next((value(row, metric) for row in rows if row["role"] == BASE), None)
    if not base:
        return [], []
    ends: dict[str, dict[str, Row]] = {}
    for row in rows:
        if row["role"] != BASE:
            ends.setdefault(row["varied"], {})[row["role"]] = row
    bars = [_bar(key, pair, base, metric) for key, pair in ends.items()]
    answered = [bar for bar in bars if bar.low_pct is not None or bar.high_pct is not None]
    moving = sorted((bar for bar in answered if bar.swing_pct > 0), key=lambda bar: -bar.swing_pct)
    still = [bar.key for bar in answered if bar.swing_pct == 0]
    return moving, still


def _bar(key: str, ends: dict[str, Row], base: float, metric: Metric) -> Bar:
    changes = {}
    for role in ("low", "high"):
        found = value(ends[role], metric) if role in ends else None
        changes[role] = None if found is None else 100 * (found - base) / base
    return Bar(key, ends["low"]["value"], ends["high"]["value"], changes["low"], changes["high"])


def counts(rows: Sequence[Row]) -> dict[str, int]:
    """How many rows are in each state."""
    found: dict[str, int] = {}
    for row in rows:
        found[row["state"]] = found.get(row["state"], 0) + 1
    return found
