"""The estimators users compare: one entry each, with the colour and marker it has everywhere.

A new baseline is one file with a `run(experiment) -> Result` and one entry here.
"""

from collections.abc import Callable
from dataclasses import dataclass

from analytical import genz, launch_order, llm_viewer, simfa_python
from presets.errors import PresetError, unknown
from presets.experiment import Experiment
from presets.record import Result, to_record


def _simulate(experiment: Experiment) -> Result:
    from simfa import simulate  # compiled code: loaded only where it runs

    return simulate.run(experiment).result


@dataclass(frozen=True)
class Estimator:
    """One way to an answer. Colours are Okabe-Ito; `simulated` ones run in worker processes on a page."""

    name: str
    title: str
    short: str
    color: str
    accent: str  # the theme colour nearest to it, for text
    symbol: str
    about: str
    run: Callable[[Experiment], Result]
    simulated: bool = False
    on_request: bool = False  # Compare shows it behind a switch


ESTIMATORS: dict[str, Estimator] = {
    entry.name: entry
    for entry in (
        Estimator(
            simfa_python.NAME,
            "SimFA-python",
            "SimFA-python",
            "#0072B2",
            "blue",
            "square",
            "The Sim-FA paper's closed forms with two cache regimes; latency by a roofline.",
            simfa_python.run,
        ),
        Estimator(
            genz.NAME,
            "GenZ-style ideal cache",
            "GenZ",
            "#E69F00",
            "orange",
            "diamond",
            "Every tensor crosses DRAM once; no L2, no tiles, no mask. Equal to GenZ 0.0.16.",
            genz.run,
        ),
        Estimator(
            "sim-fa",
            "Sim-FA cycle simulation",
            "Sim-FA",
            "#009E73",
            "green",
            "circle",
            "Event-driven simulation of every SM, TMA engine, tensor core, L2 slice and DRAM channel.",
            _simulate,
            simulated=True,
        ),
        Estimator(
            launch_order.NAME,
            "SimFA, launch order",
            "Launch order",
            "#D55E00",
            "red",
            "cross",
            "Eq. (4) on all KV heads in flight, which the grid order decides; L2 sets overflow one by one.",
            launch_order.run,
            on_request=True,
        ),
        Estimator(
            llm_viewer.NAME,
            "LLM-Viewer (peer)",
            "LLM-Viewer",
            "#CC79A7",
            "violet",
            "x",
            "Reads K/V per 128 rows and query head, stores an L x S output. Equal to LLM-Viewer 472f71f.",
            llm_viewer.run,
            on_request=True,
        ),
    )
}


def known(name: str) -> Estimator:
    """The estimator of that name; PresetError with the allowed names otherwise."""
    if name not in ESTIMATORS:
        raise PresetError(f"--estimators: {unknown('estimator', name, ESTIMATORS)}")
    return ESTIMATORS[name]


def record_of(name: str, experiment: Experiment) -> dict[str, object]:
    """An instant estimator's record for one experiment."""
    return to_record(experiment, ESTIMATORS[name].run(experiment))
