"""Address mappings: bit by bit, one to one, and refused where the channel has another organisation."""

import numpy as np
import pytest

from presets import loader
from presets.dram_specs import DramChannelSpec
from presets.errors import PresetError
from simfa import dram_channel
from simfa.memory.channel.mapping import COORDINATES, MAPPINGS

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


@pytest.mark.parametrize("name", MAPPINGS)
def test_every_block_has_its_own_place(name: str) -> None:
    seed = np.random.default_rng(5)
    address = np.unique(seed.integers(0, 1 << 25, 200_000)) * 32
    at = MAPPINGS[name](address)
    places = np.stack([at[key] for key in COORDINATES], axis=1)
    assert len(np.unique(places, axis=0)) == address.size
    used = sorted(bit for bits in MAPPINGS[name].bits.values() for bit in bits)
    assert used == list(range(5, 30))  # 32-byte blocks of 1 GiB, each bit once
    assert SPEC.capacity_bytes() == 1 << 30


def test_a_mapping_that_does_not_fit_is_refused() -> None:
    with pytest.raises(PresetError, match="addresses 4 banks, hbm3-5200 has 8"):
        dram_channel.mapping_for(loader.override(SPEC, {"organisation.banks": "8"}), "M1")
