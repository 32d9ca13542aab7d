"""Table 5: one mechanism taken away at a time, against our own full model."""

import pytest

from simfa import validate_command
from simfa.__main__ import main
from simfa.validation import ablations
from simfa.validation.study import Point, Study

SMALL = ("llama3-8b",)


def test_every_variant_is_one_override_but_for_the_size_of_a_request() -> None:
    overrides = {variant.name: dict(variant.settings) for variant in ablations.VARIANTS}
    assert overrides["no coalescer"] == {"coalescer.sms": "1"}
    assert overrides["simple hash"] == {"l2_timing.slice_hash": "modulo"}
    assert overrides["no de-duplication"] == {"tma.deduplicate": "false"}
    assert all(max(v.lengths) <= 1024 for v in ablations.VARIANTS if "tma.deduplicate" in v.settings)


def test_the_reference_is_our_own_full_model() -> None:
    found = ablations.study(ablations.VARIANTS[:2] + ablations.VARIANTS[3:], SMALL, (512,))
    assert found.compares == "difference"
    assert {point.reference for point in found.points} == {26_048}
    change = {point.series: point.error_pct for point in found.points}
    assert 0 < change["no coalescer"] < 5
    assert 400 < change["no de-duplication, 16 B a request"] < 700  # eight requests for a line
    groups = {group["group"]: group for group in found.summary()["groups"]}
    assert groups["no coalescer"]["published"].startswith("MAPE 16.8 %")


def test_without_deduplication_a_short_launch_takes_tens_of_times_as_long() -> None:
    (point,) = ablations.study(ablations.VARIANTS[2:3], SMALL, (512,)).points
    assert 30 < point.model / point.reference < 64  # 64 elements of 2 B in a line


@pytest.mark.slow
def test_all_launches() -> None:
    found = ablations.study()
    assert len(found.points) == 30
    means = {group["group"]: group["mean_pct"] for group in found.summary()["groups"]}
    assert means["no coalescer"] == pytest.approx(0.9, abs=0.2)
    assert means["simple hash"] == pytest.approx(26.3, abs=1)
    assert means["no de-duplication"] == pytest.approx(5562, rel=0.02)
    assert means["no de-duplication, 16 B a request"] == pytest.approx(617, rel=0.02)


def test_groups_average_the_points_that_name_them() -> None:
    points = [
        Point("a", 10, 11, "x", group="g"),
        Point("b", 10, 8, "x", group="g"),
        Point("c", 10, 10, "x", series="s"),
    ]
    first, second = Study("n", "t", "s", "f", points, published={"g": "p"}).summary()["groups"]
    assert (first["group"], first["points"], first["published"]) == ("g", 2, "p")
    assert (first["mape_pct"], first["mean_pct"], first["worst_pct"]) == (
        pytest.approx(15), pytest.approx(-5), pytest.approx(-20)
    )  # fmt: skip
    assert (second["group"], second["mape_pct"]) == ("s", 0)


def test_the_command_calls_them_differences(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    short = ablations.study(ablations.VARIANTS[:1], SMALL, (512,))
    monkeypatch.setitem(validate_command.STUDIES, "ablations", lambda: short)
    assert main(["validate", "--study", "ablations", "--points"]) == 0
    printed = capsys.readouterr().out
    first, second, third = printed.splitlines()
    assert first.endswith("1 launches, changes of our own time") and "MAPE" not in first
    assert second.startswith("  no coalescer: mean +") and second.endswith(
        "published: MAPE 16.8 %, full model 5.7 %"
    )
    assert "full model 26048.0" in third
    assert "tma-mshr" in validate_command.ON_REQUEST and "tma-mshr" not in validate_command.STUDIES
