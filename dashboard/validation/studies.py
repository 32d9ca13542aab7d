"""Views of one stored study: Figs. 3 to 5 and Table 5 of the paper, and the public measurements of single parts."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from statistics import fmean
from typing import Any

import pandas as pd

from dashboard.figures import paper as figures
from dashboard.figures import validation as figure
from dashboard.validation import stored
from dashboard.validation.view import Answer, Row
from presets import paper_tables

TRANSITION_MIB = (25, 50)  # the paper's Fig. 3 states its error also without this range
POINTS = {
    "label": "Point",
    "reference": "Reference",
    "model": "Model",
    "unit": "Unit",
    "error_pct": "Error (%)",
    "fitted": "Seen by a fit",
}
_FORMATS = {"Reference": "{:,.4g}", "Model": "{:,.4g}", "Error (%)": "{:+.2f}", "Change (%)": "{:+,.1f}"}


def of_study(name: str) -> Callable[[str], Answer]:
    """A view of one stored study: its own figure, errors by group."""

    def build(ink: str) -> Answer:
        study = stored.study(name)
        groups = _groups(study) if len(study["groups"]) > 1 else _points(study)
        return _answer(study, figure.figure(study, ink), groups)

    return build


def fig3(ink: str) -> Answer:
    """Fig. 3: TMA latency against working set, our errors over the paper's ranges beside its own."""
    study = stored.study("tma-latency")
    rows = [
        {"Access": access, "Range": words} | _errors([p for p in study["all_points"] if _in(p, access, inside)])
        for access in dict.fromkeys(point["series"] for point in study["all_points"])
        for words, inside in (("all ten", None), ("25 to 50 MiB", True), ("outside 25 to 50 MiB", False))
    ]
    chart = figure.figure(study, ink)
    return _answer(study, chart, pd.DataFrame(rows), (_stated("Fig. 3"), _OTHER_MACHINE))


def fig4(ink: str) -> Answer:
    """Fig. 4: error of the largest TMA tiles by MSHRs per slice, beside what the paper states."""
    study = stored.study("tma-mshr")
    ours = {group["group"]: group for group in study["groups"]}
    theirs = {series: value for series, of, value in paper_tables.stated("Fig. 4") if of == "mean"}
    rows = [
        {"MSHRs per slice": int(name.split()[0]), "Mean (%)": group["mape_pct"],
         "Worst (%)": group["worst_pct"], "Paper (%)": theirs.get(name)}
        for name, group in ours.items()
    ]  # fmt: skip
    least = min(theirs, key=lambda name: theirs[name])
    title = f"{_over_mshrs([row['Mean (%)'] for row in rows])}; the paper's is least at {least}"
    table = pd.DataFrame(rows)
    chart = figures.mshrs(table, title)
    return _answer(study, chart, table, (_stated("Fig. 4"), _OTHER_MACHINE), title)


def fig5(ink: str) -> Answer:
    """Fig. 5: TMA bandwidth of bulk, 1D, 2D and 3D copies, errors by kind and CTAs per SM."""
    study = stored.study("tma-bandwidth")
    chart = figure.figure(study, ink)
    return _answer(study, chart, _groups(study), (_OTHER_MACHINE,))


def table5(_ink: str) -> Answer:
    """Table 5: our change of time for each mechanism taken away, beside the paper's error."""
    study = stored.study("ablations")
    rows = [
        {"Taken away": group["group"], "Launches": group["points"], "Mean change (%)": group["mean_pct"],
         "Largest (%)": group["worst_pct"], "Paper's error": (group["published"] or "not in it").partition(",")[0]}
        for group in study["groups"]
    ]  # fmt: skip
    chart = figure.figure(study, _ink)
    whole = {group["published"].partition(", ")[2] for group in study["groups"] if group["published"]}
    known = (
        f"The paper's column ({', '.join(sorted(whole))}) is a mean error over its launches against times that it "
        "does not print, ours a change of our own time: the order agrees, the sizes need not."
    )
    return _answer(study, chart, pd.DataFrame(rows), (known,))


def _over_mshrs(means: Sequence[float]) -> str:
    low, high = f"{min(means):.1f}", f"{max(means):.1f}"
    if low == high:
        return f"The number of MSHRs changes nothing here (mean error {low} %)"
    return f"The mean error goes from {low} to {high} % with the number of MSHRs"


def ladder(_ink: str) -> Answer:
    """The ladder: mean error of the calibrated set with one mechanism or value taken out."""
    study = stored.study("fa3-ladder")
    full, *others = study["groups"]
    ordered = [full, *sorted(others, key=lambda group: -group["mape_pct"])]
    rows = [
        {"Taken out or changed": group["group"], "Mean (%)": group["mape_pct"],
         "With sign (%)": group["mean_pct"], "Worst (%)": group["worst_pct"]}
        for group in ordered
    ]  # fmt: skip
    first, second = ordered[1], ordered[2]
    title = (
        f"The full model is off by {full['mape_pct']:.1f} %; most depends on '{first['group']}' "
        f"({first['mape_pct']:.0f} %) and '{second['group']}' ({second['mape_pct']:.0f} %)"
    )
    known = (
        "Each row takes one mechanism or value out of the calibrated set and fits nothing again, on the kernels of "
        "512 and 2,048 tokens. Rows with +10 % or -10 % move a fitted value: the sensitivity of the fit."
    )
    return _answer(study, figures.ladder(rows), pd.DataFrame(rows), (known,), title)


def walk(_ink: str) -> Answer:
    """From the paper's parameter set to the calibrated one: mean error after each mechanism is added."""
    study = stored.study("fa3-walk")
    rows = [
        {"Added": group["group"], "What it is": group["note"].rpartition("; ")[0], "Mean (%)": group["mape_pct"],
         "With sign (%)": group["mean_pct"], "Worst (%)": group["worst_pct"]}
        for group in study["groups"]
    ]  # fmt: skip
    first, *_, last = rows
    moved = {row["Added"]: (before["With sign (%)"], row["With sign (%)"]) for before, row in pairwise(rows)}
    most = max(moved, key=lambda name: abs(moved[name][1] - moved[name][0]))
    title = (
        f"From the paper's set ({first['Mean (%)']:.0f} % off) to the calibrated one ({last['Mean (%)']:.1f} %): "
        f"'{most}' moves times most (mean {moved[most][0]:+.0f} to {moved[most][1]:+.0f} %)"
    )
    known = "Nothing is fitted again on the way. A step can uncover what another error had hidden."
    return _answer(study, figures.ladder(rows), pd.DataFrame(rows), (known,), title)


def fit(_ink: str) -> Answer:
    """How sharply the measurements determine the fitted values."""
    study = stored.study("fa3-fit")
    rows = [
        {"Changed": group["group"], "Mean (%)": group["mape_pct"],
         "With sign (%)": group["mean_pct"], "Worst (%)": group["worst_pct"]}
        for group in study["groups"]
    ]  # fmt: skip
    full, *moved = [group["mape_pct"] for group in study["groups"]]
    title = (
        f"A tenth off a fitted value makes the mean error {min(moved):.1f} to {max(moved):.1f} %; "
        f"as fitted it is {full:.1f} %"
    )
    known = (
        "The values are fitted on the kernels of 512 and 8,192 tokens; the errors here are those of 512 and 2,048."
    )
    return _answer(study, figures.ladder(rows), pd.DataFrame(rows), (known,), title)


_OTHER_MACHINE = (
    "The paper measured its own H800 and prints the values in a figure only; the points here are the public logs "
    "of an H800 PCIe, so that the errors do not compare one to one."
)


def _stated(where: str) -> str:
    said = "; ".join(f"{series}, {of}: {value:g} %" for series, of, value in paper_tables.stated(where))
    return f"The paper states for its {where}: {said}."


def _in(point: Row, access: str, inside: bool | None) -> bool:
    low, high = TRANSITION_MIB
    return point["series"] == access and (inside is None or (low <= point["x"] <= high) == inside)


def _errors(points: Sequence[Row]) -> Row:
    errors = [point["error_pct"] for point in points]
    return {
        "Points": len(points),
        "Mean (%)": fmean(map(abs, errors)),
        "Worst (%)": max(errors, key=abs),
    }


def _groups(study: Row) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {"Group": group["group"], "Points": group["points"], "Mean (%)": group["mape_pct"],
             "With sign (%)": group["mean_pct"], "Worst (%)": group["worst_pct"]}
            for group in study["groups"]
        ]
    )  # fmt: skip


def _points(study: Row) -> pd.DataFrame:
    return pd.DataFrame(study["all_points"])[list(POINTS)].rename(columns=POINTS)


def _answer(study: Row, chart: Any, table: pd.DataFrame, said: Sequence[str] = (), title: str = "") -> Answer:
    """The answer of one study; its figure's title goes above it."""
    text = title or chart.layout.title.text
    formats = {"Mean (%)": "{:.2f}", "Paper (%)": "{:.2f}", "Mean change (%)": "{:+,.1f}"}
    formats |= {"Worst (%)": "{:+.2f}", "With sign (%)": "{:+.2f}", "Largest (%)": "{:+,.1f}"}
    return Answer(
        text,
        table,
        study["all_points"],
        (*said, study["context"]),
        study["source"],
        study["fitted"],
        figures.untitled(chart),
        {name: text for name, text in (formats | _FORMATS).items() if name in table},
        stale=stored.stale(study["study"]),
    )
