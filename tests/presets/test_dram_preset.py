"""The DRAM channel presets: every value labelled and sourced, the scaling as it says, bad values refused."""

import math

import pytest

from presets import loader
from presets.dram_specs import DramChannelSpec
from presets.errors import PresetError
from presets.quantity import FILE_LABELS
from presets.specs import GpuSpec


@pytest.mark.parametrize("name", loader.names(DramChannelSpec))
def test_every_value_has_a_label_and_a_source(name: str) -> None:
    spec = loader.load(DramChannelSpec, name)
    assert spec.name == name
    assert set(spec.provenance) == set(loader.flatten(spec))
    for where in spec.provenance.values():
        assert where.label in FILE_LABELS
        assert len(where.source) > 10


def test_hbm3_5200_is_the_6400_preset_in_nanoseconds() -> None:
    spec = loader.load(DramChannelSpec, "hbm3-5200")
    at_6400 = {
        "CL": 20, "RCDRD": 31, "RCDWR": 15, "RP": 26, "RAS": 45, "RC": 72, "WR": 33, "RTP": 9, "CWL": 10,
        "CCDL": 4, "CCDR": 3, "RRDS": 4, "RRDL": 5, "WTRS": 7, "WTRL": 10, "RTW": 20, "FAW": 24, "RFC": 560,
        "REFI": 6240,
    }  # fmt: skip
    in_clocks = {"BL": 2, "CCDS": 2, "PPD": 2}
    scaled = {name: math.ceil(clocks * 0.625 * 1.3 - 1e-9) for name, clocks in at_6400.items()}
    assert spec.timing.by_name() == {f"n{name}": clocks for name, clocks in (scaled | in_clocks).items()}
    assert spec.bandwidth_bytes_per_s() == 41.6e9  # 64 bits at 5.2 Gb/s
    assert spec.capacity_bytes() == 1 << 30
    assert "not a vendor" in spec.note


def test_hbm2e_is_the_hbm2_preset_in_nanoseconds() -> None:
    spec = loader.load(DramChannelSpec, "hbm2e-3186")
    at_2400 = {"CL": 17, "CWL": 6, "RCDRD": 17, "RCDWR": 14, "RP": 17, "RAS": 40, "RC": 57, "WR": 19, "RTP": 6,
               "WTRS": 8, "WTRL": 10}  # fmt: skip
    nanoseconds = {name: clocks * 0.833 for name, clocks in at_2400.items()}
    nanoseconds |= {"RRDS": 4, "RRDL": 4, "FAW": 15, "RFC": 350, "REFI": 3900}
    found = spec.timing.by_name()
    for name, duration in nanoseconds.items():
        assert found[f"n{name}"] == math.ceil(duration * 1.593 - 1e-9), name
    assert found["nRTW"] == found["nCL"] + found["nBL"] + 2 - found["nCWL"]
    assert spec.bandwidth_bytes_per_s() == 64 / 8 * 2 * 1.593e9


def test_lpddr5x_is_the_lpddr5_preset_in_nanoseconds() -> None:
    spec = loader.load(DramChannelSpec, "lpddr5x-8533")
    at_6400 = {"CL": 17, "CWL": 9, "RCDRD": 15, "RCDWR": 15, "RP": 15, "RAS": 34, "RC": 49, "WR": 28, "RTP": 8,
               "WTRS": 5, "WTRL": 10}  # fmt: skip
    nanoseconds = {name: clocks * 1.25 for name, clocks in at_6400.items()}
    nanoseconds |= {"RRDS": 5, "RRDL": 5, "FAW": 20, "RFC": 280, "REFI": 3906}
    found = spec.timing.by_name()
    for name, duration in nanoseconds.items():
        assert found[f"n{name}"] == math.ceil(duration * 1.066625 - 1e-9), name
    assert spec.bandwidth_bytes_per_s() == pytest.approx(16 / 8 * 8533e6, rel=1e-6)


@pytest.mark.parametrize("name", ["h800", "h100-sxm", "h800-pcie", "gb10"])
def test_a_gpus_channels_have_the_bandwidth_of_their_preset(name: str) -> None:
    dram = loader.load(GpuSpec, name).dram
    assert dram.channel_preset is not None
    channel = loader.load(DramChannelSpec, dram.channel_preset)
    assert dram.standard.lower() == channel.name
    assert channel.bandwidth_bytes_per_s() == pytest.approx(dram.channel_bandwidth_bytes_per_s, rel=1e-3)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("controller.drain_below", "0.9", "must not exceed drain_above"),
        ("controller.read_queue_entries", "0", "greater than or equal to 1"),
        ("timing.cl_cycles", "-1", "greater than or equal to 0"),
        ("organisation.pseudo_channels", "3", "1, 2 or 4"),
        ("clock.frequency_hz", "1.3ns", "is in hz"),
    ],
)
def test_a_bad_value_is_refused(key: str, value: str, said: str) -> None:
    with pytest.raises(PresetError, match=said):
        loader.override(loader.load(DramChannelSpec, "hbm3-5200"), {key: value})


def test_an_unknown_preset_says_what_there_is() -> None:
    with pytest.raises(PresetError, match=r"unknown dram 'hbm3'\. Did you mean 'hbm3-5200'"):
        loader.load(DramChannelSpec, "hbm3")
