"""The mark of a simulated number whose configuration was not held against measurements, and the reason."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from presets.experiment import Experiment
from simfa import coverage

MARK = "†"
SIMULATOR = "sim-fa"
T = TypeVar("T", bound=tuple[Any, ...])


def mark(experiment: Experiment) -> str:
    """A blank and the mark where the simulator was not held against kernels like this one; else nothing."""
    return "" if coverage.validated(experiment) else f" {MARK}"


def reason(experiment: Experiment) -> str:
    """What the mark means here, as a sentence; empty where there is none."""
    if coverage.validated(experiment):
        return ""
    cautions = "; ".join(experiment.cautions())
    return f"{MARK} Outside the validated range: {cautions or coverage.standing(experiment)}."


def marked(names: Mapping[str, T], experiment: Experiment) -> dict[str, T]:
    """Names of estimators (title first, then colours and the like), the simulator's with its mark."""
    title, *rest = names[SIMULATOR]
    return {**names, SIMULATOR: (title + mark(experiment), *rest)}  # type: ignore[dict-item]


def count(experiments: Iterable[Experiment | None]) -> str:
    """How many of several simulated experiments carry the mark, as a sentence; empty for none."""
    known = [experiment for experiment in experiments if experiment is not None]
    outside = [experiment for experiment in known if not coverage.validated(experiment)]
    if not outside:
        return ""
    why = "; ".join(dict.fromkeys(coverage.standing(experiment) for experiment in outside))
    return f"{MARK} {len(outside)} of {len(known)} simulated experiments lie outside the validated range: {why}."
