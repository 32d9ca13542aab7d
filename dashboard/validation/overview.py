"""Everything at a glance: each study's points, every estimator's error, what was fitted, what is not covered."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pandas as pd

from dashboard.validation import estimators, stored
from dashboard.validation.estimators import (
    CALIBRATED,
    GENZ,
    LATENCY,
    LAUNCH_ORDER,
    PAPER,
    PRESET,
    PROFILED,
    RIVAL,
    ROOFLINE,
    Estimate,
)
from dashboard.validation.view import Answer, NotStored, Row

OURS = "simulation"  # by the set that a study is about: calibrated, or a GPU's own preset
COLUMNS = {
    OURS: "Simulation",
    PAPER: "Paper's set",
    ROOFLINE: "SimFA-python",
    LAUNCH_ORDER: "Launch order",
    GENZ: "GenZ",
    RIVAL: "FlashGPU-Sim",
}


@dataclass(frozen=True)
class Part:
    """One line: a study (and a quantity of it), where it is shown, what was fitted, what it does not cover."""

    study: str
    title: str
    where: str
    fitted: str
    outside: str
    quantity: str = ""


PARTS = (
    Part("fa3-all", "FlashAttention-3, H100 at 1500 MHz", "FA3, locked clock", "2, on 12 kernels",
         "other dtypes, GQA, D256, over 8K", LATENCY),
    Part("fa3-all", "FlashAttention-3, Nsight profile", "FA3, locked clock", "none", "one kernel only", PROFILED),
    Part("fa3-unlocked", "FlashAttention-3, unknown clocks", "FA3, unlocked", "5, cross-validated",
         "absolute times: clocks unknown", LATENCY),
    Part("gb10", "cuTile on GB10: latency", "cuTile on GB10", "none", "TMA and L2 figures are inferred", LATENCY),
    Part("gb10", "cuTile on GB10: L2 reads", "cuTile on GB10", "none", "shapes other than 8 x 128, 4K", "L2 reads"),
    Part("gb10", "cuTile on GB10: L2 misses", "cuTile on GB10", "1 of 2 set hashes", "launches spread by 15 %",
         "L2 sector misses"),
    Part("gb10", "cuTile on GB10: L2 fills", "cuTile on GB10", "1 of 2 set hashes", "launches spread by 15 %",
         "L2 fills from system memory"),
    Part("tma-latency", "TMA and load latency", "Fig. 3", "2, half of 1 to 20 MiB", "tensor maps, other GPUs"),
    Part("tma-bandwidth", "TMA bandwidth from DRAM", "Fig. 5", "2, every second row", "global shapes are assumed"),
    Part("wgmma", "WGMMA time", "WGMMA", "2, on 2 points", "INT8, other than M64"),
    Part("softmax", "Softmax bubble", "Softmax", "none", "arithmetic, not a measurement"),
    Part("dram-latency", "DRAM channel: latency", "DRAM latency", "none", "the reference is a simulator"),
    Part("dram-bandwidth", "DRAM channel: bandwidth", "DRAM bandwidth", "none", "the reference is a simulator"),
)  # fmt: skip
_MADE: dict[str, Callable[[], list[Estimate]]] = {
    "fa3-all": estimators.locked,
    "fa3-unlocked": estimators.unlocked,
    "gb10": estimators.gb10,
}


def rows() -> list[Row]:
    """A row per part: points, and `mape_pct` and `worst_pct` of each estimator that answers it."""
    return [_row(part) for part in PARTS]


def _row(part: Part) -> Row:
    row: Row = {"study": part.study, "title": part.title, "shown_under": part.where, "points": None}
    row["unseen_mape_pct"] = None
    row |= {f"{name}_{what}": None for name in COLUMNS for what in ("points", "mape_pct", "worst_pct")}
    try:
        found = _errors(part)
    except NotStored as reason:
        return row | {"fitted": part.fitted, "not_covered": part.outside, "remark": str(reason)}
    for name, summed in found.items():
        row |= {f"{name}_{what}": summed[what] for what in ("points", "mape_pct", "worst_pct")}
    row["points"] = found[OURS]["points"]
    row["unseen_mape_pct"] = found[OURS]["unseen_mape_pct"]
    return row | {"fitted": part.fitted, "not_covered": part.outside, "remark": stored.stale(part.study)}


def _errors(part: Part) -> dict[str, Row]:
    if part.study not in _MADE:
        return {OURS: stored.study(part.study)}
    summed = estimators.summary(one for one in _MADE[part.study]() if one.quantity == part.quantity)
    return {OURS if row["estimator"] in (CALIBRATED, PRESET) else row["estimator"]: row for row in summed}


def overview(_ink: str) -> Answer:
    """The table of all parts."""
    found = rows()
    table = pd.DataFrame(
        [
            {"Study": row["title"], "Points": row["points"]}
            | {title: _pair(row, name) for name, title in COLUMNS.items() if name != LAUNCH_ORDER}
            | {"Unseen": "–" if row["unseen_mape_pct"] is None else _short(row["unseen_mape_pct"])}
            | {"Fitted": row["fitted"], "Outside the range": row["not_covered"], "View": row["shown_under"]}
            for row in found
        ]
    )
    remarks = tuple(dict.fromkeys(row["remark"] for row in found if row["remark"]))
    return Answer(
        _title(found),
        table,
        found,
        (
            "Mean size of the error and the worst one with its sign; –: no such estimate. Simulation: calibrated "
            "for FlashAttention-3, otherwise the GPU's own preset; unseen: its mean where no fit has looked. "
            "Figs. 6 to 9 have no line: the paper prints its measurements for them in figures only. Table 5 and "
            "the ladder are changes, not errors.",
        ),
        "each view names its own",
        "see the column",
        formats={"Points": "{:,.0f}"},
        wide=True,
        stale=" ".join(remarks),
    )


def _title(found: Sequence[Row]) -> str:
    first = found[0]
    if first["points"] is None:
        return f"{len(found)} studies of the simulator's parts and of whole kernels"
    ours, paper, roofline = (first[f"{name}_mape_pct"] for name in (OURS, PAPER, ROOFLINE))
    return (
        f"Whole kernels at a known clock: mean error {ours:.1f} % calibrated, {paper:.0f} % by the paper's set, "
        f"{roofline:.0f} % by the roofline"
    )


def _pair(row: Row, name: str) -> str:
    mean, worst = row[f"{name}_mape_pct"], row[f"{name}_worst_pct"]
    return "–" if mean is None else f"{_short(mean)} / {'+' if worst > 0 else ''}{_short(worst)}"


def _short(value: float) -> str:
    return (
        f"{value:.0f}"
        if abs(value) >= 99.5
        else f"{value:.1f}"
        if abs(value) >= 0.05 or value == 0
        else f"{value:.3f}"
    )
