"""One HBM3-5200 channel against the published runs of Ramulator 2.1: the same requests, the same figures."""

import pytest

from presets.measured_points import rows
from simfa.validation import dram

# Each mapping, each size, reads and writes, closed and open loop, hits and conflicts; with and without refresh.
FAST = (
    *("idle_32B_closed", "idle_64B_hit", "idle_64B_conflict", "rand32_N1", "rand64_N32", "seq64_N4", "seq128_N32"),
    *("stride1024_M1X_N32", "stride65536_M1_N32", "seq64_MOP4CLXOR_N32", "rand64_RoBaRaCoCh_N32"),
    *("streams32_M1X_N32", "mix21_rand64_N32", "mix11_seq64_N32", "open_rand64_L30", "open_seq64_L90"),
)


def agrees(row: dram.Row) -> None:
    assert row.same_requests, "these are not the reference's requests"
    for column in ("lat_mean_ns", "bw_GBps"):
        if column in row.reference and not row.overloaded:
            assert row.ours[column] == pytest.approx(row.reference[column], rel=0.05)
    assert row.is_exact(), (row.pattern, row.refresh, row.ours, row.reference)
    assert row.ours.get("bw_GBps", 0.0) <= 41.6


def test_the_fast_rows_are_exact() -> None:
    found = list(dram.compare(lambda row: row["pattern"] in FAST))
    assert {row.pattern for row in found} == set(FAST)
    assert len(found) == 2 * len(FAST) - 3  # idle rows exist without refresh only
    for row in found:
        agrees(row)


@pytest.mark.slow
def test_every_row_is_exact() -> None:
    found = list(dram.compare())
    assert len(found) == len(rows("hbm3_reference")) == 106
    for row in found:
        agrees(row)


@pytest.mark.slow
@pytest.mark.parametrize(("study", "points"), [(dram.latency_study, 95), (dram.bandwidth_study, 89)])
def test_the_studies_leave_out_only_overloaded_rows(study, points: int) -> None:
    found = study()
    assert len(found.points) == points
    assert found.summary()["mape_pct"] < 0.01
    assert not any(point.fitted for point in found.points)
