"""A report as one HTML file that needs nothing else: styles, figures and plotly.js are in it.

Every text goes through Jinja's escaping. Figures go in as JSON data blocks, in which no markup can end the block. A
content security policy in the file lets only its own two scripts run, by their digests, and nothing be fetched.
"""

import base64
import datetime
import hashlib
import math
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd
import plotly.graph_objects as go
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from dashboard import citation, export, provenance
from dashboard.compare import ABSENT
from dashboard.report import parameters
from dashboard.report.document import Figure, Report, Section, Table, Text

FOLDER = Path(__file__).parent / "templates"
# Characters that could end a data block, or a line in old parsers, as JSON escapes of the same characters.
_BLOCK_ESCAPES = {ord(mark): f"\\u{ord(mark):04x}" for mark in "<>&\u2028\u2029"}


def html(report: Report, now: datetime.datetime | None = None) -> str:
    """The report as a document; `now` is its date, the clock's where it is absent."""
    made = now or datetime.datetime.now(datetime.UTC)
    scripts = [get_plotlyjs(), _file("report.js")]
    subject = report.subject or report.title
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            report=report,
            sections=[_section(section) for section in report.sections],
            parameters=[(name, _parameters(experiment)) for name, experiment in report.experiments.items()],
            versions=provenance.versions() | {"date": made.isoformat(timespec="seconds")},
            citation=citation.line(subject),
            bibtex=citation.bibtex(subject),
            style=Markup(_file("report.css")),
            scripts=[Markup(script) for script in scripts],
            policy=_policy(scripts),
        )
    )


@cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER),
        autoescape=True,  # not by ending: the template's ends in .j2
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def _file(name: str) -> str:
    return (FOLDER / name).read_text("utf-8")


def _policy(scripts: list[str]) -> str:
    """Nothing is fetched, and only these scripts run."""
    found = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    digests = " ".join(f"'sha256-{digest}'" for digest in found)
    return (
        f"default-src 'none'; script-src {digests}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def _section(section: Section) -> dict[str, Any]:
    if isinstance(section, Text):
        return {"kind": "text", "title": section.title, "sentences": list(section.sentences)}
    if isinstance(section, Figure):
        return {"kind": "figure", "note": section.note} | _drawn(section.figure)
    return {"kind": "table", "title": section.title, "note": section.note} | _table(section)


def _drawn(figure: go.Figure) -> dict[str, Any]:
    """Data block, height and, for those who do not see it, the title of a figure."""
    plain = go.Figure(figure).update_layout(template="plotly_white")
    text = plain.to_json().translate(_BLOCK_ESCAPES)
    title = (figure.layout.title.text or "") if figure.layout.title else ""
    return {"json": Markup(text), "height": int(figure.layout.height or 0), "title": title}


def _table(table: Table) -> dict[str, Any]:
    frame = table.frame.reset_index() if table.frame.index.name else table.frame
    numeric = [pd.api.types.is_numeric_dtype(frame[name]) for name in frame]
    return {
        "columns": [(str(name), number) for name, number in zip(frame.columns, numeric, strict=True)],
        "rows": [[_cell(value) for value in row] for row in frame.itertuples(index=False, name=None)],
        "csv": None if table.rows is None else _data_url(export.to_csv([dict(row) for row in table.rows])),
        "changed": frame.columns.get_loc(parameters.CHANGED) if parameters.CHANGED in frame else None,
    }


def _parameters(experiment: Any) -> dict[str, Any]:
    frame = parameters.table(experiment)
    return _table(Table("", frame, rows=frame.to_dict("records")))


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ABSENT
    if isinstance(value, (bool, str)):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.6g}" if isinstance(value, float) else str(value)


def _data_url(text: str) -> str:
    return "data:text/csv;charset=utf-8;base64," + base64.b64encode(text.encode()).decode()


def size_note() -> str:
    """How large a report is at least, for the button that gives it."""
    return f"some {math.ceil(len(get_plotlyjs()) / 1e6)} MB"
