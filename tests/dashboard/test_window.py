"""A window of cycles as a link holds it."""

import pytest

from dashboard.window import Window


@pytest.mark.parametrize("text", ["1000..5000", "-300..27000", "0..1"])
def test_a_window_reads_back(text):
    assert Window.parse(text).text() == text


@pytest.mark.parametrize(
    "text", ["", "5..5", "9..1", "a..b", "1..2..3", "1e3..1e9", "0..9999999999999", "1..2\n", "nan..1"]
)
def test_what_is_no_window_is_none(text):
    assert Window.parse(text) is None


def test_a_window_is_written_in_whole_cycles():
    assert Window(-2999.6, 27000.4).text() == "-3000..27000"
