"""Sections that reports of several pages share."""

from collections.abc import Mapping, Sequence
from typing import Any

from dashboard import compare, standing
from dashboard.baseline import NAME, Baseline, against
from dashboard.catalog import ESTIMATORS
from dashboard.report.document import Section, Table
from presets.experiment import Experiment

Record = dict[str, Any]


def comparison(
    answers: Sequence[Record], pinned: Baseline | None, reference: str | None = None, *, experiment: Experiment
) -> Table:
    """The Compare page's table, full records along with it; differences to the baseline if there is one.

    A simulated column outside what was validated has its mark and the reason; one without an answer, why.
    """
    titles = {entry.name: (entry.title,) for entry in ESTIMATORS.values()}
    base = NAME if pinned is not None and reference is None else reference
    to = f"Differences in brackets: to {base_words(base, pinned)}." if base else ""
    units = "One layer's attention forward pass. MB = 10^6 bytes."
    return Table(
        "Answers",
        compare.table(
            answers,
            base,
            against(answers, base, pinned) if base else None,
            {name: title for name, (title,) in standing.marked(titles, experiment).items()},
        ),
        " ".join(filter(None, (units, to, standing.reason(experiment), absent(answers, experiment)))),
        answers,
    )


def absent(answers: Sequence[Record], experiment: Experiment) -> str:
    """Why estimators gave no answer, as their records carry it; empty where every one answered."""
    cautions = experiment.cautions()
    found = []
    for record in answers:
        if record["latency_us"] is None:
            why = "; ".join(note.rstrip(".") for note in record["notes"] if note not in cautions)
            title = ESTIMATORS[record["estimator"]].title
            found.append(f"{title}, no answer when this report was made: {why}.")
    return " ".join(found)


def base_words(reference: str | None, pinned: Baseline | None) -> str:
    """What differences refer to."""
    if reference == NAME and pinned is not None:
        return f"the baseline ({pinned.words()})"
    return ESTIMATORS[reference].title if reference in ESTIMATORS else "nothing"


def baseline_sections(records: Sequence[Record], pinned: Baseline | None, experiment: Experiment) -> list[Section]:
    """The answers beside those of the pinned baseline, nothing where none is pinned or none is comparable."""
    if pinned is None:
        return []
    shown = [record for record in records if record["estimator"] in pinned.records]
    if not shown:
        return []
    table = comparison(shown, pinned, experiment=experiment)
    base = [{"role": "baseline"} | dict(record) for record in pinned.records.values()]
    rows = [*({"role": "this"} | dict(record) for record in shown), *base]
    return [Table(f"Against the baseline: {pinned.words()}", table.frame, table.note, rows)]


def baseline_experiments(pinned: Baseline | None) -> Mapping[str, Any]:
    """The baseline's experiment by its name in a report."""
    return {} if pinned is None else {"baseline": pinned.experiment}
