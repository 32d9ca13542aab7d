"""Tensor maps of one to five dimensions, as cuTensorMapEncodeTiled declares them (Table 3, DEF_TMAP)."""

from dataclasses import dataclass

import numpy as np

from simfa.engine import boxes
from simfa.engine.opcodes import RANKS


class TensorMapError(ValueError):
    """A tensor map that cannot be, or an address outside its tensor."""


@dataclass(frozen=True)
class TensorMap:
    """A tensor in global memory and the box that one TMA operation moves.

    Dimension 0 is contiguous; `strides_bytes` are those of the dimensions after it, so one fewer.
    """

    name: str
    dims: tuple[int, ...]
    strides_bytes: tuple[int, ...]
    box: tuple[int, ...]
    element_bytes: int
    base: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.rank <= RANKS:
            raise TensorMapError(f"{self.name}: {self.rank} dimensions; allowed: 1 to {RANKS}")
        if len(self.strides_bytes) != self.rank - 1 or len(self.box) != self.rank:
            raise TensorMapError(
                f"{self.name}: {self.rank} dimensions take {self.rank - 1} strides and a box of {self.rank}, got "
                f"{len(self.strides_bytes)} and {len(self.box)}"
            )

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.dims)

    @property
    def all_strides_bytes(self) -> tuple[int, ...]:
        """Strides of every dimension, that of dimension 0 included."""
        return (self.element_bytes, *self.strides_bytes)

    def address(self, coordinates: tuple[int, ...]) -> int:
        """The byte at which an element lies, inside the tensor or not."""
        return self.base + sum(c * s for c, s in zip(coordinates, self.all_strides_bytes, strict=True))

    def coordinates(self, address: int) -> tuple[int, ...]:
        """The element at an address; TensorMapError if no element of the tensor starts there."""
        left = address - self.base
        found = [0] * self.rank
        for axis in sorted(range(self.rank), key=lambda axis: -self.all_strides_bytes[axis]):
            stride = self.all_strides_bytes[axis]
            if self.dims[axis] > 1 and stride > 0:
                found[axis] = min(max(left, 0) // stride, self.dims[axis] - 1)
                left -= found[axis] * stride
        if left != 0:
            raise TensorMapError(f"no element of tensor map {self.name} starts at address {address:#x}")
        return tuple(found)

    def walk(self) -> tuple[list[int], bool]:
        """Dimensions 1 and up from the smallest stride to the largest, and whether rows of a box overlap."""
        axes = sorted(range(1, self.rank), key=lambda axis: self.all_strides_bytes[axis])
        moving = [axis for axis in axes if self.box[axis] > 1]
        extents = [self.box[0] * self.element_bytes]
        for axis in moving:
            extents.append((self.box[axis] - 1) * self.all_strides_bytes[axis] + extents[-1])
        overlaps = any(
            self.all_strides_bytes[axis] < extent for axis, extent in zip(moving, extents[:-1], strict=True)
        )
        return axes, overlaps


def encode(maps: tuple[TensorMap, ...]) -> tuple[np.ndarray, np.ndarray]:
    """The maps as TENSOR_MAP and DIMENSION records, shapes (maps,) and (maps, RANKS)."""
    records = np.zeros(max(len(maps), 1), boxes.TENSOR_MAP)
    dimensions = np.zeros((len(records), RANKS), boxes.DIMENSION)
    dimensions["size"] = dimensions["box"] = 1
    for index, tensor in enumerate(maps):
        axes, overlaps = tensor.walk()
        element_shift = tensor.element_bytes.bit_length() - 1  # an odd size counts as the power of two below it
        records[index] = (tensor.base, tensor.element_bytes, element_shift, overlaps)
        own = dimensions[index]
        own["walk"][1:] = [*axes, *range(tensor.rank, RANKS)]
        own["size"][: tensor.rank] = tensor.dims
        own["box"][: tensor.rank] = tensor.box
        own["stride_bytes"][: tensor.rank] = tensor.all_strides_bytes
    return records, dimensions


def last_byte(tensor: TensorMap) -> int:
    """The end of the tensor: one past its last byte."""
    corner = tuple(size - 1 for size in tensor.dims)
    return tensor.address(corner) + tensor.element_bytes
