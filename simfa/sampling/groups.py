"""What the CTAs of a sample stand for: which are like those left out, and how many were left out of what."""

from dataclasses import dataclass

import numpy as np

from presets.experiment import Experiment
from simfa.sampling.design import Design
from simfa.sampling.kept import units, wave_ctas
from simfa.tiles import Plan


@dataclass(frozen=True)
class Groups:
    """The CTAs kept and those left out. Masks and `unit` are over the CTAs kept, steps are of the whole K/V loop.

    `settled` are like the CTAs left out of a unit, `before` those a wave earlier; `like_left_out` are the units
    kept that are like the units left out.
    """

    unit: np.ndarray
    settled: np.ndarray
    before: np.ndarray
    like_left_out: np.ndarray
    left_out: int  # CTAs left out of all units kept
    left_out_of_unit: float  # of each in `like_left_out`, on average
    units_left_out: int
    slots: int  # CTAs at once
    ctas: int
    ctas_of_units_kept: int
    fewer_ctas: int  # CTAs by which the samples with fewer waves are short
    steps: int  # of all CTAs
    steps_kept: int
    mean_steps: float  # of the CTAs kept
    mean_steps_left_out: float  # of those left out of units kept
    settled_share: float  # mean steps of the settled CTAs over `mean_steps`


def groups(experiment: Experiment, plan: Plan, design: Design) -> Groups:
    """Sort the CTAs of a design."""
    found, wave = units(experiment, plan), wave_ctas(experiment)
    kept, unit = design.kept, found.number[design.kept]
    ids, first, counts = np.unique(unit, return_index=True, return_counts=True)
    place = np.arange(len(kept)) - np.repeat(first, counts)
    of_units = int(found.sizes[ids].sum())
    like = _like_left_out(ids, first, counts, wave, found.alike)
    steps = plan.steps
    settled, before = _settled(place, np.repeat(counts, counts), unit, wave, experiment.workload.causal)
    left_out = np.isin(found.number, ids)
    left_out[kept] = False
    mean_steps = float(steps[kept].mean())
    return Groups(
        unit=unit,
        settled=settled,
        before=before,
        like_left_out=like,
        left_out=int(left_out.sum()),
        left_out_of_unit=float(np.mean([found.sizes[own] - counts[ids == own][0] for own in like])),
        units_left_out=len(found.sizes) - len(ids),
        slots=wave,
        ctas=len(steps),
        ctas_of_units_kept=of_units,
        fewer_ctas=len(kept) - len(design.fewer),
        steps=int(steps.sum()),
        steps_kept=int(steps[kept].sum()),
        mean_steps=mean_steps,
        mean_steps_left_out=float(steps[left_out].mean()) if left_out.any() else mean_steps,
        settled_share=float(steps[kept][settled].mean()) / mean_steps,
    )


def _like_left_out(ids: np.ndarray, first: np.ndarray, counts: np.ndarray, wave: int, alike: int) -> np.ndarray:
    """Units kept that begin after the first wave and are cut as most are; all of them if there is none."""
    usual = np.bincount(counts).argmax()
    chosen = (first >= wave) & (counts == usual) & (ids < alike)
    return np.asarray(ids[chosen] if chosen.any() else ids)


def _settled(
    place: np.ndarray, size: np.ndarray, unit: np.ndarray, wave: int, causal: bool
) -> tuple[np.ndarray, np.ndarray]:
    """CTAs like those left out, and those a wave before: the last wave of each unit, or all after the first.

    The first unit counts only if there is no other: all of its CTAs begin at once.
    """
    later = (unit > unit[0]) if unit[-1] > unit[0] else np.ones(len(unit), bool)
    after_first = later & (place >= wave)
    if causal or not after_first.any():
        found = after_first if after_first.any() else later
        return found, np.zeros(len(unit), bool)
    return later & (place >= np.maximum(size - wave, wave)), after_first & (place < size - wave) & (
        place >= size - 2 * wave
    )
