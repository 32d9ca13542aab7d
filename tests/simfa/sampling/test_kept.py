"""What a sample keeps: whole heads, of each all but whole waves, in the launch's own order."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from simfa import tiles
from simfa.sampling import kept
from tests.simfa.experiments import experiment

SMALL = "--head-dim 128 --set sm.count=4"


def chosen(options: str, waves: int, count: int) -> tuple[np.ndarray, kept.Units, tiles.Plan]:
    case = experiment(options)
    plan = tiles.plan(case)
    found = kept.units(case, plan)
    return kept.choose(case, plan, found, waves, count), found, plan


def test_a_unit_is_a_kv_head_with_its_query_heads() -> None:
    _, found, _ = chosen(f"{SMALL} --heads-q 8 --heads-kv 2 --seq 1024", 3, 2)
    assert found.sizes.tolist() == [4 * 8, 4 * 8]
    assert found.place[:3].tolist() == [0, 1, 2] and found.place[32] == 0


def test_with_heads_fastest_all_of_the_launch_is_one_unit() -> None:
    _, found, _ = chosen("--heads-q 8 --head-dim 128 --gpu gb10 --kernel cutile-fa-64x64 --seq 1024", 3, 1)
    assert found.sizes.tolist() == [8 * 16]


def test_the_dynamic_schedules_unit_is_a_section() -> None:
    options = "--heads-q 8 --heads-kv 4 --head-dim 128 --params calibrated --causal --seq 32768"
    _, found, _ = chosen(options, 3, 2)
    assert found.sizes.tolist() == [2 * 2 * 256] * 2  # two KV heads of 16 MiB fit 32 MiB


@settings(deadline=None)
@given(
    heads=st.integers(1, 6),
    group=st.integers(1, 3),
    seq=st.integers(1, 40),
    waves=st.integers(1, 4),
    data=st.data(),
)
def test_only_whole_waves_are_left_out(heads: int, group: int, seq: int, waves: int, data: st.DataObject) -> None:
    options = f"{SMALL} --heads-q {heads * group} --heads-kv {heads} --seq {seq * 128}"
    count = data.draw(st.integers(1, heads))
    found, units, plan = chosen(options, waves, count)
    sizes = np.bincount(units.number[found], minlength=heads)
    wave = kept.wave_ctas(experiment(options))
    assert (np.diff(found) > 0).all()
    assert (sizes[count:] == 0).all() and (sizes[:count] > 0).all()
    assert ((units.sizes - sizes)[: count - 1] % wave == 0).all()
    if sizes.max() > wave:
        assert (len(plan.steps) - len(found)) % wave == 0


def test_with_enough_waves_nothing_is_left_out() -> None:
    found, _, plan = chosen(f"{SMALL} --heads-q 8 --heads-kv 2 --seq 1024", 100, 2)
    assert found.tolist() == list(range(len(plan.steps)))


def test_under_a_mask_query_tiles_are_thinned_evenly_and_clusters_stay_whole() -> None:
    found, _, plan = chosen(f"{SMALL} --heads-q 2 --heads-kv 1 --seq 16384 --causal", 3, 1)
    index = plan.order[2][found]
    assert len(found) < len(plan.steps)
    assert set(index) == {tile ^ 1 for tile in index}
    assert index.max() == 127
    assert np.ptp(np.diff(np.unique(index // 2))) <= 1
