"""Every estimator on the same kernels: joined by kernel, errors by hand, nothing left out."""

import re

import pytest

from dashboard.examples import long
from dashboard.measured import gallery
from dashboard.validation import estimators, kernels, overview, stored
from dashboard.validation.estimators import CALIBRATED, GENZ, LATENCY, PAPER, PROFILED, RIVAL, ROOFLINE, Estimate
from dashboard.validation.view import NotStored
from simfa.validation import cases


def study(name: str, points: list[tuple[str, str, float, float, str]]) -> dict:
    """A stored study's record, cut to what is read of it: (label, series, reference, model, unit)."""
    made = [
        {"label": f"{series}: {label}", "series": series, "reference": ref, "model": model, "unit": unit,
         "fitted": "512" in label, "error_pct": (model / ref - 1) * 100}
        for label, series, ref, model, unit in points
    ]  # fmt: skip
    return {"study": name, "all_points": made, "source": "s", "fitted": "f", "context": "c", "groups": []}


def measured(row: dict[str, str]) -> float:
    return float(row["latency_us"])


@pytest.fixture
def locked(monkeypatch):
    """A stored study in which the calibrated set is 1 % slow, the paper's 40 %, and the rival as published."""
    points = []
    for row in cases.locked():
        said = re.search(r"itself says ([\d.]+) us", row["note"])
        assert said is not None
        for series, us in (("calibrated", 1.01 * measured(row)), ("paper's set", 1.4 * measured(row)),
                           ("FlashGPU-Sim, as published", float(said.group(1)))):  # fmt: skip
            points.append((cases.fa3_label(row), series, measured(row), us, "us"))
    points.append(("D64, 2,048 tokens, batch 1, causal", "Nsight profile, 1420 MHz", 47.55, 43.0, "us"))
    made = study("fa3-all", points)
    monkeypatch.setattr(stored, "study", lambda name: made)
    monkeypatch.setattr(stored, "stale", lambda name: "")
    return estimators.locked()


def test_every_estimator_answers_all_sixteen_kernels_and_the_profiled_one(locked: list[Estimate]) -> None:
    by_name = {row["estimator"]: row for row in estimators.summary(locked) if row["quantity"] == LATENCY}
    assert {name: row["points"] for name, row in by_name.items()} == dict.fromkeys(
        (CALIBRATED, PAPER, RIVAL, ROOFLINE, GENZ), 16
    )
    assert by_name[CALIBRATED]["mape_pct"] == pytest.approx(1.0)
    assert by_name[PAPER]["worst_pct"] == pytest.approx(40.0)
    notes = [float(re.search(r"\((-?[\d.]+) %\)", row["note"]).group(1)) for row in cases.locked()]  # type: ignore[union-attr]
    assert by_name[RIVAL]["mape_pct"] == pytest.approx(sum(map(abs, notes)) / 16, abs=0.001)
    profiled = {row["estimator"] for row in estimators.summary(locked) if row["quantity"] == PROFILED}
    assert profiled == {CALIBRATED, ROOFLINE, GENZ}


def test_closed_forms_are_those_of_the_measured_page(locked: list[Estimate]) -> None:
    row = next(r for r in cases.locked() if (r["head_dim"], r["seq_q"], r["causal"]) == ("128", "8192", "0"))
    mine = next(one for one in locked if one.estimator == GENZ and one.case == cases.fa3_label(row))
    # by hand, compute-bound: 4 B H L S D FLOPs at 132 SMs x 4,096 FLOP per cycle x 1.5 GHz
    assert mine.estimated == pytest.approx(4 * 4 * 16 * 8192**2 * 128 / (132 * 4096 * 1.5e9) * 1e6)
    assert mine.measured == 3110.0 and not mine.fitted


def test_a_roofline_is_a_lower_bound(locked: list[Estimate]) -> None:
    assert all(one.error_pct < 0 for one in locked if one.estimator == ROOFLINE)


def test_the_unseen_kernels_are_told_apart(locked: list[Estimate]) -> None:
    row = next(row for row in estimators.summary(locked) if row["estimator"] == CALIBRATED)
    assert row["unseen_mape_pct"] == pytest.approx(1.0)
    title = kernels.locked("#000000").title
    assert title.startswith("The calibrated simulation is off by 1.0 % on average")


def test_a_case_is_found_by_its_row() -> None:
    row = cases.gb10()[0]
    found = gallery.case_of(row)
    assert found.match.gpu == "gb10" and found.latency_us.value == float(row["latency_us"])


def test_one_factor_per_source_is_fitted_to_the_others_only(monkeypatch) -> None:
    rows = [{"latency_us": "10"}, {"latency_us": "20"}, {"latency_us": "60"}]
    monkeypatch.setattr(
        estimators, "_closed_us", lambda name, row: float(row["latency_us"]) / (1 + (row is rows[2]))
    )
    # factors needed: 1, 1, 2; each kernel takes the mean of the other two
    assert estimators._scaled_us("any", rows) == pytest.approx([10 * 1.5, 20 * 1.5, 30 * 1.0])


def test_gb10_has_exact_reads_by_eq_2_and_says_which_estimator_answers_what() -> None:
    found = estimators.gb10()
    reads = [one for one in found if one.quantity == "L2 reads"]
    assert {one.estimator for one in reads} == {estimators.PRESET, ROOFLINE}
    assert all(one.error_pct == 0 for one in reads if one.estimator == ROOFLINE)
    assert {one.estimator for one in found if one.quantity == LATENCY} == {estimators.PRESET, ROOFLINE, GENZ}


def test_the_overview_has_every_study_and_a_missing_one_is_said(monkeypatch) -> None:
    monkeypatch.setattr(long, "stored", dict)
    with pytest.raises(NotStored, match="python -m dashboard example --all"):
        stored.study("fa3-all")
    rows = overview.rows()
    assert len(rows) == len(overview.PARTS)
    assert "not stored here" in rows[0]["remark"] and rows[0]["points"] is None
    answer = overview.overview("#000000")
    assert "not stored here" in answer.stale
    latency = next(row for row in rows if row["study"] == "tma-latency")
    assert latency["points"] == 20 and latency["simulation_mape_pct"] < 3


def test_every_part_leads_to_a_view() -> None:
    from dashboard.validation.catalog import VIEWS

    labels = {view.label for view in VIEWS.values()}
    assert {part.where for part in overview.PARTS} <= labels


def test_without_the_papers_set_the_unlocked_kernels_are_still_shown(monkeypatch) -> None:
    points = []
    for source in cases.UNLOCKED_SOURCES:
        for row in cases.unlocked(source):
            points.append((cases.fa3_label(row), source, measured(row), 1.02 * measured(row), "us"))
    made = study("fa3-unlocked", points)
    monkeypatch.setattr(stored, "studies", lambda: [made])
    monkeypatch.setattr(stored, "stale", lambda name: "")
    by_name = {row["estimator"]: row for row in estimators.summary(estimators.unlocked())}
    assert set(by_name) == {CALIBRATED, ROOFLINE, GENZ}
    assert by_name[CALIBRATED]["points"] == by_name[GENZ]["points"] == 30
    assert by_name[CALIBRATED]["mape_pct"] == pytest.approx(2.0)
    assert any("not stored here" in said for said in kernels.unlocked("#000000").said)
