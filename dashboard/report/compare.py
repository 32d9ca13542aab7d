"""The Compare page's answer as a report."""

from collections.abc import Sequence
from typing import Any

from dashboard import charts, citation, compare
from dashboard.baseline import NAME, Baseline, against
from dashboard.figures import gantt
from dashboard.report import common
from dashboard.report.document import Figure, Link, Report, Section, Text
from presets.experiment import Experiment

Record = dict[str, Any]
TITLE = "Compare"


def make(
    experiment: Experiment,
    answers: Sequence[Record],
    reference: str,
    pinned: Baseline | None,
    answer: dict[str, Any] | None,
    link: Link,
) -> Report:
    """Table, reasons and figures; `answer` is the simulator's own, whose pipeline is drawn."""
    bases = against(answers, reference, pinned) if reference == NAME else None
    shown = pinned.experiment if pinned is not None and bases is not None else None
    sections: list[Section] = [
        common.comparison(answers, pinned, reference, experiment=experiment),
        Text("Why they differ", compare.reasons(answers)),
        Figure(charts.compared(experiment, answers, bases), common.absent(answers, experiment)),
        Figure(charts.dram_by_length(experiment, answers, shown), charts.effective_l2(experiment)),
        *_pipeline(experiment, answer),
    ]
    return Report(
        TITLE,
        experiment.words(),
        sections,
        link,
        {"this experiment": experiment} | dict(common.baseline_experiments(pinned)),
        citation.subject(experiment),
        [f"Outside the validated range: {caution}" for caution in experiment.cautions()],
    )


def _pipeline(experiment: Experiment, answer: dict[str, Any] | None) -> list[Section]:
    if answer is None or answer["timeline"].empty:
        return []
    spans, sm = answer["timeline"], answer["sm"]
    title = f"SM {sm} ran {spans['cta'].nunique()} CTAs; its start, drag to zoom"
    chart = gantt.figure(spans, experiment.gpu.sm.clock_hz, gantt.window(spans, 0.0), title, False)
    return [Figure(chart)]
