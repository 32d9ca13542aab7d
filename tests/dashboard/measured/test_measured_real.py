"""The public exports beside the repository, against their known right values; skipped where absent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dashboard.measured import MeasuredError, read

ROOT = Path(__file__).resolve().parents[3].parent / "shared" / "ncu"
TRUTH: dict[str, Any] = json.loads((ROOT / "truth.json").read_text()) if (ROOT / "truth.json").exists() else {}
RENAMED = {"cc": "compute_capability", "elapsed_cycles": "cycles", "l2_hit_pct": "l2_hit_rate_pct"}
REASONS = {"--csv": "text page", "empty": "empty", "no kernels": "no kernels"}

pytestmark = pytest.mark.skipif(not TRUTH, reason="the public exports are not beside the repository")


def _same(ours: Any, right: Any) -> bool:
    if isinstance(right, float) and ours is not None:
        return bool(ours == pytest.approx(right, rel=1e-9))
    return bool(ours == right)


def _fields(kernel: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in kernel.items() if "_source" not in name and "_tol_" not in name}


@pytest.mark.parametrize("name", [name for name, truth in TRUTH.items() if truth["kernels"]])
def test_every_value_of_a_real_file(name: str) -> None:
    launches = [launch.record() for launch in read(ROOT / "files" / name)]
    kernels = TRUTH[name]["kernels"]
    assert len(launches) == len(kernels)
    wrong = [
        (place, field, launch[RENAMED.get(field, field)], right)
        for place, (launch, kernel) in enumerate(zip(launches, kernels, strict=True))
        for field, right in _fields(kernel).items()
        if not _same(launch[RENAMED.get(field, field)], right)
    ]
    assert wrong == []


@pytest.mark.parametrize("name", [name for name, truth in TRUTH.items() if "reject" in truth["meta"]])
def test_the_reason_of_a_refusal(name: str) -> None:
    reason = next(part for sign, part in REASONS.items() if sign in TRUTH[name]["meta"]["reject"])
    with pytest.raises(MeasuredError, match=reason):
        read(ROOT / "files" / name)


def test_every_value_names_its_counter() -> None:
    for name, truth in TRUTH.items():
        for launch in read(ROOT / "files" / name) if truth["kernels"] else ():
            for field, value in launch.record().items():
                if field.endswith(("_ns", "_bytes", "_hz")) and value is not None:
                    assert field in launch.provenance, (name, field)


def test_the_gb10_kernel_has_exactly_the_l2_traffic_of_equation_2() -> None:
    name = "02_gb10_cutile_fa_noncausal_raw.csv"
    flash = [launch for launch in read(ROOT / "files" / name) if launch.kernel.startswith("flash")]
    assert {launch.l2_bytes_sm_side for launch in flash} == {1_090_519_040.0}
    assert all(launch.provenance["dram_bytes"].startswith("estimate") for launch in flash)
