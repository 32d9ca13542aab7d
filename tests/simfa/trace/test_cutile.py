"""The synchronous program: what waits for what, and how long a tile takes when nothing else limits it."""

import pytest

from simfa import launch, simulate
from simfa.isa import NAME_OF
from simfa.trace import cutile
from tests.simfa.experiments import experiment

GB10 = "--llm llama3-8b --gpu gb10 --kernel cutile-fa-64x64"
ONE_CTA = f"{GB10} --set heads_q=1 --set heads_kv=1 --seq 64"


def names(rows: list[dict[str, int]]) -> list[str]:
    return [NAME_OF[row["opcode"]] for row in rows]


def test_every_product_is_waited_for_before_softmax_and_before_its_stage_is_released() -> None:
    shape = launch.shape_of(experiment(f"{GB10} --seq 256"))
    _, compute = cutile.roles(shape, 2)
    short = [name for name in names(compute.rows) if name != "WGMMA"]
    product = ["MB_WAIT", "WGMMA_COMMIT", "WGMMA_WAIT", "RELEASE_STAGE"]
    step = [*product, "BUBBLES", *product]
    assert short == ["MB_WAIT", *step, *step, "TMA_STORE", "TMA_COMMIT", "TMA_WAIT"]
    assert all(row["count"] == 0 for row in compute.rows if NAME_OF[row["opcode"]] == "WGMMA_WAIT")


def test_without_kv_tiles_only_q_is_loaded_and_o_stored() -> None:
    loader, compute = cutile.roles(launch.shape_of(experiment(f"{GB10} --seq 256")), 0)
    assert names(loader.rows) == ["TMA_TENSOR"]
    assert names(compute.rows) == ["MB_WAIT", "TMA_STORE", "TMA_COMMIT", "TMA_WAIT"]


@pytest.mark.parametrize("kernel", ["cutile-fa", "cutile-fa-64x64"])
def test_a_product_takes_its_flops_over_the_rate(kernel: str) -> None:
    case = experiment(f"--llm llama3-8b --gpu gb10 --kernel {kernel} --seq 256")
    shape, timing = launch.shape_of(case), launch.wgmma_timing(case.gpu)
    _, compute = cutile.roles(shape, 1)
    pieces = [row for row in compute.rows if NAME_OF[row["opcode"]] == "WGMMA"]
    cycles = sum(timing.cycles(row["n"], row["dtype"], row["mode"]) for row in pieces)
    assert cycles == 4 * 64 * case.kernel.tile.kv_rows * 128 / 1024


def test_a_longer_kv_costs_at_least_both_products_and_the_softmax_of_every_tile() -> None:
    # 64 x 64 x 128: 2 x 1024 cycles of tensor core, and 32 + 256 + 32 + 16 + 64 cycles of softmax.
    cycles = {
        rows: simulate.run(experiment(f"{ONE_CTA} --seq-kv {rows}")).result.extra["cycles"] for rows in (1024, 2048)
    }
    per_tile = (cycles[2048] - cycles[1024]) / 16
    assert 2448 <= per_tile < 2448 * 1.5


def test_a_second_cta_on_the_sm_fills_the_tensor_core_while_the_first_is_in_softmax() -> None:
    base = f"{GB10} --seq 1024"
    alone, paired = (
        simulate.run(experiment(f"{base} --set pipeline.occupancy_ctas={count}")).result for count in (1, 2)
    )
    assert paired.latency_s < alone.latency_s
    assert paired.tensor_core_utilization > alone.tensor_core_utilization
