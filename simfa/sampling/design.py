"""How a launch is sampled: how many units, waves of each, and K/V steps, for a number of line requests."""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil

import numpy as np

from presets.experiment import Experiment
from simfa import tiles
from simfa.sampling import kept, shorten
from simfa.sampling.filling import kv_fill
from simfa.sampling.shorten import Capacity
from simfa.tiles import Plan

LINES = 60_000_000  # line requests of all runs together, some 6 s on one core
WAVES = 4  # of each unit, at least; what the last one adds is what a wave left out would have added
WHOLE_WAVES = 6  # a unit of at most so many stays whole: where K/V does not quite fit, each wave reads more of it
FEWEST_UNITS, FEWEST_WAVES = 3, 8  # altogether: the first unit is not like the others
WANTED_STEPS, FEWEST_STEPS = 24, 12  # of the longest run; where there are many units, some give way to the first
WORTH = 0.8  # of the whole launch's steps: a sample that needs more is not worth its error
HALVINGS = 3  # runs with K/V steps n, n/2 and n/4
MOST_RAISED_STEPS = 16  # of the shortest run, raised so that its L2 keeps `LEAST_TILES`
RAISED = 1.1  # by more than this factor an L2 that was not shortened as much as K/V counts as larger
WAYS_MATTER = 0.02  # so much of a difference in ways counts like as much capacity
SMALL, LARGE = 0.1, 2.0  # K/V of live heads over the L2: between these it matters how sets fill
CANDIDATES = 20  # L2 slices of a run that are looked at
LEAST_TILES = 4  # K and V tiles of every live head that a shortened L2 must hold: those in flight


@dataclass(frozen=True)
class Design:
    """Numbers of the CTAs kept with the most and with fewer waves, and K/V steps of the runs, rising.

    `capacities` are the L2 slices for each of `steps`; `l2_is_larger` where they are more than these ask for.
    """

    kept: np.ndarray
    fewer: np.ndarray
    units: int
    steps: tuple[int, ...]
    capacities: tuple[Capacity, ...]
    l2_is_larger: bool = False

    @property
    def whole_loop(self) -> bool:
        """All K/V steps are simulated; only CTAs are left out."""
        return len(self.steps) == 1


def design(experiment: Experiment, plan: Plan, lines: int = LINES) -> Design | None:
    """How to sample a launch with about so many line requests; None if the whole launch needs not many more."""
    whole, step_lines = shorten.steps_of(experiment), _lines_of_a_step(experiment, plan)
    if step_lines * whole * len(plan.steps) <= lines:
        return None
    found = kept.units(experiment, plan)
    size = found.sizes[0] / kept.wave_ctas(experiment)
    fewest = min(max(FEWEST_UNITS, ceil(FEWEST_WAVES / min(size, WAVES))), found.alike)
    most, fewer = (kept.ctas_of_unit(experiment, plan, found, waves) for waves in _waves(experiment, found, fewest))
    again = fewer if most < found.sizes[0] else 0
    count = min(int(lines / (step_lines * whole * (most + again))), found.alike)
    if count >= fewest:
        chosen = _with(experiment, plan, found, count, _steps(experiment, plan, whole))
        if chosen is not None:
            return chosen
    per_step = step_lines * (most * (1 + 1 / 2 + 1 / 4) + again / 2)  # of the longest run, a unit
    least = 2 ** (HALVINGS - 1) * _least_steps(experiment, plan)
    count = min(max(int(lines / per_step / max(WANTED_STEPS, least)), fewest), found.alike)
    longest = max(int(lines / per_step / count), FEWEST_STEPS, least)
    return _with(experiment, plan, found, count, _steps(experiment, plan, longest))


def _waves(experiment: Experiment, found: kept.Units, count: int) -> tuple[int, int]:
    """Waves kept of each of so many units, and in the run that has one less; the same if units stay whole."""
    size = ceil(found.sizes[0] / kept.wave_ctas(experiment))
    if size <= WHOLE_WAVES:
        return size + 1, size + 1
    most = max(WAVES, ceil(FEWEST_WAVES / count))
    return most, most - 1


def _kept(experiment: Experiment, plan: Plan, found: kept.Units, count: int) -> tuple[np.ndarray, np.ndarray]:
    """CTAs kept of so many units, and those of the run with a wave less; the same where units are whole.

    Query tiles are thinned out evenly, so that it can take more than one wave to make a difference.
    """
    waves, less = _waves(experiment, found, count)
    most = kept.choose(experiment, plan, found, waves, count)
    if less == waves or len(most) == found.sizes[np.unique(found.number[most])].sum():
        return most, most
    for fewer in range(less, 0, -1):
        chosen = kept.choose(experiment, plan, found, fewer, count)
        if len(chosen) < len(most):
            return most, chosen
    return most, most


def _steps(experiment: Experiment, plan: Plan, longest: int) -> tuple[tuple[int, ...], tuple[Capacity, ...], bool]:
    """K/V steps of the runs, a quarter (at least `_least_steps`), a half and all of `longest`; or all there are.

    With each the L2 slice, and whether it is larger than the steps ask for. Of steps down to a fifth less and ways
    about the GPU's own, those are taken whose sets K and V fill most like those of the whole launch.
    """
    whole, least = shorten.steps_of(experiment), _least_steps(experiment, plan)
    everything = ((whole,), (shorten.whole_capacity(experiment),), False)
    if longest >= whole:
        return everything
    halved = [max(longest // 2**n, 2, least) for n in reversed(range(HALVINGS))]
    raised = max(_least_lines(experiment, plan) / _lines(experiment, plan, halved[0]), 1.0)
    unlike = _unlike(experiment, plan)
    found = []
    for most in halved:
        sizes = range(max(most - most // 5, least), most + 1)
        pairs = [
            (n, slice_)
            for n in sizes
            for slice_ in shorten.capacities_of(experiment, _lines(experiment, plan, n) * raised)
        ]
        pairs.sort(key=lambda pair: _off(experiment, plan, *pair))
        found.append(min(pairs[:CANDIDATES], key=lambda pair: unlike(*pair)))
    steps, capacities = zip(*found, strict=True)
    return everything if steps[-1] >= whole else (steps, capacities, raised > RAISED)


def _off(experiment: Experiment, plan: Plan, steps: int, capacity: Capacity) -> float:
    """How far an L2 slice is from what so many steps ask for, as a share of it."""
    ways = shorten.whole_capacity(experiment).ways
    exact = _lines(experiment, plan, steps)
    return abs(capacity.lines / exact - 1) + WAYS_MATTER * abs(capacity.ways / ways - 1)


def _unlike(experiment: Experiment, plan: Plan) -> Callable[[int, Capacity], float]:
    """By how much the L2 of a short run fills otherwise than the whole launch's, as a share of its capacity."""
    heads = shorten.live_heads(experiment, plan, kept.wave_ctas(experiment))
    whole = shorten.steps_of(experiment)
    share = heads * whole * shorten.tile_bytes(experiment) / experiment.gpu.l2.bytes
    if not SMALL < share < LARGE:
        return lambda steps, capacity: _off(experiment, plan, steps, capacity)
    like = kv_fill(experiment, heads, whole, shorten.whole_capacity(experiment))

    def unlike(steps: int, capacity: Capacity) -> float:
        fill = kv_fill(experiment, heads, steps, capacity)
        return _off(experiment, plan, steps, capacity) + float(np.abs(fill - like).mean())

    return unlike


def _lines(experiment: Experiment, plan: Plan, steps: int) -> float:
    """Lines of an L2 slice that go with so many steps: as much of what is moved as in the whole launch."""
    wave = kept.wave_ctas(experiment)
    return shorten.whole_capacity(experiment).lines * shorten.moved_share(experiment, plan, wave, steps)


def _lines_of_a_step(experiment: Experiment, plan: Plan) -> float:
    """Lines that a CTA asks for in one of all K/V steps, on average over CTAs; half where a cluster shares them."""
    lines = shorten.tile_bytes(experiment) / experiment.gpu.l2.line_bytes
    shared = tiles.cluster_ctas(experiment) if experiment.kernel.pipeline.multicast else 1
    return max(lines / shared * float(plan.steps.mean()) / shorten.steps_of(experiment), 1.0)


def _least_lines(experiment: Experiment, plan: Plan) -> int:
    """Lines of an L2 slice that hold what is in flight of all live heads."""
    cache = experiment.gpu.l2
    heads = shorten.live_heads(experiment, plan, kept.wave_ctas(experiment))
    lines = LEAST_TILES * heads * shorten.tile_bytes(experiment) / cache.line_bytes
    return min(ceil(lines / cache.slices), shorten.whole_capacity(experiment).lines)


def _least_steps(experiment: Experiment, plan: Plan) -> int:
    share = _least_lines(experiment, plan) / shorten.whole_capacity(experiment).lines
    return min(ceil(shorten.steps_of(experiment) * share), MOST_RAISED_STEPS)


def _with(
    experiment: Experiment,
    plan: Plan,
    found: kept.Units,
    count: int,
    sized: tuple[tuple[int, ...], tuple[Capacity, ...], bool],
) -> Design | None:
    """The design of so many units and steps; None where the runs together would be as long as the whole launch."""
    steps, capacities, larger = sized
    whole = shorten.steps_of(experiment)
    most, fewer = _kept(experiment, plan, found, count)
    again = len(fewer) if len(fewer) < len(most) else 0
    if len(most) * sum(steps) + again * steps[-2:][0] >= WORTH * whole * len(plan.steps):
        return None
    return Design(most, fewer, count, steps, capacities, larger)
