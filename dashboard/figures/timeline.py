"""One or two runs of an SM, one above the other on the same scale: pipeline, TMA lines in flight, memory queues."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dashboard.figures import gantt
from dashboard.figures.style import CEILING, finish

_LINES, _L2, _DRAM = "#CC79A7", "#0072B2", "#D55E00"
_CURVES = (
    ("sm_tma_lines", "TMA lines in flight", "lines", "y2", _LINES),
    ("l2_backlog_cycles", "L2 slice backlog", "cycles", "y3", _L2),
    ("dram_backlog_cycles", "DRAM channel backlog", "cycles", "y3", _DRAM),
)
_FLOOR_CYCLES = 0.1  # lower ends of a logarithmic axis: an empty queue is drawn there
_LEAST_TOP_CYCLES = 1000  # its upper end, where no queue is longer
_DASHES = ("solid", "dot")  # the first run, the second
_ROW_PX, _PANEL_PX, _GAP_PX, _TOP_PX, _BOTTOM_PX = 24, 74, 16, 76, 126
_RIGHT_PX = 62  # room for the names of limits
_PANELS = 2


@dataclass(frozen=True)
class Run:
    """What one run shows: its name, its answer's tables, and the cycle that is drawn at zero."""

    name: str
    spans: pd.DataFrame
    occupancy: pd.DataFrame
    clock_hz: float
    inflight_lines: int
    origin_cycle: int = 0
    stale: bool = False


def figure(runs: Sequence[Run], view: tuple[float, float], title: str, aligned_at: str, revision: str) -> go.Figure:
    """The first run on top. `view` is shown at first, in cycles of the axis; zoom lasts while `revision` does.

    `aligned_at` says what is at cycle zero, and is empty for the start of the runs.
    """
    lowest = _lowest_rows(runs)
    chart = go.Figure()
    shown: set[str] = set()
    for run, low in zip(runs, lowest, strict=True):
        for bar in gantt.bars(run.spans, 1e6 / run.clock_hz, run.origin_cycle, low, run.stale, view):
            chart.add_trace(bar.update(showlegend=bar.name not in shown, yaxis="y"))
            shown.add(bar.name)
    for number, run in enumerate(runs):
        chart.add_traces(list(_curves(run, number, len(runs))))
    rows = _rows_axis(chart, runs, lowest)
    pixels = rows * _ROW_PX + _PANELS * (_PANEL_PX + _GAP_PX)
    _stack(chart, rows * _ROW_PX / pixels, _GAP_PX / pixels, runs)
    _ceilings(chart, runs)
    _time_axes(chart, runs, view, aligned_at)
    chart.update_layout(
        barmode="overlay",
        dragmode="zoom",
        hovermode="closest",
        uirevision=revision,
        # By `window` the browser says which drawing it tells the zoom of; arrow keys stay within `ends`.
        meta={"window": list(view), "ends": list(_ends(runs, view))},
        legend={"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom", "x": 0, "font": {"size": 11}},
    )
    finish(chart, title, round(pixels) + _TOP_PX + _BOTTOM_PX)
    return chart.update_layout(
        margin={"t": _TOP_PX, "b": _BOTTOM_PX, "r": _RIGHT_PX}, title={"yref": "container", "y": 0.985}
    )


def mark(chart: go.Figure, window: tuple[float, float]) -> None:
    """Mark a window of the axis that a link has selected."""
    chart.add_shape(
        type="rect",
        x0=window[0],
        x1=window[1],
        y0=0,
        y1=1,
        xref="x",
        yref="paper",
        line={"color": CEILING, "dash": "dot", "width": 1.5},
        fillcolor="rgba(128,128,128,0.12)",
    )


def _lowest_rows(runs: Sequence[Run]) -> list[int]:
    """The height of each run's lowest row: the last run at the bottom, a free row for its name above each."""
    lowest, height = [], 0
    for run in reversed(runs):
        lowest.append(height)
        height += len(gantt.rows(run.spans)) + 1
    return lowest[::-1]


def _rows_axis(chart: go.Figure, runs: Sequence[Run], lowest: Sequence[int]) -> float:
    """Names of the rows and, where there are two runs, a run's name above its rows. Returns the rows' height."""
    values, texts = [], []
    for run, low in zip(runs, lowest, strict=True):
        names = gantt.rows(run.spans)
        values += [low + index for index in range(len(names))]
        texts += names
        if len(runs) > 1:
            chart.add_annotation(
                text=f"<b>{run.name}</b>",
                xref="paper",
                x=0,
                xanchor="left",
                y=low + len(names) - 0.25,
                yref="y",
                yanchor="middle",
                showarrow=False,
                font={"size": 12},
            )
    top = max(values) + (1.1 if len(runs) > 1 else 0.6)
    chart.update_layout(
        yaxis={"tickvals": values, "ticktext": texts, "range": [-0.6, top], "fixedrange": True, "showgrid": False}
    )
    return top + 0.6


def _curves(run: Run, number: int, count: int) -> Iterator[go.Scatter]:
    """Mean levels per bucket as steps; the largest level within a bucket is in the hover box."""
    levels, us = run.occupancy, 1e6 / run.clock_hz
    start, end = levels["start_cycle"].to_numpy(float), levels["end_cycle"].to_numpy(float)
    dash = _DASHES[number % 2]
    for column, title, unit, axis, color in _CURVES:
        mean = levels[column].to_numpy(float)
        yield go.Scatter(
            name=title,
            legendgroup=title,
            showlegend=number == 0,
            x=start - run.origin_cycle,
            y=mean if axis == "y2" else np.maximum(mean, _FLOOR_CYCLES),
            yaxis=axis,
            mode="lines",
            line={"shape": "hv", "width": 1.5, "color": color, "dash": dash},
            opacity=gantt.STALE_OPACITY if run.stale else 1.0,
            customdata=np.column_stack([start, end, start * us, end * us, mean, levels[f"{column}_max"]]),
            hovertemplate=f"{title}, {run.name}: mean %{{customdata[4]:.3~g}} {unit}, "
            "largest %{customdata[5]:.3~g}<br>cycles %{customdata[0]:,} to %{customdata[1]:,}"
            "<br>%{customdata[2]:.3f} to %{customdata[3]:.3f} µs<extra></extra>",
        )
    if count > 1:
        line = {"color": CEILING, "width": 1.5, "dash": dash}
        yield go.Scatter(name=f"curves of: {run.name}", x=[None], y=[None], yaxis="y2", mode="lines", line=line)


def _stack(chart: go.Figure, rows_share: float, gap: float, runs: Sequence[Run]) -> None:
    """The pipeline on top, below it the two panels of curves, all over the same cycles."""
    backlogs = [column for column, *_, axis, _ in _CURVES if axis == "y3"]
    longest = max(run.occupancy[backlogs].max(axis=None) for run in runs)
    top = np.ceil(np.log10(max(longest, _LEAST_TOP_CYCLES)))
    panel = (1 - rows_share - _PANELS * gap) / _PANELS
    small = {"font": {"size": 11}}
    chart.update_layout(
        yaxis={"domain": [1 - rows_share, 1]},
        yaxis2={
            "domain": [panel + gap, 2 * panel + gap],
            "fixedrange": True,
            "nticks": 4,
            "title": {"text": "lines<br>in flight", **small},
        },
        yaxis3={
            "domain": [0, panel],
            "fixedrange": True,
            "type": "log",
            "dtick": 1 if top <= 3 else 2,
            "range": [np.log10(_FLOOR_CYCLES), top],
            "exponentformat": "none",
            "title": {"text": "backlog<br>(cycles)", **small},
        },
    )


def _ceilings(chart: go.Figure, runs: Sequence[Run]) -> None:
    """The most lines in flight that a TMA engine allows, one line per value."""
    for limit in sorted({run.inflight_lines for run in runs}):
        chart.add_hline(limit, yref="y2", line={"color": CEILING, "width": 1, "dash": "dash"})
        chart.add_annotation(
            text=f"limit {limit}",
            xref="paper",
            x=1,
            xanchor="left",
            xshift=4,
            yref="y2",
            y=limit,
            yanchor="middle",
            showarrow=False,
            font={"size": 11, "color": CEILING},
        )
    highest = max(max(run.inflight_lines, run.occupancy["sm_tma_lines"].max()) for run in runs)
    chart.layout.yaxis2.range = [0, 1.12 * highest]


def _ends(runs: Sequence[Run], view: tuple[float, float]) -> tuple[float, float]:
    """First and last cycle of the axis that any run or the view has."""
    starts = [run.spans["start_cycle"].min() - run.origin_cycle for run in runs]
    ends = [run.spans["end_cycle"].max() - run.origin_cycle for run in runs]
    return float(min(view[0], *starts)), float(max(view[1], *ends))


def _time_axes(chart: go.Figure, runs: Sequence[Run], view: tuple[float, float], aligned_at: str) -> None:
    """Cycles below and, where all runs have one clock, microseconds above; both zoom and pan together."""
    title = "SM cycles" + (f" from {aligned_at}" if aligned_at else "")
    chart.update_layout(
        xaxis={
            "range": list(view),
            "anchor": "y3",
            "title": title,
            "separatethousands": True,
            "exponentformat": "none",
        }
    )
    clocks = {run.clock_hz for run in runs}
    if len(clocks) > 1:
        return
    us = 1e6 / clocks.pop()
    chart.update_layout(
        xaxis2={
            "overlaying": "x",
            "tickmode": "auto",  # its own round numbers, not those of the cycles
            "side": "top",
            "anchor": "y",
            "range": [view[0] * us, view[1] * us],
            "title": {"text": f"µs (1,000 cycles = {1000 * us:.3f} µs)", "standoff": 4, "font": {"size": 11}},
            "showgrid": False,
            "zeroline": False,
            "exponentformat": "none",
            "separatethousands": True,
        }
    )
    for axis in ("y", "y2", "y3"):  # a drag moves the axes that the panel beneath it has traces on
        chart.add_scatter(
            x=[view[0] * us], y=[0], xaxis="x2", yaxis=axis, opacity=0, showlegend=False, hoverinfo="skip"
        )
