"""A launch with fewer K/V steps: its Q and O stay as close together, and its L2 fills like the whole one's."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from presets.experiment import Experiment
from simfa import launch, tiles
from simfa.memory import hashing
from simfa.sampling import design, kept, shorten
from simfa.sampling.filling import kv_fill
from simfa.sampling.shorten import Capacity
from simfa.trace import fa3
from simfa.trace.tensor_map import TensorMap
from tests.simfa.experiments import experiment

LONG = "--heads-q 4 --heads-kv 2 --head-dim 128 --seq 49152"


def loaded(tensor: TensorMap, head: int, first_row: int) -> list[int]:
    """Addresses of the rows that one box of Q or O moves, from its first row's coordinate."""
    by_row = tensor.strides_bytes[-1]
    return [tensor.address((0, head, first_row, 0, 0)) + row * by_row for row in range(tensor.box[-1])]


def short(case: Experiment, steps: int) -> shorten.Short:
    return shorten.short(case, tiles.plan(case), steps, Capacity(16, 16))


@pytest.mark.parametrize("tensor", [fa3.MAP_Q, fa3.MAP_O])
def test_rows_kept_of_neighbouring_tiles_lie_as_close_as_in_the_whole_launch(tensor: int) -> None:
    case = experiment(LONG)
    found = short(case, 28).maps[tensor]
    tile = launch.tensor_maps(case)[tensor].box[2]
    rows = [row for index in range(8) for row in loaded(found, 1, index * tile)]
    assert set(np.diff(rows)) == {4 * 256}  # four heads of 256 B between rows of one
    assert len(rows) == 8 * found.box[-1] and rows[0] == found.base + 256


def test_all_steps_are_the_launch_itself() -> None:
    case = experiment(LONG)
    assert shorten.short(case, tiles.plan(case), 280, Capacity(320, 16)).maps == launch.tensor_maps(case)


@settings(deadline=None)
@given(st.integers(2, 279))
def test_what_a_wave_moves_shrinks_with_the_steps(steps: int) -> None:
    case = experiment(LONG)
    plan = tiles.plan(case)
    found = shorten.moved_share(case, plan, kept.wave_ctas(case), steps)
    assert found == pytest.approx(steps / 280, rel=0.15, abs=0.006)  # a row of 64 at least


@settings(deadline=None)
@given(lines=st.floats(20, 5000))
def test_some_sets_and_ways_come_near_any_capacity(lines: float) -> None:
    found = shorten.capacities_of(experiment(LONG), lines)
    assert min(abs(one.lines / lines - 1) for one in found) < 0.1
    assert all(12 <= one.ways <= 20 for one in found)


def test_no_short_l2_is_larger_than_the_gpus() -> None:
    assert shorten.capacities_of(experiment(LONG), 1e6)[0] == shorten.whole_capacity(experiment(LONG))


@settings(deadline=None, max_examples=20)
@given(sets=st.integers(1, 40), ways=st.integers(8, 20), heads=st.integers(1, 2))
@pytest.mark.parametrize("gpu", ["h800", "gb10"])
def test_fill_is_that_of_the_engines_own_hash(gpu: str, sets: int, ways: int, heads: int) -> None:
    case = experiment(f"--heads-q 4 --heads-kv 2 --head-dim 128 --seq 1024 --gpu {gpu}")
    timing, slices = case.gpu.l2_timing, case.gpu.l2.slices
    assert timing is not None
    plain = {name: getattr(kernel, "py_func", kernel) for name, kernel in vars(hashing).items() if callable(kernel)}
    chosen = plain["scattered_set" if timing.set_hash == "scattered" else "set_of"]
    counts = np.zeros(slices * sets)
    for tensor in (fa3.MAP_K, fa3.MAP_V):
        base = launch.tensor_maps(case)[tensor].base
        for row in range(shorten.kv_rows(case, 3)):
            for head in range(heads):
                for half in range(2):
                    folded = plain["fold"]((base + row * 512 + head * 256) // 128 + half, hashing.XOR)
                    counts[folded % slices * sets + chosen(folded, slices, sets)] += 1
    expected = np.quantile(counts, (np.arange(64) + 0.5) / 64) / ways
    assert kv_fill(case, heads, 3, Capacity(sets, ways)) == pytest.approx(expected)


def test_of_slices_that_are_large_enough_the_one_that_fills_alike_is_chosen() -> None:
    case = experiment(LONG)
    plan = tiles.plan(case)
    steps, capacities, larger = design._steps(case, plan, 28)
    unlike = design._unlike(case, plan)
    assert not larger and len(steps) == design.HALVINGS
    for own, capacity in zip(steps, capacities, strict=True):
        plainly = Capacity(max(round(design._lines(case, plan, own) / 16), 1), 16)
        assert unlike(own, capacity) <= unlike(own, plainly)
    assert unlike(280, shorten.whole_capacity(case)) == 0
