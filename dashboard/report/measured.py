"""The Measured page's answer as a report.

It holds the rows of the comparison, and with them what the person who asks for the report took from files: they do
so themselves, and the report says so. Names from files are text here as everywhere else.
"""

from collections.abc import Sequence
from typing import Any

from dashboard.charts import SHORT_MARKS, length_axis
from dashboard.figures import measured_traffic, parity
from dashboard.measured import comparison, curves, reading, shown
from dashboard.measured.case import Case
from dashboard.measured.comparison import Comparison
from dashboard.report.document import Figure, Link, Report, Section, Table, Text
from presets.experiment import Experiment

TITLE = "Measured"
OWN_FILES = (
    "This report holds numbers and names from files of the person who made it. They do not travel by URL: the "
    "address below opens the page without them."
)
_LISTED_PRESETS = 4  # experiments whose parameters are listed in full; the others differ in what the rows say


def make(
    found: Comparison,
    cases: Sequence[Case],
    names: Sequence[str],
    key: str,
    measured_clock: bool,
    link: Link,
    own_files: bool,
) -> Report:
    """Errors by estimator, the parity plot, every kernel, the reading and, where there are counters, traffic."""
    summed = comparison.summary(found.rows)
    what, marks = shown.quantity(key), {name: SHORT_MARKS[name] for name in names}
    title = parity.title(summed, marks, key)
    chart = parity.figure(found.of(key), marks, what.title, what.unit, what.scale, title)
    errors, summary = shown.errors(found, key, names), shown.summary(summed)
    sections: list[Section] = [
        Figure(chart),
        Table("Errors by quantity and estimator", _written(summary, shown.SUMMARY_FORMAT), _SIGN, summed),
        Text("Reading", reading.overall(found, cases, measured_clock)),
        Table(
            f"{what.title}, kernel by kernel",
            _written(errors, shown.errors_format(errors)),
            "All quantities and estimators go along as CSV.",
            found.rows,
        ),
        *_traffic(cases, measured_clock),
        *_left_out(found),
    ]
    return Report(
        TITLE,
        f"{_origin(found, own_files)} against the estimators",
        sections,
        link,
        _experiments(cases, measured_clock),
        subject(found, names, own_files),
        [OWN_FILES] if own_files else [],
    )


def subject(found: Comparison, names: Sequence[str], own_files: bool) -> str:
    """What a citation says was computed: by the estimators that answered, with how many kernels where not all."""
    said = [f"{SHORT_MARKS[name][0]}{share}" for name in names if (share := _share(found, name)) is not None]
    origin = _origin(found, own_files)
    return f"{', '.join(said)} against {origin}" if said else f"{origin}, without an estimator's answer"


def _share(found: Comparison, name: str) -> str | None:
    """How many of the kernels an estimator answered for: nothing where all of them; None where it has no answer."""
    kernels = {row["case"] for row in found.rows}
    answered = {row["case"] for row in found.rows if row["estimator"] == name and row["estimated"] is not None}
    if not answered:
        return None
    return f" ({len(answered)} of {len(kernels)})" if answered < kernels else ""


def _origin(found: Comparison, own_files: bool) -> str:
    count = len({row["case"] for row in found.rows})
    one, several = ("kernel", "kernels") if own_files else ("public measurement", "public measurements")
    return f"{count} {one if count == 1 else several}" + (" of own files" if own_files else "")


_SIGN = "(estimated - measured) / measured, in percent. MAPE: mean of the absolute errors."


def _written(table: Any, formats: dict[str, Any]) -> Any:
    """A table with its numbers written as the page writes them."""
    return table.assign(
        **{
            name: [form(value) if callable(form) else form.format(value) for value in table[name]]
            for name, form in formats.items()
            if name in table
        }
    )


def _traffic(cases: Sequence[Case], measured_clock: bool) -> list[Section]:
    return [
        Figure(
            measured_traffic.figure(
                curves.curve(family),
                curves.points(family),
                curves.boundary(family),
                family.title,
                length_axis(family.sweeps_query),
            )
        )
        for family in curves.families(cases, measured_clock)[:_LISTED_PRESETS]
    ]


def _left_out(found: Comparison) -> list[Section]:
    if not found.left_out:
        return []
    return [Table(f"Not compared: {len(found.left_out)}, each with the reason", shown.not_compared(found.left_out))]


def _experiments(cases: Sequence[Case], measured_clock: bool) -> dict[str, Experiment]:
    """The first of each GPU and kernel among the cases: enough presets for the reader to know the values."""
    from presets.errors import PresetError

    found: dict[str, Experiment] = {}
    for case in cases:
        try:
            asked = case.experiment(measured_clock)
        except PresetError:
            continue
        found.setdefault(f"{asked.gpu.title} with {asked.kernel.title}, as for {case.label}", asked)
    seen: dict[tuple[str, str], tuple[str, Experiment]] = {}
    for name, asked in found.items():
        seen.setdefault((asked.gpu.name, asked.kernel.name), (name, asked))
    return dict(list(seen.values())[:_LISTED_PRESETS])
