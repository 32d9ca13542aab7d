"""Rungs that take a mechanism out, fitted values moved, and the walk from the paper's set to the calibrated one."""

import tomllib

import pytest

from presets import loader, params
from presets.specs import GpuSpec, KernelSpec
from simfa import simulate
from simfa.validation import cases, fa3, fa3_ladder, fa3_walk


def cycles(row: dict[str, str], changes: dict[str, str], chosen: str = "calibrated") -> int:
    job = (row, chosen, changes, fa3.KERNEL)
    return fa3._run(job).cycles  # type: ignore[arg-type]


def test_every_rung_changes_a_kernel() -> None:
    rows = cases.locked(("512",))[:4]
    whole = [fa3.experiment(row, "calibrated", {}) for row in rows]
    for name, changes in {**fa3_ladder.ladder(), **fa3_ladder.sensitivities()}.items():
        changed = [fa3.experiment(row, "calibrated", changes) for row in rows]
        values = [case.model_dump(exclude={"params"}) for case in changed]
        assert values != [case.model_dump(exclude={"params"}) for case in whole], name


def test_what_the_calibrated_set_labels_fitted_is_what_is_listed() -> None:
    files = [params.FOLDER / "9.0.toml", *(loader.ROOT / "kernels").glob("fa3-*official/*.toml")]
    sections = [section for path in files for section in tomllib.loads(path.read_text()).items()]
    labelled = {
        f"{name}.{key}"
        for name, values in sections
        if isinstance(values, dict)
        for key, entry in values.items()
        if isinstance(entry, dict) and entry["label"] == "fitted"
    }
    assert labelled == set(fa3.FITTED)


def test_each_fitted_value_moves_by_a_tenth() -> None:
    found = fa3_ladder.fitted_values()
    assert all(origin.label == "fitted" and "512 and 8192" in origin.source for _, origin in found.values())
    moved = fa3_ladder.sensitivities()
    assert len(moved) == 2 * len(found)
    for key, (value, _) in found.items():
        texts = [changes[key] for changes in moved.values() if key in changes]
        assert [float(text) / value for text in texts] == pytest.approx([0.9, 1.1], rel=1e-3)


def test_undoing_every_step_arrives_at_the_papers_set_to_the_cycle() -> None:
    for row in cases.locked(("512",))[:4]:
        assert cycles(row, fa3_walk.undone_after(-1)) == cycles(row, {}, "paper")


def test_the_last_step_undoes_nothing_and_none_repeats_another() -> None:
    steps = fa3_walk.steps()
    assert fa3_walk.undone_after(len(steps) - 1) == {}
    assert len({step.name for step in steps}) == len(steps)
    keys = {*loader.leaf_keys(GpuSpec), *loader.leaf_keys(KernelSpec)}
    for index, step in enumerate(steps):
        assert set(step.undone()) <= keys
        assert fa3_walk.undone_after(index - 1) != fa3_walk.undone_after(index), step.name


def test_an_earlier_step_holds_where_two_undo_the_same_value() -> None:
    names = [step.name for step in fa3_walk.steps()]
    before, between = names.index("persistent CTAs") - 1, names.index("persistent CTAs")
    assert fa3_walk.undone_after(before)["pipeline.schedule"] == "one_tile"
    assert fa3_walk.undone_after(between)["pipeline.schedule"] == "static"


def test_the_walk_has_a_job_for_every_step_and_kernel() -> None:
    jobs = fa3_walk.jobs()
    assert len(jobs) == (len(fa3_walk.steps()) + 1) * 8
    assert [job[1] for _, _, job in jobs] == ["paper"] * 8 + ["calibrated"] * (len(jobs) - 8)
    assert all(job[2] == {} for _, _, job in jobs[-8:])


def test_one_kernel_at_a_time_loses_what_overlap_gains() -> None:
    row = next(row for row in cases.locked(("512",)) if row["head_dim"] == "128" and row["causal"] == "0")
    whole = cycles(row, {})
    for changes in ({"pipeline.prologue_overlap": "false"}, {"pipeline.intra_warpgroup_overlap": "false"}):
        assert cycles(row, changes) > 1.05 * whole


@pytest.mark.slow
def test_the_walk_ends_where_the_calibrated_set_is() -> None:
    rows, points = fa3_walk.walk()
    assert len(points) == 8 * len(rows)
    assert rows[0].mape_pct > 10 and rows[-1].mape_pct < 2.5
    experiments = [fa3.experiment(row, "calibrated", {}) for row in cases.locked(("512",))[:4]]
    assert sum(simulate.run(case).result.extra["cycles"] for case in experiments) < rows[-1].cycles


def test_studies_hold_a_point_for_every_variant_and_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    def exact(jobs: list[fa3.Job]) -> list[fa3.Run]:
        """Runs as long as measured."""
        return [fa3.Run(float(row["latency_us"]), 1_000, 0.5) for row, *_ in jobs]

    monkeypatch.setattr(fa3, "runs", exact)
    for study, variants, kernels in (
        (fa3_ladder.ladder_study(), len(fa3_ladder.ladder()) + 1, 12),
        (fa3_ladder.fit_study(), 5, 12),
        (fa3_walk.walk_study(), len(fa3_walk.steps()) + 1, 8),
    ):
        groups = study.summary()["groups"]
        assert [group["points"] for group in groups] == [kernels] * variants
        assert study.summary()["mape_pct"] == 0
    assert groups[1]["note"] == "tile by head dimension, dtype and mask; 8,000 cycles"
    assert "softmax.operand_factor = 1.65" in fa3_ladder.fit_study().fitted
