"""From samples to the whole launch: straight lines along K/V steps, then the waves and units left out; with errors.

Everything additive is taken along K/V steps first: at fixed CTAs, time and traffic grow by the same amount with
each further step (`Line`). A wave left out adds what a settled CTA takes, times its CTAs; a unit left out adds
what the units after the first take. The time of a launch is that of all CTAs together over the slots that work
side by side, and what slots idle at the end.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from simfa.sampling.groups import Groups
from simfa.sampling.measure import Sample

ROUNDING = 1e-3  # relative error below which none is claimed: L2 sets and boxes of a short run are whole numbers
# The following were chosen on half of the launches that samples are held against (unseen_runs.csv, `look`).
END_DIFFERS = 0.35  # of a CTA's time: by so much slots may idle otherwise at the end where CTAs were left out
DIRTY_GROWS = 0.25  # of what O in the L2 would still gain if each wave left out added as much
DIRTY_DIFFERS = 0.07  # of what the L2 holds of O
WAVES_TAKE = 0.005  # of its time: how much a wave left out may differ from the last one kept
TIME_FOLLOWS = 0.25  # of time, for re-reads that are off by all that each wave could read again
UNITS_TAKE = 0.025  # of its time: how much later units may differ from the few simulated
UNITS_DIFFER = 0.01  # of the K/V a unit reads: each meets the waves at another place
READ_AGAIN = 0.05  # of a pass over K/V: below it, re-reads of a sample are as much its cold start as the launch's
SETS_DIFFER = 0.04  # of K/V read: sets of a short L2 overflow otherwise, where they do
NEARLY_FULL = 1 / 3  # of the L2: from what one wave moves on, sets overflow
POINTS = 200  # at which the course of a run is looked up
ENDED, CYCLE, KV_READ = range(3)  # columns of a course


@dataclass(frozen=True)
class Value:
    """A number and how far it may be off, in its own unit; 0 where nothing was left out."""

    value: float
    error: float

    @property
    def error_pct(self) -> float:
        """The error in per cent of the number."""
        return 100 * self.error / abs(self.value) if self.value else 0.0

    def __add__(self, other: "Value") -> "Value":
        """Sums of numbers whose errors have different causes."""
        return Value(self.value + other.value, sqrt(self.error**2 + other.error**2))

    def times(self, factor: float) -> "Value":
        """So many of them, all off by the same."""
        return Value(self.value * factor, self.error * abs(factor))


@dataclass(frozen=True)
class Reads:
    """K and V in one pass, altogether and of a head, and what a wave moves (`shorten.moved_bytes`) over the L2."""

    least_bytes: float
    head_bytes: float
    moved_share: float


def line(samples: Sequence[Sample], of: Callable[[Sample], float], steps: float) -> Value:
    """Extrapolated to `steps`: a straight line through the two longest samples, or in proportion to the longest.

    A line is right where each step adds as much as the one before; near the L2's capacity it enlarges small
    differences between runs, and the proportion is safer. The way on which the third run agrees better is taken; by
    how much it disagrees is the error. A run of all steps stands for itself.
    """
    if len(samples) == 1:
        return Value(of(samples[0]), 0.0)
    if len(samples) == 2:
        return Value(_through(samples, of, steps), 0.0)
    ways = [(_through(samples[-2:], of, steps), _through(samples[-3:-1], of, steps))]
    ways.append((_in_proportion(samples[-1], of, steps), _in_proportion(samples[-2], of, steps)))
    found, before = min(ways, key=lambda way: abs(way[0] - way[1]))
    return Value(found, abs(found - before) + ROUNDING * abs(found))


def _in_proportion(sample: Sample, of: Callable[[Sample], float], steps: float) -> float:
    return of(sample) * steps / sample.steps


def _through(two: Sequence[Sample], of: Callable[[Sample], float], steps: float) -> float:
    low, high = two
    low_y, high_y = of(low), of(high)
    return low_y + (high_y - low_y) / (high.steps - low.steps) * (steps - low.steps)


def cycles(samples: Sequence[Sample], groups: Groups) -> Value:
    """Cycles of the whole launch."""
    found = line(samples, _cycles, groups.mean_steps)
    if not groups.left_out and not groups.units_left_out:
        return found
    one = _settled(samples, groups)
    found += one.times(groups.left_out / groups.slots)
    if groups.units_left_out:
        found += _unit(samples, groups, one).times(groups.units_left_out / groups.slots)
    return found + Value(0.0, one.value * END_DIFFERS)


def _settled(samples: Sequence[Sample], groups: Groups) -> Value:
    """Cycles of a CTA that was left out, from those like it."""
    found = _taking(samples, _mean_of(groups.settled), groups.mean_steps_left_out / groups.settled_share)
    found += Value(0.0, WAVES_TAKE * found.value)
    if not groups.before.any():
        return found
    earlier = _taking(samples, _mean_of(groups.before), groups.mean_steps_left_out / groups.settled_share)
    return found + Value(0.0, abs(found.value - earlier.value) / 2)


def _taking(samples: Sequence[Sample], of: Callable[[Sample], float], steps: float) -> Value:
    """As `line`; a run of all K/V steps, whose CTAs need not have as many, in proportion to them."""
    found = line(samples, of, steps)
    return found.times(steps / samples[0].steps) if len(samples) == 1 else found


def _mean_of(mask: np.ndarray) -> Callable[[Sample], float]:
    return lambda sample: float(sample.busy_cycles[mask].mean())


def _sum_of(mask: np.ndarray) -> Callable[[Sample], float]:
    return lambda sample: float(sample.busy_cycles[mask].sum())


def _unit(samples: Sequence[Sample], groups: Groups, one: Value) -> Value:
    """Cycles of all CTAs of a unit like those left out."""
    each = [line(samples, _sum_of(groups.unit == number), groups.mean_steps) for number in groups.like_left_out]
    values = np.array([value.value for value in each])
    spread = float(values.std(ddof=1)) / sqrt(len(values)) if len(values) > 1 else 0.0
    mean = Value(float(values.mean()), float(np.mean([value.error for value in each])))
    return mean + Value(0.0, max(spread, UNITS_TAKE * mean.value)) + one.times(groups.left_out_of_unit)


def kv_read_bytes(samples: Sequence[Sample], fewer: Sample | None, groups: Groups, launch: Reads) -> Value:
    """DRAM reads of K and V by the whole launch."""
    kept = line(samples, _kv_read, groups.mean_steps)
    of_a_cta = _kv_of_a_cta(samples, fewer, groups, launch.head_bytes)
    whole = kept + of_a_cta.times(groups.left_out)
    if groups.units_left_out:
        each = _kv_of_a_unit(samples, groups, kept, launch.least_bytes)
        whole += (each + of_a_cta.times(groups.left_out_of_unit)).times(groups.units_left_out)
    if launch.moved_share > NEARLY_FULL and _is_short(samples, groups):
        whole += Value(0.0, SETS_DIFFER * whole.value)
    return Value(max(whole.value, launch.least_bytes), whole.error)


def _kv_of_a_unit(samples: Sequence[Sample], groups: Groups, kept: Value, least_bytes: float) -> Value:
    """What a unit left out reads of K and V, but for its waves left out: as a further unit in the sample's course.

    Where those kept hardly read anything again, as these on average: K and V fit, and it stays at one pass.
    """
    units = len(np.unique(groups.unit))
    mean = kept.times(1 / units)
    again = mean.value * (units + groups.units_left_out) / least_bytes - 1
    trust = min(max(again / READ_AGAIN, 0.0), 1.0)
    further = line(samples, _of_a_further_unit(groups.unit, groups.slots, KV_READ), groups.mean_steps)
    more = trust * (further.value - mean.value)
    found = Value(mean.value + more, trust * further.error + (1 - trust) * mean.error)
    return found + Value(0.0, max(UNITS_DIFFER * trust * found.value, abs(more) / 4))


def _kv_read(sample: Sample) -> float:
    return sample.kv_read_bytes


def _of_a_further_unit(unit: np.ndarray, slots: int, column: int) -> Callable[[Sample], float]:
    """What a unit put in between would add: from a point after the first unit to one as many CTAs on as a unit has.

    The mean over such points of whole waves, so that it does not matter where in a wave units meet. The cold start
    of the launch, and its end, are left out of it.
    """
    size = float(np.bincount(unit)[0])
    room = max(len(unit) - 2 * size - slots, 0.0)
    starts = size + np.linspace(0.0, room // slots * slots or room, POINTS, endpoint=False)

    def of(sample: Sample) -> float:
        ended, found = sample.course[:, 0], sample.course[:, column]
        return float((np.interp(starts + size, ended, found) - np.interp(starts, ended, found)).mean())

    return of


def _kv_of_a_cta(samples: Sequence[Sample], fewer: Sample | None, groups: Groups, pass_bytes: float) -> Value:
    """What each CTA of a further wave reads of K and V: a sample with more waves against one with fewer.

    Nothing, or one pass over K/V by the wave together, are regimes and stay; what lies between may not.
    """
    if fewer is None:
        return Value(0.0, 0.0)
    added = samples[-2:][0].kv_read_bytes - fewer.kv_read_bytes
    found = max(added, 0.0) * groups.mean_steps / fewer.steps / groups.fewer_ctas
    unlike = min(abs(1 - found / (pass_bytes / groups.slots)), 1.0)
    return Value(found, found * unlike / 2)


def dirty_bytes(samples: Sequence[Sample], fewer: Sample | None, groups: Groups, most: float) -> Value:
    """What the L2 holds of O at the end, at `most` so much; waves left out add to it, each less than the last."""
    found = line(samples, _dirty, groups.mean_steps)
    if fewer is not None:
        gained = max(samples[-2:][0].dirty_bytes - fewer.dirty_bytes, 0.0) * groups.mean_steps / fewer.steps
        growing_on = min(found.value + gained * groups.left_out / groups.fewer_ctas, most)
        more = max(gained, (growing_on - found.value) * DIRTY_GROWS)
        found += Value(more, more)
    if _is_short(samples, groups):
        found += Value(0.0, DIRTY_DIFFERS * found.value)
    return Value(min(max(found.value, 0.0), most), found.error)


def _is_short(samples: Sequence[Sample], groups: Groups) -> bool:
    return len(samples) > 1 or bool(groups.left_out or groups.units_left_out)


def _dirty(sample: Sample) -> float:
    return sample.dirty_bytes


def tensor_cycles(samples: Sequence[Sample], groups: Groups) -> float:
    """Cycles in which tensor cores work, over all SMs."""
    return line(samples, _tensor, groups.mean_steps).value * groups.steps / groups.steps_kept


def _cycles(sample: Sample) -> float:
    return sample.cycles


def _tensor(sample: Sample) -> float:
    return sample.tensor_cycles
