"""How a launch is sampled: how many units, waves of each, and K/V steps, for a number of line requests."""

from dataclasses import dataclass
from math import ceil

import numpy as np

from presets.experiment import Experiment
from simfa import coverage, tiles
from simfa.sampling import kept, shorten
from simfa.tiles import Plan

LINES = 60_000_000  # line requests of all runs together, some 6 s on one core
WAVES = (3, 2)  # of each unit; what the last one adds is what a wave left out would have added
FEWEST_UNITS, FEWEST_WAVES = 4, 8  # altogether: the first unit is not like the others
WANTED_STEPS, FEWEST_STEPS = (
    16,
    12,
)  # of the longest run; units are left out to have the first, where there are many
WORTH = 0.8  # of the whole launch's steps: a sample that needs more is not worth its error
HALVINGS = 3  # runs with K/V steps n, n/2 and n/4
MOST_RAISED_STEPS = 16  # of the shortest run, raised so that its L2 keeps `LEAST_TILES`
RAISED = 1.1  # by more than this factor an L2 that was not shortened as much as K/V counts as larger
LEAST_TILES = 4  # K and V tiles of every live head that a shortened L2 must hold: those in flight


@dataclass(frozen=True)
class Design:
    """Numbers of the CTAs kept with the most and with fewer waves, and K/V steps of the runs, rising.

    `sets` are those of an L2 slice for each of `steps`; `l2_is_larger` where they are more than the steps ask for.
    """

    kept: np.ndarray
    fewer: np.ndarray
    units: int
    steps: tuple[int, ...]
    sets: tuple[int, ...]
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
    most, fewer = (kept.ctas_of_unit(experiment, plan, found, waves) for waves in WAVES)
    fewest = min(max(FEWEST_UNITS, ceil(FEWEST_WAVES * kept.wave_ctas(experiment) / most)), found.alike)
    again = fewer if most < found.sizes[0] else 0
    count = min(int(lines / (step_lines * whole * (most + again))), found.alike)
    if count >= fewest:
        chosen = _with(experiment, plan, found, count, (whole,))
        if chosen is not None:
            return chosen
    per_step = step_lines * (most * (1 + 1 / 2 + 1 / 4) + again * (1 + 1 / 2))  # of the longest run, a unit
    least = 2 ** (HALVINGS - 1) * _least_steps(experiment, plan)
    count = min(max(int(lines / per_step / max(WANTED_STEPS, least)), fewest), found.alike)
    longest = max(int(lines / per_step / count), FEWEST_STEPS, least)
    return _with(experiment, plan, found, count, _steps(experiment, longest, _least_steps(experiment, plan)))


def _steps(experiment: Experiment, longest: int, least: int) -> tuple[int, ...]:
    """K/V steps of the runs, a quarter (at `least` so many), a half and all of `longest`; or all there are.

    Of steps down to a fifth less, those are taken whose L2 comes nearest to a whole number of sets.
    """
    whole, sets = shorten.steps_of(experiment), shorten.l2_sets(experiment)
    if longest >= whole:
        return (whole,)

    def off(steps: int) -> float:
        exact = sets * shorten.kv_share(experiment, steps)
        return abs(max(round(exact), 1) / exact - 1)

    halved = [max(longest // 2**n, 2, least) for n in reversed(range(HALVINGS))]
    found = [min(range(max(most - most // 5, least), most + 1), key=off) for most in halved]
    return (whole,) if found[-1] >= whole else tuple(found)


def _lines_of_a_step(experiment: Experiment, plan: Plan) -> float:
    """Lines that a CTA asks for in one of all K/V steps, on average over CTAs; half where a cluster shares them."""
    lines = shorten.tile_bytes(experiment) / experiment.gpu.l2.line_bytes
    shared = tiles.cluster_ctas(experiment) if experiment.kernel.pipeline.multicast else 1
    return max(lines / shared * float(plan.steps.mean()) / shorten.steps_of(experiment), 1.0)


def _least_sets(experiment: Experiment, plan: Plan) -> int:
    """Sets of an L2 slice that hold what is in flight of all live heads."""
    timing, cache = coverage.check(experiment).timing, experiment.gpu.l2
    heads = shorten.live_heads(experiment, plan, kept.wave_ctas(experiment))
    lines = LEAST_TILES * heads * shorten.tile_bytes(experiment) / cache.line_bytes
    return min(ceil(lines / (cache.slices * timing.ways)), shorten.l2_sets(experiment))


def _least_steps(experiment: Experiment, plan: Plan) -> int:
    share = _least_sets(experiment, plan) / shorten.l2_sets(experiment)
    return min(ceil(shorten.steps_of(experiment) * share), MOST_RAISED_STEPS)


def _with(
    experiment: Experiment, plan: Plan, found: kept.Units, count: int, steps: tuple[int, ...]
) -> Design | None:
    """The design of so many units and steps; None where the runs together would be as long as the whole launch."""
    whole, sets = shorten.steps_of(experiment), shorten.l2_sets(experiment)
    most, fewer = (kept.choose(experiment, plan, found, waves, count) for waves in WAVES)
    if len(most) == found.sizes[np.unique(found.number[most])].sum():
        fewer = most  # nothing is left out of a unit that a further wave could stand for
    again = len(fewer) if len(fewer) < len(most) else 0
    if len(most) * sum(steps) + again * sum(steps[-2:]) >= WORTH * whole * len(plan.steps):
        return None
    shares = [shorten.kv_share(experiment, n) for n in steps]
    raised = max(_least_sets(experiment, plan) / (sets * shares[0]), 1.0)
    own = tuple(min(max(round(sets * share * raised), 1), sets) for share in shares)
    return Design(most, fewer, count, steps, own, raised > RAISED)
