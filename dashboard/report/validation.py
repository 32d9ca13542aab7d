"""The Validation page's answers as a report: views with figure, table, and what was fitted."""

from collections.abc import Sequence
from typing import Any

from dashboard.report.document import Figure, Link, Report, Section, Table, Text
from dashboard.validation.view import Answer, View

TITLE = "Validation"
SUBJECT = "validation studies against the paper and public measurements"


def subject(view: View) -> str:
    """What a citation of one view says was computed."""
    return f"validation, {view.label}: {view.about}"


def make(shown: Sequence[tuple[View, Answer]], link: Link) -> Report:
    """The given views one after the other."""
    sections = [section for view, answer in shown for section in _view(view, answer)]
    stale = dict.fromkeys(answer.stale for _, answer in shown if answer.stale)
    single = shown[0] if len(shown) == 1 else None
    return Report(
        TITLE,
        single[1].title if single else "Against the paper and public measurements",
        sections,
        link,
        subject=subject(single[0]) if single else SUBJECT,
        remarks=list(stale),
    )


def _view(view: View, answer: Answer) -> list[Section]:
    words = [*answer.said, f"Reference: {answer.source}. Fitted: {answer.fitted}."]
    sections: list[Section] = [Text(f"{view.label}: {view.about}", [f"{answer.title}.", *words])]
    if answer.chart is not None:
        sections.append(Figure(answer.chart))
    table = answer.table.copy()
    for column, pattern in answer.formats.items():
        table[column] = [_written(pattern, value) for value in table[column]]
    return [*sections, Table(answer.title, table, rows=list(answer.rows))]


def _written(pattern: str, value: Any) -> str:
    return "–" if value is None or value != value else pattern.format(value)
