"""The Regimes page's answer as a report."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from dashboard import charts, citation, regimes, regimes_words
from dashboard.baseline import Baseline
from dashboard.catalog import record_of
from dashboard.regimes import Regimes
from dashboard.report import common
from dashboard.report.document import Figure, Link, Report, Table, Text

Record = dict[str, Any]
TITLE = "Regimes"
_LENGTHS = [2**n for n in range(9, 21)]


def make(
    shown: Regimes,
    answers: Sequence[Record],
    measured: list[dict[str, Any]],
    simulated: list[dict[str, Any]],
    pinned: Baseline | None,
    link: Link,
    base: Regimes | None = None,
) -> Report:
    """Curves, the transition in words, the numbers at this length, the roofline; all points go along as CSV.

    `base` holds the curves of the pinned run.
    """
    experiment = shown.experiment
    impossible = "; ".join(regimes_words.impossible(experiment))
    remarks = [f"Impossible tile: {impossible}. The equations still answer for it."] if impossible else []
    against = regimes_words.against(shown, base) if base else []
    light = [pinned.records[name] for name in charts.MARKS if name in pinned.records] if pinned else []
    note = f"Shaded: K/V of one head does not fit (Eq. 4). GB = 10^9 bytes, MiB = 2^20 bytes. {_points(shown)}"
    return Report(
        TITLE,
        experiment.words(),
        [
            Figure(charts.traffic_by_length(shown, measured, simulated, base), note),
            Text("The transition", [*regimes_words.transition(shown), *against, _said(measured, simulated)]),
            common.comparison(answers, None, experiment=experiment),
            *common.baseline_sections(answers, pinned, experiment),
            Figure(
                charts.speed_of_light(experiment, answers, light),
                "Filled: FLOP per byte at L2; hollow: per byte of DRAM. MUFU: one exponential for every 4 D FLOP.",
            ),
            _curves(shown, measured, simulated, base),
        ],
        link,
        {"this experiment": experiment} | dict(common.baseline_experiments(pinned)),
        citation.subject(experiment),
        [*remarks, *regimes_words.warnings(shown)],
    )


def _points(shown: Regimes) -> str:
    return f"Effective L2 {regimes_words.mib(shown.experiment.gpu.l2.effective_bytes)}."


def _said(measured: list[dict[str, Any]], simulated: list[dict[str, Any]]) -> str:
    return regimes_words.points_said(measured, simulated)


def _curves(
    shown: Regimes, measured: list[dict[str, Any]], simulated: list[dict[str, Any]], base: Regimes | None
) -> Table:
    """DRAM traffic at every power of two as a table; all curves and points as rows."""
    named = [column.removeprefix("dram.") for column in shown.points.columns if column.startswith("dram.")]
    found = []
    for length in _LENGTHS:
        at = regimes.at_length(shown.experiment, length)
        answers = {charts.NAMES[name][0] + " (B)": record_of(name, at)["dram_bytes"] for name in named}
        found.append({"Length (tokens)": length} | answers)
    rows = regimes.rows(shown, measured, simulated, base)
    return Table("DRAM traffic at powers of two, bytes", pd.DataFrame(found), "The curves go along as CSV.", rows)
