"""A view of the Validation page, and what it answers with. A new view is one file or function and one line in
`dashboard.validation.catalog`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import pandas as pd
import plotly.graph_objects as go

Section = Literal["paper", "public"]
Row = dict[str, Any]


class NotStored(Exception):
    """A view needs an answer of the simulator that this copy of the project does not hold."""


@dataclass(frozen=True)
class Answer:
    """What a view shows: a title that states what is seen, a figure, a table, and what is not known.

    `table` holds numbers as numbers, `formats` say how its columns are written; `rows` are for downloads, in full
    precision. `said` are sentences: what the paper states, what cannot be answered here. `stale` is not empty where
    other sources of the simulator gave the numbers.
    """

    title: str
    table: pd.DataFrame
    rows: Sequence[Row]
    said: Sequence[str]
    source: str
    fitted: str = "nothing"
    chart: go.Figure | None = None
    formats: Mapping[str, str] = field(default_factory=dict)
    wide: bool = False  # the table takes the page's width, below the figure if there is one
    stale: str = ""


@dataclass(frozen=True)
class View:
    """One choice of the page: its name in the URL, its label, what it is about, and how it is made.

    `build` takes the colour of what is measured: black, or white on a dark page.
    """

    name: str
    label: str
    about: str
    section: Section
    build: Callable[[str], Answer]
