"""The Timeline page's answer as a report: the pipeline of one SM, alone or beside a second run."""

from collections.abc import Sequence

from dashboard import citation, shown, standing
from dashboard.baseline import Baseline
from dashboard.figures import timeline
from dashboard.report import common
from dashboard.report.document import Figure, Link, Report, Section, Table
from dashboard.shown import Shown
from dashboard.window import Window

TITLE = "Timeline"


def make(
    runs: Sequence[Shown],
    view: Window,
    selected: Window | None,
    aligned_at: str,
    pinned: Baseline | None,
    link: Link,
) -> Report:
    """The figure at `view`, utilisation and stalls of the selected or else the visible window, and the records."""
    first, window = runs[0], selected or view
    chart = timeline.figure([run.run() for run in runs], view, shown.title(runs), aligned_at, "report")
    subject_run, base = shown.compared(runs) if len(runs) > 1 else (None, None)
    records = [run.answer["record"] for run in runs]
    sections: list[Section] = [
        Figure(chart, " ".join(["Drag to zoom, double-click to reset.", *_outside(runs)])),
        Table(
            shown.window_words(window, runs, selected is not None),
            shown.utilization(runs, window),
            "Shares are of the window. Backlog: how many cycles ahead L2 slices and DRAM channels are reserved.",
            shown.utilization_rows(runs, window),
        ),
        *(
            Table(
                f"Doing and waiting: {run.name}",
                run.warpgroups(window, base if run is subject_run else None),
                "In brackets: difference to the other run, in percentage points." if run is subject_run else "",
                shown.stall_rows([run], window),
            )
            for run in runs
        ),
        common.comparison(records[:1], None, experiment=first.experiment),
        *common.baseline_sections(records[:1], pinned, first.experiment),
    ]
    experiments = {run.name: run.experiment for run in runs}
    return Report(
        TITLE,
        first.experiment.words() + f", SM {first.answer['sm']}",
        sections,
        link,
        experiments | dict(common.baseline_experiments(pinned)),
        subject(runs),
        [remark for run in runs for remark in _remarks(run)],
    )


def subject(runs: Sequence[Shown]) -> str:
    """What a citation says was computed."""
    said = [f"{citation.subject(run.experiment)}, SM {run.answer['sm']}" for run in runs]
    return "; against ".join(said)


def _outside(runs: Sequence[Shown]) -> list[str]:
    """What the mark in the figure's title means, each reason once."""
    return list(dict.fromkeys(filter(None, (standing.reason(run.experiment) for run in runs))))


def _remarks(run: Shown) -> list[str]:
    found = [f"{run.name}: not what the page asks for; its simulation was not finished."] if run.stale else []
    if run.answer["left_out"]:
        found.append(f"{run.name}: {run.answer['left_out']:,} later spans are not shown.")
    return found
