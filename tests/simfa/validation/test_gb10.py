"""cuTile on GB10 against public counters: reads exact, misses and fills within the launches' spread."""

import pytest

from simfa.validation import gb10
from simfa.validation.study import Study

SPREAD_PCT = 15  # of misses and fills between launches of one kernel


@pytest.fixture(scope="module")
def study() -> Study:
    return gb10.study(kernels=[gb10.FLASH_FWD])


def errors(study: Study, series: str) -> list[float]:
    return [point.error_pct for point in study.points if point.series == series]


def test_l2_reads_are_exact_with_and_without_a_mask(study: Study) -> None:
    assert errors(study, gb10.READS) == [0, 0]


def test_misses_and_fills_lie_within_the_spread_of_the_launches(study: Study) -> None:
    misses, fills = errors(study, gb10.MISSES), errors(study, gb10.FILLS)
    assert (len(misses), len(fills)) == (2, 1)
    assert max(map(abs, misses + fills)) < SPREAD_PCT


def test_latency_is_reported_and_no_kernel_is_called_slower_than_it_is(study: Study) -> None:
    found = errors(study, f"latency: {gb10.FLASH_FWD}")
    assert len(found) == 2
    assert all(-40 < error < 0 for error in found)  # the inefficiency of real kernels is left unexplained
    assert not any(point.fitted for point in study.points)


def test_the_public_fills_are_six_launches_that_spread_by_15_percent() -> None:
    row = {"kernel": gb10.FLASH_FWD, "causal": "0", "seq_q": "4096"}
    found = gb10.fill_sectors(row)
    assert len(found) == 6
    assert 1.1 < max(found) / min(found) < 1.2
    assert gb10.fill_sectors(row | {"causal": "1"}) == []


def test_tilegym_runs_two_ctas_on_an_sm_at_the_presets_clock() -> None:
    case = gb10.experiment({
        "kernel": gb10.FMHA, "clock_mhz": "", "heads_q": "32", "heads_kv": "32", "head_dim": "128",
        "seq_q": "1024", "seq_kv": "1024", "batch": "4", "causal": "1",
    })  # fmt: skip
    assert case.kernel.pipeline.occupancy_ctas == 2
    assert case.gpu.sm.clock_hz == 2_418_000_000


@pytest.mark.slow
def test_every_public_length_is_simulated() -> None:
    found = gb10.study(longest=8192)
    assert len(errors(found, f"latency: {gb10.FMHA}")) == 3
    assert all(error < 5 for error in errors(found, f"latency: {gb10.FMHA}"))
