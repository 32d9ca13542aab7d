"""Numbers under every locale, units as whole tokens, shapes of grids."""

from __future__ import annotations

import pytest

from dashboard.measured import numbers, units
from dashboard.measured.table import dims


@pytest.mark.parametrize(
    ("text", "decimal", "value"),
    [
        ("34,089,136", ".", 34_089_136),
        ("9,347,227,582.66", ".", 9_347_227_582.66),
        ("1,67,83,089", ".", 16_783_089),
        ("68,38,625.50", ".", 6_838_625.5),
        ("50,43,432.20 {2026}", ".", 5_043_432.2),
        ("12 (1: 6; 2: 6)", ".", 12),
        ("117.344", ",", 117_344),
        ("117.344", ".", 117.344),
        ("9.347.227.582,66", ",", 9_347_227_582.66),
        ("1'234'567.89", ".", 1_234_567.89),
        ("1\u2019234\u2019567,5", ",", 1_234_567.5),
        ("34 089 136", ".", 34_089_136),
        ("34\u00a0089\u202f136,25", ",", 34_089_136.25),
        ("1.18E+06", ".", 1.18e6),
        ("1,18e-3", ",", 1.18e-3),
        ("-5", ".", -5),
        ("\u22125.5", ".", -5.5),
        ("100.96%", ".", 100.96),
        (".5", ".", 0.5),
    ],
)
def test_a_number(text: str, decimal: str, value: float) -> None:
    assert numbers.parse(text, decimal) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize(
    "text", ["", "n/a", "nan", "no data", "{2040}", "-", "abc", "1.2.3", "1,2,3", "12 34 5", "1,18"]
)
def test_no_number(text: str) -> None:
    assert numbers.parse(text, ".") is None


def test_a_huge_exponent_is_no_number() -> None:
    assert numbers.parse("1e999", ".") is None


@pytest.mark.parametrize("text", ["", " ", "n/a", "N/A", "nan", "no data", "{2040}", " {2026} ", "-", "inf"])
def test_missing(text: str) -> None:
    assert numbers.is_missing(text)


@pytest.mark.parametrize(
    ("text", "proof"),
    [
        ("8.40", "."),
        ("8,40", ","),
        ("0.786", "."),
        ("6517.162", "."),
        ("34,089,136", "."),
        ("34.089.136", ","),
        ("2,62,580", "."),
        ("1,234.567", "."),
        ("1'234.567", "."),
        ("117.344", "?"),
        ("4,096", "?"),
        ("42", ""),
        ("12.1.0", ""),
        ("n/a", ""),
    ],
)
def test_what_a_cell_proves(text: str, proof: str) -> None:
    assert numbers.vote(text) == proof


@pytest.mark.parametrize(
    ("text", "count"),
    [("4,096", 4096), ("10,48,576", 1_048_576), ("64", 64), ("64.000000", 64), ("x", None), ("-1", None)],
)
def test_a_count_has_no_fraction(text: str, count: int | None) -> None:
    assert numbers.whole(text) == count


SPELLINGS = {
    (units.TIME, 1.0): "ns nsecond nsec",
    (units.TIME, 1e3): "us usecond µs",
    (units.TIME, 1e6): "ms msecond MS",
    (units.TIME, 1e9): "s second",
    (units.BYTES, 1.0): "byte bytes B",
    (units.BYTES, 1e3): "Kbyte KB kbytes",
    (units.BYTES, 1e6): "Mbyte MB",
    (units.BYTES, 1e9): "Gbyte Gbytes GB",
    (units.BYTES, 1e12): "Tbyte",
    (units.BYTES, 2.0**20): "MiB",
    (units.RATE, 1.0): "byte/s byte/second",
    (units.RATE, 1e9): "Gbyte/s Gbyte/second GB/s byte/ns",
    (units.RATE, 1e12): "Tbyte/s Tbyte/second",
    (units.CLOCK, 1.0): "hz cycle/second",
    (units.CLOCK, 1e6): "Mhz",
    (units.CLOCK, 1e9): "Ghz cycle/nsecond",
    (units.SECTORS, 1.0): "sector sectors",
    (units.SECTOR_RATE, 1e9): "sector/ns",
    (units.SECTOR_RATE, 1e3): "sector/ms",
    (units.SECTOR_RATE, 1.0): "sector/s sector/second",
    (units.CYCLES, 1.0): "cycle",
    (units.PERCENT, 1.0): "%",
    (units.OTHER, 1.0): "inst inst/cycle warp byte/block byte/cycle Kbyte/block sector/cycle %/Kbyte nsx",
}


@pytest.mark.parametrize("unit", SPELLINGS, ids=str)
def test_unit_spellings(unit: tuple[str, float]) -> None:
    for spelling in SPELLINGS[unit].split():
        assert units.parse(spelling) == unit, spelling
        assert units.parse(f" [{spelling.upper()}] ") == unit, spelling


def test_no_unit() -> None:
    assert units.parse(" ").dimension == units.NONE


@pytest.mark.parametrize(
    ("label", "parts"),
    [
        ("Duration (ns)", ("Duration", "ns")),
        ("Duration(nsec)", ("Duration", "nsec")),
        ("Block Size [block]", ("Block Size", "block")),
        ("Time(%)", ("Time", "%")),
        ("Name", ("Name", "")),
    ],
)
def test_unit_in_a_column_name(label: str, parts: tuple[str, str]) -> None:
    assert units.split_label(label) == parts


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("(8, 64, 1)", (8, 64, 1)),
        ("(8,64,1)", (8, 64, 1)),
        ("   64,   64,    1", (64, 64, 1)),
        ("1,024,   32,    1", (1024, 32, 1)),
        ("8x64x1", (8, 64, 1)),
        ("   8   64    1", (8, 64, 1)),
        ("(8; 64; 1)", (8, 64, 1)),
        ("4,096", (4096,)),
        ("48", (48,)),
        ("", None),
        ("n/a", None),
    ],
)
def test_shape(text: str, shape: tuple[int, ...] | None) -> None:
    assert dims(text) == shape
