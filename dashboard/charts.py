"""Figures put together from records and experiments, for pages and reports alike."""

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from dashboard import compare, regimes_words, rooflines, standing, traffic
from dashboard.catalog import ESTIMATORS
from dashboard.figures import bars, roofline
from dashboard.figures import regimes as regimes_figure
from dashboard.figures import traffic as traffic_figure
from dashboard.figures.style import INK
from dashboard.regimes import Regimes
from presets.experiment import Experiment

Record = dict[str, Any]
NAMES = {entry.name: (entry.title, entry.color) for entry in ESTIMATORS.values()}
SHORT = {entry.name: (entry.short, entry.color) for entry in ESTIMATORS.values()}
MARKS = {entry.name: (entry.title, entry.color, entry.symbol) for entry in ESTIMATORS.values()}
SHORT_MARKS = {entry.name: (entry.short, entry.color, entry.symbol) for entry in ESTIMATORS.values()}


def length_axis(both: bool) -> str:
    """The title of an axis of lengths: of L = S, or of S alone."""
    return "Sequence length L = S (tokens)" if both else "K/V length S (tokens)"


def compared(
    experiment: Experiment, answers: Sequence[Record], bases: Mapping[str, Record | None] | None
) -> go.Figure:
    """Latency, L2 and DRAM traffic of every answer as bars; `bases` are a pinned baseline's records."""
    times = {record["estimator"]: record["latency_us"] for record in answers if record["latency_us"] is not None}
    slowest, fastest = max(times, key=lambda n: times[n]), min(times, key=lambda n: times[n])
    ratio = compare.digits(times[slowest] / times[fastest])
    title = f"{NAMES[slowest][0]} is slowest, {ratio} times {NAMES[fastest][0]}"
    return bars.figure(answers, standing.marked(SHORT, experiment), title, bases)


def dram_by_length(
    experiment: Experiment, answers: Sequence[Record], pinned: Experiment | None = None
) -> go.Figure:
    """DRAM traffic against length with the simulated point, and the curve of a pinned experiment."""
    curve = traffic.curve(experiment)
    run = next((record for record in answers if record["estimator"] == "sim-fa"), {"dram_bytes": None})
    point = None if run["dram_bytes"] is None else (experiment.workload.seq_kv, run["dram_bytes"])
    axis = length_axis(curve.sweeps_query)
    names = standing.marked(NAMES, experiment)
    chart = traffic_figure.figure(curve.points, curve.first_unfit_tokens, names, point, axis)
    if pinned is not None:
        traffic_figure.add_baseline(chart, traffic.curve(pinned).points)
    return chart


def effective_l2(experiment: Experiment) -> str:
    """What stands under the curves of `dram_by_length`."""
    return (
        f"Effective L2 {experiment.gpu.l2.effective_bytes / 2**20:g} MiB "
        f"({experiment.gpu.provenance['l2.effective_bytes'].source}). Shaded: K/V of one head does not fit."
    )


def traffic_by_length(
    shown: Regimes,
    measured: Sequence[Mapping[str, Any]],
    simulated: Sequence[Mapping[str, Any]],
    base: Regimes | None = None,
    ink: str = INK,
) -> go.Figure:
    """DRAM and L2 traffic of every estimator, with landmarks and points; light, that of a pinned `base`."""
    landmarks = {
        "baseline": base.boundary_tokens if base else None,
        "boundary": shown.boundary_tokens,
        "live_boundary": shown.live_boundary_tokens,
        "waves": shown.wave_steps,
        "length": shown.length,
    }
    return regimes_figure.figure(
        shown.points,
        standing.marked(NAMES, shown.experiment),
        landmarks,
        measured,
        simulated,
        length_axis(shown.sweeps_query),
        regimes_words.title(shown),
        ink,
        base.points if base else None,
    )


def speed_of_light(experiment: Experiment, records: Sequence[Record], base: Sequence[Record] = ()) -> go.Figure:
    """A roofline with a dot per answer and memory level; light, those of a pinned baseline."""
    caps = rooflines.ceilings(experiment)
    dots, light = rooflines.dots(records), rooflines.dots(base)
    marks = standing.marked(MARKS, experiment)
    return roofline.figure(caps, dots, marks, rooflines.title(records, caps), light)
