"""From bytes to the error table: whatever is uploaded, only the reader's two kinds of answer come back."""

from __future__ import annotations

import contextlib
import gzip
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dashboard.measured import (
    MeasuredError,
    comparison,
    edits,
    gallery,
    intake,
    matching,
    points,
    reading,
    recording,
)
from dashboard.measured.case import Case

DATA = Path(__file__).parent / "data"
GB10 = (DATA / "gb10_b1_h8_s4096_d128_float16_noncausal.csv").read_bytes()
RECORD = recording.to_json(recording.make(gallery.cases()[:2], ["genz"], True, {})).encode()
STARTS = (GB10, RECORD, points.TEMPLATE.encode(), (DATA / "nsys_kernsum_grid.csv").read_bytes())


def whole_way(data: bytes, name: str = "f.csv") -> list[Case]:
    """Everything the page does with an upload, but for drawing it."""
    loaded = intake.load(data, name)
    assert loaded.words()
    cases = loaded.cases + [matching.case(group) for group in loaded.groups]
    cases += loaded.record.cases if loaded.record else ()
    found = comparison.compare(cases, ["simfa-python", "genz", "sim-fa", "llm-viewer"], True)
    comparison.summary(found.rows)
    reading.overall(found, cases, True)
    for case in cases:
        reading.of_case(case, True)
    if cases:
        edits.frame(cases, [])
    recording.to_json(recording.make(cases, ["genz"], True, {}))
    return cases


@pytest.mark.parametrize("data", STARTS, ids=["ncu", "record", "table", "nsys"])
def test_sound_files_go_the_whole_way(data: bytes) -> None:
    assert whole_way(data)


@given(st.binary(max_size=400))
def test_no_bytes_raise_anything_else(data: bytes) -> None:
    try:
        whole_way(data)
    except MeasuredError as error:
        assert "\n" not in str(error)


@given(
    st.sampled_from(STARTS),
    st.lists(st.tuples(st.floats(0, 1), st.integers(0, 40), st.binary(max_size=12)), min_size=1, max_size=4),
)
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_no_damaged_file_raises_anything_else(start: bytes, cuts: list[tuple[float, int, bytes]]) -> None:
    data = start
    for place, length, replaced in cuts:
        at = int(place * len(data))
        data = data[:at] + replaced + data[at + length :]
    with contextlib.suppress(MeasuredError):
        whole_way(data)


@pytest.mark.parametrize(
    "data", [b"seq," + b"x" * 200_000, b"latency_us," * 30_000, b"seq,latency_us\0,gpu\n1,2\n"]
)
def test_first_lines_beyond_reason_are_refused(data: bytes) -> None:
    with pytest.raises(MeasuredError):
        whole_way(data)


def test_a_compressed_export_is_read() -> None:
    assert whole_way(gzip.compress(GB10))[0].latency_us.value == 1186.5
