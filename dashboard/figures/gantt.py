"""The pipeline of one SM over time: one row per warpgroup and unit, one trace per activity."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dashboard.figures import detail
from dashboard.figures.style import finish

_COLORS = {
    "QK GEMM, consumer 1": "#0072B2",
    "PV GEMM, consumer 1": "#56B4E9",
    "QK GEMM, consumer 2": "#009E73",
    "PV GEMM, consumer 2": "#7FD1B9",
    "QK GEMM, consumer 3": "#882255",
    "PV GEMM, consumer 3": "#CC6677",
    "softmax": "#E69F00",
    "softmax: exp": "#F2C14E",
    "tile overhead": "#999999",
    "exp, consumer 1": "#E69F00",
    "exp, consumer 2": "#B37A00",
    "exp, consumer 3": "#805700",
    "load K": "#CC79A7",
    "load V": "#8C4F73",
    "load Q": "#D55E00",
    "store O": "#F0E442",
    # A wait has the hue of what it waits for, and is light: part of the background shows through.
    "wait for K": "rgba(204,121,167,0.40)",
    "wait for V": "rgba(140,79,115,0.40)",
    "wait for Q": "rgba(213,94,0,0.40)",
    "wait for QK GEMM": "rgba(0,114,178,0.40)",
    "wait for PV GEMM": "rgba(86,180,233,0.40)",
    "wait for room in the WGMMA buffer": "rgba(0,158,115,0.40)",
    "wait for the other consumer (ping-pong)": "rgba(230,159,0,0.40)",
    "wait for the other consumers (epilogue)": "rgba(240,228,66,0.25)",
    "wait for the O store": "rgba(240,228,66,0.45)",
    "wait for a free K stage": "rgba(128,128,128,0.45)",
    "wait for a free V stage": "rgba(128,128,128,0.28)",
    "wait for a free Q stage": "rgba(128,128,128,0.36)",
    "wait for a free O stage": "rgba(128,128,128,0.20)",
}
_OTHER, _OTHER_WAIT = "#999999", "rgba(128,128,128,0.20)"
_ISSUE_CYCLES = 1
_BAR, _WAIT_BAR = 0.8, 0.45  # heights in rows
STALE_OPACITY = 0.35
WINDOW_CYCLES = 30_000  # some ten K/V tiles: wide enough for the rhythm, narrow enough to tell spans apart
_BOTTOM_UP = ("TMA", "MUFU", "tensor core", "consumer 3", "consumer 2", "consumer 1", "producer")


def figure(
    spans: pd.DataFrame, clock_hz: float, view: tuple[int, int], title: str, stale: bool = False
) -> go.Figure:
    """Spans (`dashboard.spans`) as bars over cycles; waits are light. `view` is what is shown: see `bars`."""
    names = rows(spans)
    us = 1e6 / clock_hz
    chart = go.Figure(list(bars(spans, us, 0, 0, stale, view)))
    chart.update_yaxes(
        tickvals=list(range(len(names))), ticktext=names, range=[-0.6, len(names) - 0.4], fixedrange=True
    )
    chart.update_xaxes(
        range=list(view), title=f"SM cycles (1,000 cycles = {1000 * us:.3f} µs)", separatethousands=True
    )
    chart.update_layout(
        barmode="overlay",
        dragmode="zoom",
        legend={"orientation": "h", "y": -0.28, "x": 0, "font": {"size": 12}},
        uirevision=f"{title}{view}",
    )
    return finish(chart, title, 440)


def rows(spans: pd.DataFrame) -> list[str]:
    """The rows that a timeline needs, from the bottom up. All exponentials share one."""
    return sorted({_row(name) for name in spans["row"].unique()}, key=_height)


def bars(
    spans: pd.DataFrame,
    us: float,
    shift: int,
    lowest: int,
    stale: bool,
    view: tuple[float, float] | None = None,
) -> Iterator[go.Bar]:
    """A trace for every activity: rows from height `lowest` up, cycles shown relative to cycle `shift`.

    Of a long run only what a `view`, in cycles of the axis, can show (`dashboard.figures.detail`); None: all.

    Plotly slows down with the number of traces, not of spans. Values go in as NumPy arrays, which it passes on
    whole; lists of thousands of spans it would copy and check item by item, at half a second a redraw.
    """
    names = rows(spans)
    lanes = sorted(name for name in spans["row"].unique() if _row(name) == "MUFU")
    middles = {name: lowest + names.index(_row(name)) + _lane(name, lanes) for name in spans["row"].unique()}
    spans = (
        spans.assign(share=np.float32(1)) if view is None else detail.of(spans, view[0] + shift, view[1] + shift)
    )
    spans = spans.assign(middle=spans["row"].map(middles).astype(np.float32))
    for activity in sorted(spans["activity"].unique(), key=_order):
        some = spans[spans["activity"] == activity]
        wait = some["category"].iloc[0] == "wait"
        some = _joined(some) if wait else some
        height = _BAR / max(len(lanes), 1) if activity.startswith("exp,") else _BAR
        yield go.Bar(
            name=activity,
            legendgroup=activity,
            marker=_marker(activity, wait, some["share"].to_numpy()),
            width=_WAIT_BAR if wait else height,
            opacity=STALE_OPACITY if stale else 1.0,
            **_values(some, activity, us, shift),
        )


def _marker(activity: str, wait: bool, shares: np.ndarray) -> dict[str, Any]:
    """An activity's colour; where bars stand for many spans, as dense as these are."""
    found: dict[str, Any] = {"color": _COLORS.get(activity, _OTHER_WAIT if wait else _OTHER), "line": {"width": 0}}
    return found if (shares == 1).all() else found | {"opacity": shares}


def _joined(waits: pd.DataFrame) -> pd.DataFrame:
    """Waits of one row for the same thing with no more than an issue cycle between them, drawn as one.

    A warpgroup that issues into a full buffer waits anew for every instruction; a quarter of all spans are such.
    """
    ordered = waits.sort_values(["middle", "start_cycle"], kind="stable")
    same_row = ordered["middle"].eq(ordered["middle"].shift()) & ordered["cta"].eq(ordered["cta"].shift())
    first = ~(same_row & (ordered["start_cycle"] <= ordered["end_cycle"].shift() + _ISSUE_CYCLES))
    found = ordered[first].copy()
    groups = first.cumsum()
    found["end_cycle"] = ordered.groupby(groups)["end_cycle"].last().to_numpy()
    found["share"] = ordered.groupby(groups)["share"].min().to_numpy()
    return found


def _values(spans: pd.DataFrame, activity: str, us: float, shift: int) -> dict[str, Any]:
    start, end = spans["start_cycle"].to_numpy(float), spans["end_cycle"].to_numpy(float)
    return {
        "orientation": "h",
        "y": spans["middle"].to_numpy(),
        "base": start - shift,
        "x": end - start,
        "customdata": np.column_stack(
            [start, end, start * us, end * us, spans["cta"], 100 * spans["share"], end - start]
        ),
        "hovertemplate": activity + "<br>cycles %{customdata[0]:,} to %{customdata[1]:,} (%{customdata[6]:,} long)"
        "<br>%{customdata[2]:.3f} to %{customdata[3]:.3f} µs<br>CTA %{customdata[4]}, "
        "%{customdata[5]:.0f} % of this time<extra></extra>",
    }


def window(spans: pd.DataFrame, place: float | None) -> tuple[int, int]:
    """The cycles in view: WINDOW_CYCLES of them at `place` (0 start, 1 end) of the run, or all for None."""
    start, end = int(spans["start_cycle"].min()), int(spans["end_cycle"].max())
    if place is None or end - start <= WINDOW_CYCLES:
        return start, end
    first = start + int((end - start - WINDOW_CYCLES) * place)
    return first, first + WINDOW_CYCLES


def _row(name: str) -> str:
    return "MUFU" if name.startswith("MUFU,") else name


def _lane(name: str, lanes: list[str]) -> float:
    """A consumer's exponentials keep to their own lane of the MUFU's row, the first on top."""
    if name not in lanes:
        return 0.0
    return _BAR * ((len(lanes) - 1) / 2 - lanes.index(name)) / len(lanes)


def _height(row: str) -> tuple[int, str]:
    """Rows by role from the bottom up; a role's second CTA slot above its first."""
    role = row.split(",")[0]
    return _BOTTOM_UP.index(role) if role in _BOTTOM_UP else len(_BOTTOM_UP), row


def _order(activity: str) -> tuple[int, str]:
    names = list(_COLORS)
    return (names.index(activity) if activity in names else len(names), activity)
