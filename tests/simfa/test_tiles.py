"""The order of a grid's CTAs and the direction in which they read K/V."""

import numpy as np
import pytest

from simfa import launch, simulate, tiles
from tests.simfa.experiments import experiment

GB10 = "--llm llama3-8b --gpu gb10 --kernel cutile-fa-64x64"


def test_the_heads_of_a_batch_pass_before_the_next_query_tile() -> None:
    batch, head, index = tiles.in_grid_order(experiment(f"{GB10} --seq 128 --batch 2"))
    assert (index == np.repeat([0, 1], 64)).all()
    assert (batch == np.tile(np.repeat([0, 1], 32), 2)).all()
    assert (head == np.tile(np.arange(32), 4)).all()


def test_both_orders_hold_the_same_tiles() -> None:
    orders = [
        tiles.in_grid_order(experiment(f"{GB10} --seq 300 --batch 2 --set pipeline.grid_order={order}"))
        for order in ("block_fastest", "head_fastest")
    ]
    assert len({frozenset(zip(*map(np.ndarray.tolist, order), strict=True)) for order in orders}) == 1


def test_a_cluster_stays_together_when_heads_are_fastest() -> None:
    _, head, index = tiles.in_grid_order(
        experiment("--llm llama3-8b --seq 512 --set pipeline.grid_order=head_fastest")
    )
    assert index[:4].tolist() == [0, 1, 0, 1]
    assert head[:4].tolist() == [0, 0, 1, 1]


def test_a_sawtooth_turns_with_every_wave() -> None:
    case = experiment(f"{GB10} --seq 512 --set pipeline.kv_traversal=sawtooth")
    turned = tiles.backward(case)
    assert not turned[:48].any() and turned[48:96].all() and not turned[96:144].any()
    assert not tiles.backward(experiment(f"{GB10} --seq 512")).any()


def test_a_wave_on_its_way_back_loads_the_last_tile_first() -> None:
    case = experiment(f"{GB10} --seq 512 --set pipeline.kv_traversal=sawtooth")
    kernel = launch.one_tile(case, tiles.plan(case))
    first, second = (kernel.programs[kernel.grid.ctas["program"][cta]][0].rows for cta in (0, 48))
    loads = [[row["gmem"][2] for row in rows if row.get("map") == 1 and "gmem" in row] for rows in (first, second)]
    assert loads[0] == list(range(0, 512, 64)) and loads[1] == loads[0][::-1]


@pytest.mark.parametrize("mask", ["", "--causal"])
def test_neither_switch_changes_what_is_read(mask: str) -> None:
    plain = simulate.run(experiment(f"{GB10} --seq 700 {mask}")).result
    for switch in ("grid_order=block_fastest", "kv_traversal=sawtooth"):
        other = simulate.run(experiment(f"{GB10} --seq 700 {mask} --set pipeline.{switch}")).result
        assert other.l2_bytes == plain.l2_bytes and other.flops == plain.flops
