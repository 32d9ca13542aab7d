"""Figures of the paper's own views: latencies, traffic against length, errors by kernel, errors by MSHRs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from dashboard.figures.style import CEILING, finish

SERIES = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
HEIGHT = 390
ROW_PX, ROWS_MARGIN_PX = 17, 110
_TWO_LINES_PX = 28
_KIB = 1024


class Marked(Protocol):
    """How an estimator is drawn."""

    @property
    def short(self) -> str:
        """Its name."""

    @property
    def color(self) -> str:
        """Its colour."""

    @property
    def symbol(self) -> str:
        """Its marker."""

    @property
    def dash(self) -> str:
        """Its line."""


class Erring(Protocol):
    """An estimator's error on one quantity of one kernel."""

    @property
    def quantity(self) -> str:
        """What was measured."""

    @property
    def case(self) -> str:
        """The kernel."""

    @property
    def estimator(self) -> str:
        """Who estimates."""

    @property
    def error_pct(self) -> float:
        """Signed, % of the measured value."""


@dataclass(frozen=True)
class Line:
    """Values over tokens in one panel: name, colour, marker."""

    panel: str
    name: str
    color: str
    symbol: str
    tokens: Sequence[int]
    values: Sequence[float]
    dash: str = "solid"
    points_only: bool = False


def untitled(chart: go.Figure) -> go.Figure:
    """The figure without its title, which the page writes above figure and table."""
    chart.update_layout(title=None, margin={"t": 34})
    return chart


def latencies(rows: Sequence[Mapping[str, Any]], names: Sequence[str], marks: Mapping[str, Marked]) -> go.Figure:
    """A panel per model, latency over tokens, a line per estimator. `rows` hold `NAME_us`."""
    models = list(dict.fromkeys(row["model"] for row in rows))
    lines = []
    for model in models:
        own = [row for row in rows if row["model"] == model]
        tokens = [row["tokens"] for row in own]
        for name in names:
            mark, values = marks[name], [row[f"{name}_us"] for row in own]
            lines.append(Line(model, mark.short, mark.color, mark.symbol, tokens, values, mark.dash))
    return traffic(lines, {model: model for model in models}, "latency of one layer (µs)")


def traffic(lines: Sequence[Line], panels: Mapping[str, str], quantity: str) -> go.Figure:
    """Lines over tokens, log-log, in panels side by side with one scale; `panels` maps a panel to its head."""
    names = list(panels)
    chart = make_subplots(
        1, len(names), shared_yaxes=True, horizontal_spacing=0.02, subplot_titles=[panels[name] for name in names]
    )
    drawn: set[str] = set()
    for line in lines:
        chart.add_scatter(
            x=list(line.tokens),
            y=list(line.values),
            name=line.name,
            legendgroup=line.name,
            showlegend=line.name not in drawn,
            mode="markers" if line.points_only else "lines+markers",
            line={"color": line.color, "width": 2, "dash": line.dash},
            marker={"symbol": line.symbol, "size": 8, "color": line.color},
            hovertemplate="%{x:,} tokens<br>%{y:,.4g}<extra>" + line.name + "</extra>",
            row=1,
            col=names.index(line.panel) + 1,
        )
        drawn.add(line.name)
    ticks = sorted({tokens for line in lines for tokens in line.tokens})
    chart.update_xaxes(type="log", tickvals=ticks, ticktext=[_length(n) for n in ticks], title="tokens")
    chart.update_yaxes(type="log", dtick=1, minor={"showgrid": True, "gridcolor": "rgba(128,128,128,0.10)"})
    chart.update_yaxes(title=quantity, col=1)
    chart.update_annotations(font_size=13)
    chart.update_layout(legend={"orientation": "h", "y": -0.2, "x": 0, "yanchor": "top"})
    return untitled(finish(chart, "", HEIGHT))


def errors(found: Sequence[Erring], marks: Mapping[str, Marked]) -> go.Figure:
    """A row per kernel and quantity, a marker per estimator at its error."""
    names = {(one.quantity, one.case): _row(one) for one in found}
    if len(names) * _TWO_LINES_PX > HEIGHT - ROWS_MARGIN_PX:  # names of two lines would run into each other
        names = {place: name.replace("<br>", " ") for place, name in names.items()}
    rows = list(names.values())
    chart = go.Figure()
    for name in dict.fromkeys(one.estimator for one in found):
        own, mark = [one for one in found if one.estimator == name], marks[name]
        chart.add_scatter(
            x=[one.error_pct for one in own],
            y=[names[one.quantity, one.case] for one in own],
            name=mark.short,
            mode="markers",
            marker={"color": mark.color, "symbol": mark.symbol, "size": 9, "line": {"width": 1.5}},
            hovertemplate="%{y}<br>%{x:+.2f} %<extra>" + mark.short + "</extra>",
        )
    chart.add_vline(x=0, line={"color": CEILING, "width": 1})
    chart.update_xaxes(title="error (% of the measured value)", ticksuffix=" %", zeroline=False)
    chart.update_yaxes(
        autorange="reversed", categoryorder="array", categoryarray=rows, tickfont={"size": 11}, dtick=1
    )
    chart.update_layout(legend={"orientation": "h", "y": 1.0, "x": 0, "yanchor": "bottom", "font": {"size": 11}})
    return untitled(finish(chart, "", max(HEIGHT, ROW_PX * len(rows) + ROWS_MARGIN_PX)))


def ladder(rows: Sequence[Mapping[str, Any]]) -> go.Figure:
    """Mean error as a bar per change, named by its first column; the first one stands as a line across too."""
    chart = go.Figure()
    names = [next(iter(row.values())) for row in rows]
    means = [row["Mean (%)"] for row in rows]
    chart.add_bar(
        x=means,
        y=names,
        orientation="h",
        marker={"color": [SERIES[2], *[SERIES[0]] * (len(rows) - 1)]},
        text=[f"{mean:.1f} %" for mean in means],
        textposition="outside",
        cliponaxis=False,
        hovertemplate="%{y}<br>mean error %{x:.2f} %<extra></extra>",
    )
    chart.add_vline(x=means[0], line={"color": CEILING, "dash": "dot"})
    chart.update_xaxes(title="mean error (%)", range=[0, 1.12 * max(means)])
    chart.update_yaxes(autorange="reversed", tickfont={"size": 11}, dtick=1)
    return untitled(finish(chart, "", max(HEIGHT, ROW_PX * len(rows) + ROWS_MARGIN_PX)))


def mshrs(table: pd.DataFrame, title: str) -> go.Figure:
    """Mean error over MSHRs per slice: ours, and the points that the paper states."""
    chart = go.Figure()
    theirs = table.dropna(subset=["Paper (%)"])
    for name, some, column, color, symbol in (
        ("Sim-FA (this project)", table, "Mean (%)", "#009E73", "circle"),
        ("Paper, as stated", theirs, "Paper (%)", CEILING, "star"),
    ):
        chart.add_scatter(
            x=some["MSHRs per slice"],
            y=some[column],
            name=name,
            mode="lines+markers",
            line={"color": color, "width": 2, "dash": "solid" if some is table else "dot"},
            marker={"symbol": symbol, "size": 9},
            hovertemplate="%{x} MSHRs<br>%{y:.2f} %<extra>" + name + "</extra>",
        )
    chart.update_xaxes(title="MSHRs per L2 slice", tickvals=list(table["MSHRs per slice"]))
    chart.update_yaxes(title="mean error (%)", rangemode="tozero")
    chart.update_layout(legend={"orientation": "h", "y": 1.0, "x": 0, "yanchor": "bottom"})
    return finish(chart, title, HEIGHT)


def _row(one: Erring) -> str:
    return one.case if one.quantity == "latency" else f"{one.quantity}:<br>{one.case}"


def _length(tokens: int) -> str:
    return f"{tokens // _KIB}K" if tokens % _KIB == 0 else str(tokens)
