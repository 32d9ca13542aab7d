"""Numbers as a person types them: exact, in the unit of their key, refused in any other."""

import pytest

from presets.errors import PresetError
from presets.quantity import parse_number, unit_of


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("100MiB", "l2.bytes", 100 * 2**20),
        ("100MB", "l2.bytes", 100 * 10**6),
        ("100 MiB", "l2.bytes", 100 * 2**20),
        ("25e6", "l2.effective_bytes", 25_000_000),
        ("25e6B", "l2.effective_bytes", 25_000_000),
        ("0.5KiB", "l2.bytes", 512),
        ("1.005GB", "l2.bytes", 1_005_000_000),
        ("52_428_800", "l2.bytes", 52_428_800),
        ("1.5GHz", "sm.clock_hz", 1_500_000_000),
        ("2.007GHz", "sm.clock_hz", 2_007_000_000),
        ("1830MHz", "sm.clock_hz", 1_830_000_000),
        ("2.5us", "launch.floor_s", 2.5e-6),
        ("300ns", "dram.latency_s", 3e-7),
        ("3.35TB/s", "dram.bandwidth_bytes_per_s", 3_350_000_000_000),
        ("1GiB/s", "dram.bandwidth_bytes_per_s", 2**30),
        ("258", "l2_timing.near_latency_cycles", 258),
        ("-5", "sm.count", -5),
        ("1e-999999999", "launch.floor_s", 0),
    ],
)
def test_a_number_is_read_exactly(text: str, key: str, value: float) -> None:
    answer = parse_number(text, key, "--set")
    assert answer == value
    assert isinstance(answer, int) == float(value).is_integer()


@pytest.mark.parametrize("text", ["xor", "", "1__0", "1_", "_1", "nan", "inf", "--5", "0x10", "1.2.3"])
def test_what_is_no_number_is_left_to_the_spec(text: str) -> None:
    assert parse_number(text, "l2.bytes", "--set") is None


@pytest.mark.parametrize(
    ("text", "key", "words"),
    [
        ("100Mib", "l2.bytes", ["--set", "l2.bytes", "unknown unit 'Mib'", "MiB", "us"]),
        ("100MiB", "sm.clock_hz", ["sm.clock_hz is in hz", "'100MiB' is in bytes"]),
        ("1GHz", "sm.registers", ["sm.registers is in no unit", "is in hz"]),
        ("258ns", "l2_timing.near_latency_cycles", ["is in cycles", "'258ns' is in s"]),
        ("64B", "l2.slice_bytes_per_cycle", ["is in bytes_per_cycle", "is in bytes"]),
        ("3TB", "dram.bandwidth_bytes_per_s", ["is in bytes_per_s", "is in bytes"]),
        ("1e999", "sm.clock_hz", ["'1e999' is not a finite number"]),
    ],
)
def test_a_wrong_unit_is_refused_with_both_kinds(text: str, key: str, words: list[str]) -> None:
    with pytest.raises(PresetError) as caught:
        parse_number(text, key, "--set")
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("key", "unit"),
    [
        ("l2.bytes", "bytes"),
        ("l2.effective_bytes", "bytes"),
        ("dram.bandwidth_bytes_per_s", "bytes_per_s"),
        ("l2.slice_bytes_per_cycle", "bytes_per_cycle"),
        ("sm.clock_hz", "hz"),
        ("launch.floor_s", "s"),
        ("tma.launch_latency_cycles", "cycles"),
        ("sm.threads", ""),
        ("sm.count", ""),
    ],
)
def test_a_name_ends_in_its_unit(key: str, unit: str) -> None:
    assert unit_of(key) == unit
