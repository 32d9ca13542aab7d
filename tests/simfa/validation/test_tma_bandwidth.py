"""Figs. 4 and 5: TMA bandwidth from DRAM, on the public H800 PCIe logs."""

import pytest

from presets import loader
from presets.errors import NotModelled
from presets.specs import GpuSpec
from simfa.validation import tma_bandwidth as study_of
from simfa.validation.study import mape_pct
from simfa.validation.tma_bandwidth import BULK, Case, cases, tile_place

GPU = loader.load(GpuSpec, "h800-pcie")


def test_every_row_is_used_whose_note_does_not_doubt_it() -> None:
    found = cases()
    assert len(found) == 104  # of 116; twelve have doubted load sizes
    assert {case.kind for case in found} == {BULK, "tensor 1D", "tensor 2D", "tensor 3D"}
    assert not any(case.kind == "tensor 1D" and case.tile_bytes in (768, 1280, 1536) for case in found)
    for case in found:
        elements = 1
        for size in case.box:
            elements *= size
        assert not case.box or elements * 4 == case.tile_bytes


def test_half_of_the_rows_may_be_seen_by_a_fit() -> None:
    assert len(study_of.fit_cases()) == 52
    assert {case.ctas_per_sm for case in study_of.fit_cases()} == {1, 3}


def test_tiles_are_counted_along_the_first_dimension() -> None:
    case = Case("tensor 3D", (16, 256, 1), 16384, 1, 1.0)
    assert [tile_place(case, tile) for tile in (0, 1, 63, 64, 255, 256)] == [
        (0, 0, 0), (16, 0, 0), (1008, 0, 0), (0, 256, 0), (1008, 768, 0), (0, 0, 1)
    ]  # fmt: skip
    # 32768 columns hold 341 whole tiles of 96; the rest of a row is left out.
    assert tile_place(Case("tensor 2D", (96, 32), 12288, 1, 1.0), 341) == (0, 32)


def test_the_trace_copies_each_tile_once_and_waits_for_it() -> None:
    case = Case(BULK, (), 4096, 2, 1.0)
    trace = study_of.trace_of(case, GPU, 36)
    assert len(trace.ctas) == 2 * 114
    rows = [row for program in trace.programs.values() for row in program.rows]
    starts = sorted(row["gmem"] for row in rows if "gmem" in row)
    assert starts == [4096 * tile for tile in range(228 * study_of.rounds(case))]
    assert len(rows) == 3 * len(starts)


FAST = [
    (BULK, 1024, 1), (BULK, 16384, 4), ("tensor 1D", 1024, 2), ("tensor 2D", 16384, 3),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "tile_bytes", "ctas"), FAST)
def test_small_and_large_tiles_are_met_within_five_percent(kind: str, tile_bytes: int, ctas: int) -> None:
    def chosen(case: Case) -> bool:
        return (case.kind, case.tile_bytes, case.ctas_per_sm) == (kind, tile_bytes, ctas)

    (point,) = study_of.study(GPU, chosen).points
    assert abs(point.error_pct) < 5
    assert point.model < GPU.dram.bandwidth_bytes_per_s / 1e9


def test_rows_shorter_than_a_line_are_held_by_the_lines_in_flight() -> None:
    (case,) = cases(lambda case: case.box == (4, 4, 256) and case.ctas_per_sm == 2)
    paper = study_of.bandwidth_gbs(case, GPU)
    assert paper < 0.5 * case.measured_gbs
    wide = loader.override(GPU, {"tma.inflight_lines": "384"})
    assert study_of.bandwidth_gbs(case, wide) > 2 * paper


def test_a_gpu_without_the_fitted_values_cannot_be_studied() -> None:
    with pytest.raises(NotModelled, match="bandwidth_probe"):
        study_of.study(loader.load(GpuSpec, "h800"), lambda case: case.tile_bytes == 512)


def test_256_and_384_mshrs_never_bind_and_64_do() -> None:
    largest = next(iter(cases(lambda case: case.tile_bytes == 16384 and case.ctas_per_sm == 4)))

    def waits(entries: int) -> int:
        gpu = loader.override(GPU, {"l2_timing.mshr_entries": str(entries)})
        return int(study_of._run(largest, gpu, 0)[0].memory.cache.slices["mshr_waits"].sum())

    assert [waits(entries) for entries in (192, 384)] == [0, 0]
    assert waits(64) > 0


@pytest.mark.slow
def test_the_fitted_values_are_what_the_fit_gives() -> None:
    assert GPU.bandwidth_probe is not None
    for key, value in study_of.fit(GPU).items():
        assert getattr(GPU.bandwidth_probe, key) == pytest.approx(
            value, abs=0.05 if key == "copy_cycles" else 0.0005
        )
        assert GPU.provenance[f"bandwidth_probe.{key}"].label == "fitted"


@pytest.mark.slow
def test_every_row() -> None:
    found = study_of.study(GPU)
    assert len(found.points) == 104
    assert mape_pct(found.points) == pytest.approx(13.0, abs=0.3)
    assert found.summary()["unseen_mape_pct"] == pytest.approx(12.0, abs=0.3)
    for kind, error in ((BULK, 8.1), ("tensor 1D", 5.5), ("tensor 2D", 7.3), ("tensor 3D", 20.8)):
        assert mape_pct([point for point in found.points if point.series == kind]) == pytest.approx(error, abs=0.3)


@pytest.mark.slow
def test_the_mshr_sweep_is_flat() -> None:
    found = study_of.mshr_study(GPU, (192, 256, 384))
    first, *others = (
        [point.model for point in found.points if point.series == f"{n} MSHRs"] for n in (192, 256, 384)
    )
    assert len(first) == 32 and all(other == first for other in others)
    assert "192: 0, 256: 0, 384: 0" in found.context
