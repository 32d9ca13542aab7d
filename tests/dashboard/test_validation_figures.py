"""Figures of validation studies: errors against a reference, changes as multiples of the full model."""

import pytest

from dashboard.figures import validation
from simfa.validation.study import Point, Study


def record(compares: str, **point: object) -> dict:
    points = [
        Point("first", 100, 150, "cycles", series="no coalescer", **point),
        Point("second", 200, 220, "cycles", series="simple hash", **point),
    ]
    return Study("name", "title", "source", "nothing", points, compares=compares).record()


def test_a_study_of_errors_is_drawn_model_over_reference() -> None:
    chart = validation.figure(record("error"), "#000000")
    drawn = {trace.name: (trace.x, trace.y) for trace in chart.data}
    assert drawn["no coalescer"] == ((100,), (150,))
    assert "equal" in drawn
    assert "mean error 30.00 %, worst +50.00 % at first" in chart.layout.title.text


def test_a_study_of_changes_is_drawn_as_multiples_and_names_no_error() -> None:
    chart = validation.figure(record("difference"), "#000000")
    assert [(trace.x[0], trace.y[0]) for trace in chart.data] == [
        (pytest.approx(1.5), "no coalescer"),
        (pytest.approx(1.1), "simple hash"),
    ]
    assert "error" not in chart.layout.title.text
    assert chart.layout.title.text.startswith("2 launches, largest change +50 % at first")
    assert chart.layout.xaxis.type == "log"
