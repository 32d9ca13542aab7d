"""What every validation study answers with: points, and the errors people cite."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal


@dataclass(frozen=True)
class Point:
    """One comparison: a label, the reference and the model in the same unit, and whether a fit has seen it.

    `series` groups points that belong on one line; `x` is their place on it, in the study's `x_title`. `group`
    names points whose errors are averaged together; absent: those of a series.
    """

    label: str
    reference: float
    model: float
    unit: str
    fitted: bool = False
    series: str = ""
    x: float | None = None
    group: str = ""

    @property
    def error_pct(self) -> float:
        """Signed error of the model, % of the reference."""
        return (self.model / self.reference - 1) * 100


@dataclass(frozen=True)
class Study:
    """One study: its points, where the reference comes from, and what was fitted to how much of it.

    `context` sets the errors beside what others report; it is never a quota to fit to. A study of differences has
    no truth on one side: its `reference` is the model itself before a change, and its percentages are no errors.
    `published` is what others report for a group, `notes` what else there is to say of one.
    """

    name: str
    title: str
    source: str
    fitted: str
    points: Sequence[Point]
    context: str = ""
    x_title: str = ""
    compares: Literal["error", "difference"] = "error"
    published: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)

    def summary(self) -> dict[str, Any]:
        """MAPE, worst case and number of points: of all of them, and of those no fit has seen."""
        unseen = [point for point in self.points if not point.fitted]
        worst = max(self.points, key=lambda point: abs(point.error_pct))
        return {
            "study": self.name,
            "title": self.title,
            "compares": self.compares,
            "points": len(self.points),
            "mape_pct": mape_pct(self.points),
            "worst_pct": worst.error_pct,
            "worst_at": worst.label,
            "unseen_points": len(unseen),
            "unseen_mape_pct": mape_pct(unseen),
            "source": self.source,
            "fitted": self.fitted,
            "context": self.context,
            "groups": [
                self._group(name) for name in dict.fromkeys(point.group or point.series for point in self.points)
            ],
        }

    def _group(self, name: str) -> dict[str, Any]:
        """Errors of one group: mean of their size, mean with sign, worst."""
        points = [point for point in self.points if (point.group or point.series) == name]
        errors = [point.error_pct for point in points]
        return {
            "group": name,
            "points": len(points),
            "mape_pct": mape_pct(points),
            "mean_pct": sum(errors) / len(errors),
            "worst_pct": max(errors, key=abs),
            "published": self.published.get(name, ""),
            "note": self.notes.get(name, ""),
        }

    def record(self) -> dict[str, Any]:
        """The summary and every point, plain values."""
        points = [asdict(point) | {"error_pct": point.error_pct} for point in self.points]
        return self.summary() | {"x_title": self.x_title, "all_points": points}


def mape_pct(points: Sequence[Point]) -> float | None:
    """Mean absolute error in % over points; None without points."""
    return sum(abs(point.error_pct) for point in points) / len(points) if points else None
