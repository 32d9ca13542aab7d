"""Address mappings: which address bits select pseudo-channel, SID, bank group, bank, row and column.

A mapping is data: for each coordinate the address bits that form it, lowest first, and the coordinate bits that
are folded into it by XOR. A new mapping is one entry of `MAPPINGS`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

COORDINATES = ("pseudo_channel", "sid", "bank_group", "bank", "row", "column")
Coordinates = dict[str, np.ndarray]


def _bits(first: int, count: int) -> tuple[int, ...]:
    return tuple(range(first, first + count))


@dataclass(frozen=True)
class AddressMapping:
    """`bits`: address bits by coordinate, lowest first. `folds`: (coordinate, source, its first bit) by XOR."""

    bits: Mapping[str, tuple[int, ...]]
    folds: tuple[tuple[str, str, int], ...] = field(default=())

    def table(self) -> tuple[np.ndarray, np.ndarray]:
        """For compiled code: runs of bits (coordinate, first, mask, place), folds (to, from, first, mask)."""
        runs = [
            (COORDINATES.index(name), first, (1 << length) - 1, place)
            for name in COORDINATES
            for place, first, length in _runs(self.bits[name])
        ]
        folds = [
            (COORDINATES.index(name), COORDINATES.index(source), first, (1 << len(self.bits[name])) - 1)
            for name, source, first in self.folds
        ]
        return np.array(runs, np.int64).reshape(-1, 4), np.array(folds, np.int64).reshape(-1, 4)

    def __call__(self, address: np.ndarray) -> Coordinates:
        """The coordinates of byte addresses; bits above the channel's capacity are ignored."""
        plain = {name: _gather(address, self.bits[name]) for name in COORDINATES}
        mapped = dict(plain)
        for name, source, first in self.folds:
            mask = (1 << len(self.bits[name])) - 1
            mapped[name] = mapped[name] ^ ((plain[source] >> first) & mask)
        return mapped


def _gather(address: np.ndarray, bits: tuple[int, ...]) -> np.ndarray:
    """The selected address bits as one number, run by run of consecutive ones."""
    value = np.zeros_like(address)
    for place, first, length in _runs(bits):
        value |= ((address >> first) & ((1 << length) - 1)) << place
    return value


def _runs(bits: tuple[int, ...]) -> Iterator[tuple[int, int, int]]:
    """Runs of consecutive address bits: (place in the number, first bit, length)."""
    place = 0
    while place < len(bits):
        length = 1
        while place + length < len(bits) and bits[place + length] == bits[place] + length:
            length += 1
        yield place, bits[place], length
        place += length


# 64 B stay in one row, then pseudo-channels and bank groups alternate; a row's next kilobytes are 512 B apart.
_M1 = {
    "column": (5, *_bits(9, 4)),
    "pseudo_channel": (6,),
    "bank_group": _bits(7, 2),
    "bank": _bits(13, 2),
    "sid": (15,),
    "row": _bits(16, 14),
}
_MOP4 = {
    "column": (5, 6, *_bits(13, 3)),
    "pseudo_channel": (7,),
    "sid": (8,),
    "bank_group": _bits(9, 2),
    "bank": _bits(11, 2),
    "row": _bits(16, 14),
}
_ROBARACOCH = {
    "column": _bits(5, 5),
    "pseudo_channel": (10,),
    "sid": (11,),
    "bank_group": _bits(12, 2),
    "bank": _bits(14, 2),
    "row": _bits(16, 14),
}

_M1_HBM2E = {
    "column": (5, *_bits(8, 4)),
    "pseudo_channel": (),
    "bank_group": _bits(6, 2),
    "bank": _bits(12, 2),
    "sid": (),
    "row": _bits(14, 16),
}
_M1_LPDDR5X = _M1_HBM2E | {"column": (5, *_bits(8, 5)), "bank": _bits(13, 2), "row": _bits(15, 16)}

MAPPINGS = {
    "M1": AddressMapping(_M1),
    "M1-HBM2E": AddressMapping(_M1_HBM2E),
    "M1-LPDDR5X": AddressMapping(_M1_LPDDR5X),
    "M1X": AddressMapping(
        _M1, (("bank_group", "row", 0), ("bank", "row", 2), ("sid", "row", 4), ("pseudo_channel", "row", 5))
    ),
    "RoBaRaCoCh": AddressMapping(_ROBARACOCH),
    "MOP4CLXOR": AddressMapping(
        _MOP4,
        (("pseudo_channel", "column", 0), ("sid", "column", 1), ("bank_group", "column", 2), ("bank", "column", 4)),
    ),
}
