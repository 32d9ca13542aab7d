"""The study of FlashAttention-3 on H100: its rows and variants, and that the calibrated set meets a few kernels."""

import pytest

from simfa import coverage
from simfa.validation import cases, fa3
from tests.simfa.experiments import experiment


def test_sixteen_kernels_were_measured_at_a_locked_clock() -> None:
    assert len(cases.locked()) == 16
    assert {row["clock_mhz"] for row in cases.locked()} == {"1500"}


def test_the_profiled_kernel_and_the_rival_are_read_from_their_notes() -> None:
    assert fa3._profiled()["latency_us"] == "47.55"
    assert fa3._rival_us(cases.locked()[0]) == 118.953


def test_short_kernels_are_met_and_what_a_fit_has_seen_is_marked() -> None:
    rows = cases.locked(("512",))[:4]
    points = fa3._calibrated(rows)
    assert all(point.fitted for point in points[:4]) and not points[4].fitted
    assert max(abs(point.error_pct) for point in points[:4]) < 6


@pytest.mark.slow
def test_all_sixteen_kernels_are_met_better_than_by_the_published_rival() -> None:
    groups = {group["group"]: group for group in fa3.full_study().summary()["groups"]}
    ours, rival = groups[fa3.CALIBRATED], groups[fa3.RIVAL]
    assert ours["mape_pct"] < 2.5 and abs(ours["worst_pct"]) < 6
    assert ours["mape_pct"] < rival["mape_pct"]


@pytest.mark.parametrize(
    ("options", "standing"),
    [
        ("--llm llama3-8b --seq 512", "paper parameter set"),
        ("--gpu h100-sxm --heads-q 16 --head-dim 128 --seq 512 --params calibrated", "held against sixteen H100"),
        ("--gpu h800 --llm llama3-8b --seq 512 --params calibrated", "outside the sixteen H100 kernels"),
        ("--gpu h100-sxm --heads-q 16 --head-dim 128 --seq 512 --params calibrated --kernel fa3-2024-07",
         "outside the sixteen H100 kernels"),
        ("--gpu h100-sxm --heads-q 16 --head-dim 128 --seq 512 --params calibrated --set tma.inflight_lines=128",
         "with changed values (tma.inflight_lines): held against nothing"),
    ],
)  # fmt: skip
def test_an_answer_says_what_it_was_held_against(options: str, standing: str) -> None:
    assert standing in coverage.standing(experiment(options))
