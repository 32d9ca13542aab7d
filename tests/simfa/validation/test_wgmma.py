"""WGMMA time against public microbenchmarks."""

import pytest

from presets.measured_points import rows
from simfa.validation import wgmma


def test_every_latency_is_met_to_the_cycle() -> None:
    latencies = [point for point in wgmma.study().points if point.series == "latency"]
    assert len(latencies) == 7
    assert [point.model for point in latencies] == [point.reference for point in latencies]


def test_times_by_throughput_are_met_within_four_percent() -> None:
    found = wgmma.study()
    assert len(found.points) == 19
    assert max(abs(point.error_pct) for point in found.points) < 4


def test_the_derived_times_follow_from_the_published_throughputs() -> None:
    # cycles = 128 x (728.5 / TFLOPS) x (N / 256): the work of an instruction grows with N.
    by_label = {row["label"]: row for row in rows("wgmma_h800")}
    for label, tflops in (
        ("m64n8k16 FP16 SS", 158.2),
        ("m64n8k16 FP16 RS", 216.7),
        ("m64n64k16 FP16 by throughput", 719.6),
    ):
        row = by_label[label]
        derived = 128 * 728.5 / tflops * int(row["n"]) / 256
        assert float(row["cycles"]) == pytest.approx(derived, abs=0.05)
        assert str(tflops) in row["how"]


def test_instructions_of_more_work_are_derived_alike() -> None:
    # FP8 and INT8 do twice the work of m64n256k16 FP16, sparse FP16 twice, sparse FP8 four times.
    by_label = {row["label"]: row for row in rows("wgmma_h800")}
    for label, work, tflops in (
        ("m64n256k32 FP8 by throughput", 2, 1448.4),
        ("m64n256k32 INT8 by throughput", 2, 1448.7),
        ("sparse m64n256k32 FP16 SS by throughput", 2, 1308),
        ("sparse m64n256k32 FP16 RS by throughput", 2, 1472),
        ("sparse m64n256k64 FP8 RS by throughput", 4, 2945),
    ):
        row = by_label[label]
        assert float(row["cycles"]) == pytest.approx(128 * work * 728.5 / tflops, abs=0.05)
        assert str(tflops) in row["how"]
