"""Fig. 9 by sampling: rows with an error, the least traffic beside them, smaller caches never reading less."""

import pytest

from simfa.validation import fig9_traffic

MIB = 2**20


def test_the_launch_is_the_papers_and_asks_for_a_sample() -> None:
    case = fig9_traffic.experiment(16_384, "h800", 25 * MIB)
    assert (case.llm.name, case.gpu.name, case.gpu.l2.bytes) == ("llama3.1-405b", "h800", 25 * MIB)
    assert case.sample and case.workload.seq_q == case.workload.seq_kv == 16_384
    assert fig9_traffic.experiment(16_384, "gb10", 24 * MIB).kernel.instruction == "mma.sync"


def test_a_row_lies_above_the_least_and_says_how_sure_it_is() -> None:
    (found,) = fig9_traffic.rows((16_384,), (("h800", 50 * MIB),))
    record = found.record()
    assert found.least_bytes == 2 * (2 * 128 + 2 * 8) * 128 * 16_384  # Eq. (3)
    assert found.dram_bytes == pytest.approx(found.least_bytes, rel=0.05)
    assert record["dram_bytes"] == found.dram_bytes
    assert 0 < record["dram_error_pct"] < 5 and 0 < record["sampled_fraction"] < 0.2


@pytest.mark.slow
def test_less_cache_never_reads_less() -> None:
    found = list(fig9_traffic.rows(machines=[("h800", 25 * MIB), ("h800", 50 * MIB)]))
    half = len(found) // 2
    for small, large in zip(found[:half], found[half:], strict=True):
        allowed = 1 - (small.dram_error_pct + large.dram_error_pct) / 100
        assert small.dram_bytes > allowed * large.dram_bytes


@pytest.mark.slow
def test_the_study_names_every_points_error() -> None:
    study = fig9_traffic.study((16_384,), (("h800", 50 * MIB),))
    assert study.compares == "difference"
    assert "within" in study.points[0].label
