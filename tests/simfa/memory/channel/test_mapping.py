"""Address mappings: bit by bit, one to one, and refused where the channel has another organisation."""

import numpy as np
import pytest

from presets import loader
from presets.dram_specs import DramChannelSpec
from presets.errors import PresetError
from simfa import dram_channel
from simfa.memory.bounded import commands
from simfa.memory.channel.mapping import COORDINATES, MAPPINGS
from tests.simfa.compiled import locate

SPEC = loader.load(DramChannelSpec, "hbm3-5200")


def coordinates(name: str, address: int) -> dict[str, int]:
    return {key: int(value[0]) for key, value in MAPPINGS[name](np.array([address])).items()}


def test_m1_keeps_64_bytes_in_a_row_and_alternates_pseudo_channels() -> None:
    assert coordinates("M1", 32) == dict.fromkeys(COORDINATES, 0) | {"column": 1}
    assert coordinates("M1", 64) == dict.fromkeys(COORDINATES, 0) | {"pseudo_channel": 1}
    assert coordinates("M1", 512)["column"] == 2
    assert coordinates("M1", 3 << 7)["bank_group"] == 3
    assert coordinates("M1", (2 << 13) + (1 << 15) + (77 << 16)) == {
        "pseudo_channel": 0, "sid": 1, "bank_group": 0, "bank": 2, "row": 77, "column": 0,
    }  # fmt: skip


def test_m1x_folds_the_row_into_the_bank() -> None:
    folded = coordinates("M1X", 0b110110 << 16)
    assert folded == {"pseudo_channel": 1, "sid": 1, "bank_group": 2, "bank": 1, "row": 54, "column": 0}


CAPACITY_BITS = dict.fromkeys(MAPPINGS, 30) | {"M1-LPDDR5X": 31}  # 1 GiB, or 2 GiB


@pytest.mark.parametrize("name", MAPPINGS)
def test_every_block_has_its_own_place(name: str) -> None:
    seed = np.random.default_rng(5)
    address = np.unique(seed.integers(0, 1 << 25, 200_000)) * 32
    at = MAPPINGS[name](address)
    places = np.stack([at[key] for key in COORDINATES], axis=1)
    assert len(np.unique(places, axis=0)) == address.size
    used = sorted(bit for bits in MAPPINGS[name].bits.values() for bit in bits)
    assert used == list(range(5, CAPACITY_BITS[name]))  # 32-byte blocks, each bit once


@pytest.mark.parametrize("name", loader.names(DramChannelSpec))
def test_a_presets_own_mapping_addresses_all_of_it(name: str) -> None:
    spec = loader.load(DramChannelSpec, name)
    dram_channel.mapping_for(spec, spec.controller.mapping)
    assert spec.capacity_bytes() == 1 << CAPACITY_BITS[spec.controller.mapping]


@pytest.mark.parametrize("name", MAPPINGS)
def test_the_compiled_form_gives_the_same_bank_and_row(name: str) -> None:
    # Sizes are powers of two, so the number of a bank is its coordinates' bits side by side.
    mapping = MAPPINGS[name]
    runs, folds = mapping.table()
    bits = {coordinate: len(mapping.bits[coordinate]) for coordinate in COORDINATES}
    config = np.zeros(1, commands.CONFIG)
    config["sids"], config["groups"] = 1 << bits["sid"], 1 << bits["bank_group"]
    config["banks"] = 1 << bits["bank"]
    channels = commands.no_channels()._replace(config=config, runs=runs, folds=folds)
    address = np.random.default_rng(7).integers(0, 1 << 24, 300) * 128
    at = mapping(address)
    group = (at["pseudo_channel"] * config[0]["sids"] + at["sid"]) * config[0]["groups"] + at["bank_group"]
    expected = list(zip((group * config[0]["banks"] + at["bank"]).tolist(), at["row"].tolist(), strict=True))
    assert [locate(channels, config[0], int(one)) for one in address] == expected


def test_a_mapping_that_does_not_fit_is_refused() -> None:
    with pytest.raises(PresetError, match="addresses 4 banks, hbm3-5200 has 8"):
        dram_channel.mapping_for(loader.override(SPEC, {"organisation.banks": "8"}), "M1")
