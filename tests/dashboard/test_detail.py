"""What is drawn of a run too long to be drawn whole: near spans as they are, narrow neighbours joined."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard import shown
from dashboard.figures import detail, gantt
from dashboard.window import Window
from tests.dashboard.test_timeline_parts import run  # noqa: F401 (a fixture)

PERIOD, BUSY = 100, 40


def long_run(count=20_000):
    """Two activities in turn on one row, each BUSY of every PERIOD cycles."""
    start = np.arange(count) * PERIOD
    return pd.DataFrame(
        {
            "row": "tensor core",
            "activity": np.where(np.arange(count) % 2, "QK GEMM, consumer 1", "PV GEMM, consumer 1"),
            "category": "compute",
            "start_cycle": start,
            "end_cycle": start + BUSY,
            "issued_cycle": start,
            "cta": 0,
        }
    )


def test_a_short_run_is_drawn_whole():
    some = long_run(detail.FEW)
    found = detail.of(some, 0, 100)
    assert len(found) == len(some) and (found["share"] == 1).all()


def test_in_a_close_view_every_span_near_it_stands_for_itself():
    found = detail.of(long_run(), 100_000, 110_000)
    assert (found["share"] == 1).all()
    assert found["start_cycle"].min() == 95_000 and found["start_cycle"].max() == 115_000


def test_in_a_wide_view_neighbours_become_one_bar_as_dense_as_they_are():
    found = detail.of(long_run(), 0, 2_000_000)
    assert len(found) == 2  # one per activity
    assert found["share"].tolist() == pytest.approx([BUSY / (2 * PERIOD)] * 2, rel=1e-3)
    chart = list(gantt.bars(long_run(), 1.0, 0, 0, False, (0, 2_000_000)))
    assert [trace.marker.opacity[0] for trace in chart] == pytest.approx([0.2, 0.2], rel=1e-3)


@settings(deadline=None, max_examples=40)
@given(start=st.integers(-(10**6), 3 * 10**6), length=st.integers(1, 4 * 10**6))
def test_busy_time_in_view_is_kept_and_bars_are_few(start, length):
    some = long_run()
    found = detail.of(some, start, start + length)
    near = some[(some["end_cycle"] >= start - length / 2) & (some["start_cycle"] <= start + 1.5 * length)]
    busy = ((found["end_cycle"] - found["start_cycle"]) * found["share"]).sum()
    assert busy == pytest.approx(BUSY * len(near), rel=1e-3)
    assert len(found) <= 2 * detail.PIXELS  # all that this rhythm can need, at any zoom


def test_a_view_is_covered_by_what_was_drawn_until_it_is_finer_or_elsewhere():
    drawn = (1000.0, 2000.0)
    assert detail.covers(drawn, drawn) and detail.covers(drawn, (600, 1400)) and detail.covers(drawn, (1200, 1700))
    assert not detail.covers(drawn, (1200, 1600)) and not detail.covers(drawn, (400, 1400))
    assert not detail.covers(drawn, (0, 4000))


def test_a_short_run_covers_every_view(run):  # noqa: F811
    assert shown.complete([run], Window(0, 10), Window(5000, 5001))
