"""What a report holds, before it is HTML: text, figures, tables, and the experiment with its link."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from presets.experiment import Experiment


@dataclass(frozen=True)
class Text:
    """Sentences under a heading, as a list."""

    title: str
    sentences: Sequence[str]


@dataclass(frozen=True)
class Figure:
    """A figure with the note below it. Measured things are drawn in `style.INK`; a dark screen turns it white."""

    figure: go.Figure
    note: str = ""


@dataclass(frozen=True)
class Table:
    """A table as people read it; `rows`, where given, is the same in full precision and goes along as CSV."""

    title: str
    frame: pd.DataFrame
    note: str = ""
    rows: Sequence[Mapping[str, Any]] | None = None


Section = Text | Figure | Table


@dataclass(frozen=True)
class Link:
    """The state of a page: its path and query, and the address of the server if there is one."""

    page: str
    query: str = ""
    address: str = ""
    why_not: str = ""  # why this state does not fit into a URL

    @property
    def text(self) -> str:
        """As it is typed: with the server's address, or what goes behind it."""
        path = f"{self.page}?{self.query}" if self.query else self.page
        return f"{self.address.rstrip('/')}/{path}" if self.address else path or "/"


@dataclass(frozen=True)
class Report:
    """A page's answer. `experiments` are those whose presets are listed, by what they are called in it."""

    page: str
    title: str
    sections: Sequence[Section]
    link: Link
    experiments: Mapping[str, Experiment] = field(default_factory=dict)
    subject: str = ""  # what the citation says was computed
    remarks: Sequence[str] = ()  # what a reader must know first
