"""Run one experiment on the cycle simulator: progress, cancel, and a Result with the mechanism's counts."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from presets.experiment import Experiment
from presets.record import Result
from presets.specs import GpuSpec
from simfa import deadlock, launch, stats, trace_launch
from simfa.engine import loop
from simfa.engine.machine import Machine
from simfa.trace.model import Trace

NAME = "sim-fa"
CHUNK_EVENTS = 1_000_000


class Cancelled(Exception):
    """The run was stopped by its caller."""


class SimulationError(RuntimeError):
    """The simulated kernel cannot go on: a deadlock, or a queue that overflowed (a bug)."""


@dataclass(frozen=True)
class Simulation:
    """A finished run: the Result, and the spans of the observed SM (empty if none was asked for)."""

    result: Result
    spans: np.ndarray
    timeline_sm: int | None


def run(
    experiment: Experiment,
    seed: int = 0,
    timeline_sm: int | None = None,
    progress: Callable[[float], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> Simulation:
    """Simulate one layer's attention forward pass on the whole GPU, from a cold L2.

    `seed` deals SM pairs out to L2 partitions; equal seeds give identical runs. `progress` gets the share of
    CTAs retired, several times a second; when `should_stop` answers True the run raises Cancelled. Raises
    NotModelled where the simulator cannot answer, SimulationError on a deadlock.
    """
    observed = -1 if timeline_sm is None else timeline_sm
    machine = launch.build(experiment, seed, observed)
    wall_s = _run(machine, progress, should_stop)
    seen = machine.observer.header[0]
    return Simulation(
        result=Result(NAME, **stats.derive(experiment, machine, wall_s), notes=_notes(int(seen["dropped"]))),
        spans=machine.observer.spans[: int(seen["count"])].copy(),
        timeline_sm=timeline_sm,
    )


def run_trace(
    trace: Trace,
    gpu: GpuSpec,
    seed: int = 0,
    timeline_sm: int | None = None,
    progress: Callable[[float], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> tuple[dict[str, Any], np.ndarray]:
    """Simulate a trace; its record and the observed SM's spans. Otherwise as `run`."""
    machine = trace_launch.build(trace, gpu, seed, -1 if timeline_sm is None else timeline_sm)
    wall_s = _run(machine, progress, should_stop)
    spans = machine.observer.spans[: int(machine.observer.header[0]["count"])].copy()
    return stats.derive_trace(trace, gpu, machine, wall_s), spans


def _run(
    machine: Machine, progress: Callable[[float], None] | None, should_stop: Callable[[], bool] | None
) -> float:
    """Run a machine from cycle 0 to its end; seconds that it took."""
    loop.begin(machine)
    loop.advance(machine, 0)  # compiles, or loads the compiled loop, before the clock starts
    started = time.perf_counter()
    _finish(machine, progress, should_stop)
    return time.perf_counter() - started


def _notes(spans_dropped: int) -> tuple[str, ...]:
    found = [
        "paper parameter set: bytes and structure are tested, latency is not yet validated against measurements"
    ]
    if spans_dropped:
        found.append(f"timeline cut: {spans_dropped:,} later spans not kept")
    return tuple(found)


def _finish(
    machine: Machine, progress: Callable[[float], None] | None, should_stop: Callable[[], bool] | None
) -> None:
    total = len(machine.grid.ctas)
    status = loop.RUNNING
    while status == loop.RUNNING:
        status = loop.advance(machine, CHUNK_EVENTS)
        if progress is not None:
            progress(int(machine.grid.config[0]["retired"]) / total)
        if status == loop.RUNNING and should_stop is not None and should_stop():
            raise Cancelled
    if status == loop.DEADLOCKED:
        raise SimulationError(deadlock.report(machine))
    if status == loop.EXHAUSTED:
        raise SimulationError("the event queue overflowed; this is a bug in the simulator")
