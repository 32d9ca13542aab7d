"""Figs. 8 and 9: closed forms by hand, public counters, GenZ's own numbers."""

import pytest

from dashboard.validation import traffic
from dashboard.validation.estimators import GENZ, LAUNCH_ORDER, ROOFLINE
from presets.measured_points import rows as measured

KIB = 1024


def dram(gpu: str, tokens: int, estimator: str) -> int:
    return next(
        row["dram_bytes"]
        for row in traffic.dram_rows()
        if (row["gpu"], row["tokens"], row["estimator"]) == (gpu, tokens, estimator)
    )


def test_eq_2_at_64k_tokens_by_hand() -> None:
    rows = {(row["model"], row["tokens"]): row for row in traffic.l2_rows()}
    assert len(rows) == 15
    row = rows["Llama 3.1 405B", 64 * KIB]
    assert row["eq2_bytes"] == 2 * 128 * 128 * (2 * 65536 + 1024 * 2 * 65536)  # T_M = 64: 1,024 query tiles
    assert row["eq8_bytes"] == 2 * 2 * 128 * 128 * 1024 * 65536


def test_public_counters_of_gb10_give_eq_2_to_the_byte() -> None:
    rows = traffic.counter_rows()
    assert len(rows) == 3  # cuTile with and without a mask, FlashAttention-2
    assert [row["counted_bytes"] for row in rows] == [row["eq2_read_bytes"] for row in rows]
    assert rows[1]["counted_bytes"] == 1_082_130_432


def test_eqs_3_and_6_by_hand() -> None:
    assert dram("gb10", 16 * KIB, "eq3") == 2 * 128 * (2 * 128 + 2 * 8) * 16384
    waves = 342  # ceil(16 x 1,024 query tiles / 48 SMs)
    base, kv = 2 * 2 * 128 * 65536 * 128, 2 * 2 * 8 * 65536 * 128
    assert dram("gb10", 64 * KIB, "eq6") == base + kv * waves
    assert dram("h800", 64 * KIB, "eq6") == base + kv * 63  # ceil(16 x 512 / 132)


def test_gb10_leaves_the_ideal_at_48k_by_equality_and_h800_later() -> None:
    for gpu, first in (("gb10", 48), ("h800", 64)):
        for tokens in traffic.LENGTHS:
            regime = "eq3" if tokens < first * KIB else "eq6"
            assert dram(gpu, tokens, ROOFLINE) == dram(gpu, tokens, regime)
    assert (
        traffic.fig9("#000000").title
        == "SimFA-python leaves Eq. (3) at 48K on GB10 and 64K on H800; GenZ never does"
    )


def test_genz_is_eq_3_and_its_own_reference() -> None:
    reference = {
        int(row["L"]): int(row["offchip_bytes_fused"])
        for row in measured("genz_reference")
        if row["model"] == "Llama 3.1 405B" and row["hardware"] == "H800" and row["L"] == row["S"]
    }
    shared = [tokens for tokens in traffic.LENGTHS if tokens in reference]
    assert shared
    for tokens in shared:
        assert dram("h800", tokens, GENZ) == dram("h800", tokens, "eq3") == reference[tokens]


def test_with_launch_order_traffic_grows_between_the_regimes() -> None:
    for gpu in traffic.FIG9_GPUS:
        for tokens in traffic.LENGTHS:
            assert dram(gpu, tokens, "eq3") <= dram(gpu, tokens, LAUNCH_ORDER) <= 1.01 * dram(gpu, tokens, "eq6")


@pytest.mark.parametrize("view", [traffic.fig8, traffic.fig9])
def test_the_figures_say_what_the_paper_does_not_print(view) -> None:
    answer = view("#000000")
    assert any("not printed as numbers" in said or "in a figure only" in said for said in answer.said)
    assert len(answer.chart.data) >= 3 and len(answer.table) in (5, 10)


def test_one_more_row_is_one_more_point() -> None:
    point = {"gpu": "h800", "tokens": 131_072, "estimator": "sim-fa", "dram_bytes": 1_200_000_000}
    lines = traffic._dram_lines([*traffic.dram_rows(), point])
    (drawn,) = [line for line in lines if line.points_only and line.panel == "h800"]
    assert (drawn.tokens[-1], drawn.values[-1]) == (131_072, 1.2)


def test_what_is_stored_of_the_simulator_lies_between_the_regimes() -> None:
    rows = traffic.sampled_rows()
    assert {(row["gpu"], row["tokens"]) for row in rows} == {
        (g, n) for g in ("gb10", "h800") for n in traffic.LENGTHS
    }
    for row in rows:
        low, high = (dram(row["gpu"], row["tokens"], name) for name in ("eq3", "eq6"))
        assert 0.97 * low < row["dram_bytes"] < 1.03 * high  # dirty lines stay in the L2
