"""Run one experiment on the cycle simulator: progress, cancel, and a Result with the mechanism's counts."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from presets.experiment import Experiment
from presets.record import Result
from presets.specs import GpuSpec
from simfa import coverage, cta_table, deadlock, launch, occupancy, stats, trace_launch
from simfa.columns import Columns
from simfa.engine import gauges, loop, probe
from simfa.engine.machine import Machine
from simfa.trace.model import Trace

NAME = "sim-fa"
CHUNK_EVENTS = 1_000_000


class Cancelled(Exception):
    """The run was stopped by its caller."""


class SimulationError(RuntimeError):
    """The simulated kernel cannot go on: a deadlock, or a queue that overflowed (a bug)."""


@dataclass(frozen=True)
class Observed:
    """What was seen of a run beside its counts: every CTA, and of the observed SM spans and queues over time.

    `spans` are `simfa.engine.probe.SPAN` records, `ctas` and `occupancy` the columns of `simfa.cta_table` and
    `simfa.occupancy`. Without an observed SM the first is empty and the last has no columns.
    """

    spans: np.ndarray
    spans_dropped: int
    ctas: Columns
    occupancy: Columns


NOTHING_SEEN = Observed(np.zeros(0, probe.SPAN), 0, {}, {})


@dataclass(frozen=True)
class Simulation:
    """A finished run: the Result, and what was observed."""

    result: Result
    seen: Observed
    timeline_sm: int | None

    @property
    def spans(self) -> np.ndarray:
        """Spans of the observed SM (empty if none was asked for)."""
        return self.seen.spans


def run(
    experiment: Experiment,
    seed: int = 0,
    timeline_sm: int | None = None,
    progress: Callable[[float], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> Simulation:
    """Simulate one layer's attention forward pass on the whole GPU, from a cold L2 or behind an equal launch.

    `seed` deals SM pairs out to L2 partitions; equal seeds give identical runs. `progress` gets the share of
    CTAs retired, several times a second; when `should_stop` answers True the run raises Cancelled. Raises
    NotModelled where the simulator cannot answer, SimulationError on a deadlock.

    An experiment with `sample` is answered by `simfa.sampling`, without anything observed, or, where the launch is
    too short to leave much out, simulated whole.
    """
    if experiment.sample:
        from simfa.sampling import sampled  # which runs machines by this module

        result = sampled.run(experiment, seed, progress, should_stop)
        if result is not None:
            return Simulation(result, NOTHING_SEEN, timeline_sm)
    machine = launch.build(experiment, seed, -1 if timeline_sm is None else timeline_sm)
    if experiment.gpu.launch.l2_state == "warm":
        before = launch.build(experiment, seed, -1)
        run_machine(before, None, should_stop, None)
        launch.leave_cache(before, machine)
    meters = _gauges(timeline_sm)
    wall_s = run_machine(machine, progress, should_stop, meters)
    names = stats.role_names(machine.state.stall_cycles.shape[0])
    seen = _observed(machine, meters, names, cta_table.places(experiment))
    result = Result(NAME, **stats.derive(experiment, machine, wall_s), notes=_notes(experiment, seen.spans_dropped))
    if experiment.sample:
        result = sampled.as_whole(result)
    return Simulation(result, seen, timeline_sm)


def run_trace(
    trace: Trace,
    gpu: GpuSpec,
    seed: int = 0,
    timeline_sm: int | None = None,
    progress: Callable[[float], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> tuple[dict[str, Any], Observed]:
    """Simulate a trace; its record and what was observed. Otherwise as `run`."""
    machine = trace_launch.build(trace, gpu, seed, -1 if timeline_sm is None else timeline_sm)
    meters = _gauges(timeline_sm)
    wall_s = run_machine(machine, progress, should_stop, meters)
    names = stats.thread_names(machine.state.stall_cycles.shape[0])
    return stats.derive_trace(trace, gpu, machine, wall_s), _observed(machine, meters, names, None)


def _gauges(timeline_sm: int | None) -> gauges.Gauges | None:
    return None if timeline_sm is None else gauges.make_gauges(timeline_sm)


def _observed(machine: Machine, meters: gauges.Gauges | None, names: list[str], places: Columns | None) -> Observed:
    seen = machine.observer.header[0]
    return Observed(
        spans=machine.observer.spans[: int(seen["count"])].copy(),
        spans_dropped=int(seen["dropped"]),
        ctas=cta_table.columns(machine, names, places),
        occupancy=occupancy.columns(meters, machine),
    )


def run_machine(
    machine: Machine,
    progress: Callable[[float], None] | None,
    should_stop: Callable[[], bool] | None,
    meters: gauges.Gauges | None = None,
    chunk_events: int | None = None,
) -> float:
    """Run a machine from cycle 0 to its end, reporting each `chunk_events`; seconds that it took."""
    loop.begin(machine)
    loop.advance(machine, 0)  # compiles, or loads the compiled loop, before the clock starts
    if meters is not None:
        loop.advance_observed(machine, meters, 0)
    started = time.perf_counter()
    _finish(machine, progress, should_stop, meters, chunk_events or CHUNK_EVENTS)
    return time.perf_counter() - started


def _notes(experiment: Experiment, spans_dropped: int) -> tuple[str, ...]:
    found = [coverage.standing(experiment)]
    if spans_dropped:
        found.append(f"timeline cut: {spans_dropped:,} later spans not kept")
    return tuple(found)


def _finish(
    machine: Machine,
    progress: Callable[[float], None] | None,
    should_stop: Callable[[], bool] | None,
    meters: gauges.Gauges | None,
    chunk_events: int,
) -> None:
    total = len(machine.grid.ctas)
    status = loop.RUNNING
    while status == loop.RUNNING:
        if meters is None:
            status = loop.advance(machine, chunk_events)
        else:
            status = loop.advance_observed(machine, meters, chunk_events)
        if progress is not None:
            progress(int(machine.grid.config[0]["retired"]) / total)
        if status == loop.RUNNING and should_stop is not None and should_stop():
            raise Cancelled
    if status == loop.DEADLOCKED:
        raise SimulationError(deadlock.report(machine))
    if status == loop.EXHAUSTED:
        raise SimulationError("the event queue overflowed; this is a bug in the simulator")
