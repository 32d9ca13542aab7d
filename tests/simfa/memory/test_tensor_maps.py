"""TMA address generation: boxes of 1D to 5D tensor maps, clipped at the tensor's borders, each line once."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simfa.trace.tensor_map import TensorMap, TensorMapError
from tests.simfa.harness import LINE, SETUP, Outcome, program, run, tiny


def load(tensor: TensorMap, first: tuple[int, ...], **gpu: Any) -> Outcome:
    """One box, from issue to its MB_WAIT."""
    at = ",".join(map(str, first))
    return run(tiny(**gpu), [program(f"TMA_TENSOR map=0 at={at} sid=0", "MB_WAIT sid=0")], [tensor])


def requested(done: Outcome) -> list[int]:
    """Lines in L2 afterwards, which is cold before."""
    tags = done.machine.memory.cache.tags
    return sorted(int(tag) - 1 for tag in tags[np.nonzero(tags)])


def lines_of(tensor: TensorMap, first: tuple[int, ...]) -> set[int]:
    """The lines of a box by definition: those of every element inside the tensor."""
    ranges = [
        range(max(start, 0), min(start + box, size))
        for start, box, size in zip(first, tensor.box, tensor.dims, strict=True)
    ]
    found = set()
    for element in product(*ranges):
        address = tensor.address(element)
        found |= set(range(address // LINE, (address + tensor.element_bytes - 1) // LINE + 1))
    return found


@st.composite
def boxes(draw: Any) -> tuple[TensorMap, tuple[int, ...]]:
    """Tensors with strides in any order, gaps, overlaps and repetition, and a box anywhere near them."""
    rank = draw(st.integers(1, 5))
    dims = tuple(draw(st.integers(1, 9)) for _ in range(rank))
    box = tuple(draw(st.integers(1, 5)) for _ in range(rank))
    element = draw(st.sampled_from([1, 2, 4, 16]))
    strides = tuple(draw(st.sampled_from([0, 16, 64, 80, 128, 256, 2048, 5008])) for _ in range(rank - 1))
    first = tuple(draw(st.integers(-4, 10)) for _ in range(rank))
    return TensorMap("t", dims, strides, box, element, draw(st.sampled_from([0, 32, 4096]))), first


@given(boxes())
@settings(max_examples=300, derandomize=True, deadline=None)
def test_every_line_of_a_box_is_requested_once(case: tuple[TensorMap, tuple[int, ...]]) -> None:
    tensor, first = case
    done = load(tensor, first, sets=4096, ways=16)
    expected = lines_of(tensor, first)
    assert set(requested(done)) == expected
    assert done.counted("accesses") == int(done.machine.engines.engines[0]["load_lines"]) == len(expected)


def test_a_5d_box_takes_two_lines_a_cycle() -> None:
    # 2 x 3 x 2 x 2 rows of one line each, all apart: 24 lines leave from cycle 170 to 181, the last is back at 439.
    strides = (256, 1024, 8192, 65536)
    tensor = TensorMap("t", (64, 8, 8, 8, 8), strides, (64, 2, 3, 2, 2), 2)
    done = load(tensor, (0, 1, 2, 3, 4))
    assert done.counted("accesses") == 24
    assert done.cycles == SETUP + 11 + 258


def test_border_boxes_fetch_only_what_is_inside() -> None:
    tensor = TensorMap("t", (64, 100), (128,), (64, 16), 2)
    for first_row, rows in ((0, 16), (-15, 1), (-16, 0), (90, 10), (99, 1), (100, 0)):
        done = load(tensor, (0, first_row))
        assert done.counted("accesses") == rows
        assert int(done.machine.engines.engines[0]["requested_bytes"]) == rows * 128
    assert load(tensor, (64, 0)).counted("accesses") == 0
    assert load(tensor, (63, 0)).counted("accesses") == 16


def test_elements_of_a_line_and_rows_of_a_line_are_one_request() -> None:
    packed = TensorMap("t", (16, 1000), (32,), (16, 8), 2)  # four rows of 32 bytes in a line
    assert load(packed, (0, 0)).counted("accesses") == 2
    assert load(packed, (0, 2)).counted("accesses") == 3
    transposed = TensorMap("t", (16, 50, 1000), (32_000, 32), (16, 3, 8), 2)  # neighbours differ in dimension 2
    assert load(transposed, (0, 0, 0), sets=4096).counted("accesses") == 3 * 2
    window = TensorMap("t", (128, 1000), (2,), (128, 64), 1)  # sliding windows: rows overlap
    assert load(window, (0, 0)).counted("accesses") == 2


def test_strides_that_decide_the_slice_spread_or_pile_up() -> None:
    piled = TensorMap("t", (64, 64), (2048,), (64, 32), 2)
    gpu = {"slices": 16, "slice_cycles": 2.0, "sets": 256}
    assert load(piled, (0, 0), **gpu).cycles > load(piled, (0, 0), slice_hash="xor", **gpu).cycles


def test_a_bulk_copy_has_no_tensor_map_to_set_up() -> None:
    bulk = program("TMA_BULK gmem=100 bytes=256 sid=0", "MB_WAIT sid=0")  # bytes 100 to 355: lines 0 to 2
    done = run(tiny(), [bulk])
    assert requested(done) == [0, 1, 2]
    assert done.cycles == 40 + 1 + 258
    tensor = TensorMap("t", (384,), (), (256,), 1)
    assert load(tensor, (0,)).cycles == 40 + 130 + 258
    store = program("TMA_BULK_STORE gmem=0 bytes=512 gid=3", "TMA_COMMIT gid=3", "TMA_WAIT gid=3 count=0")
    assert run(tiny(), [store]).cycles == 40 + 1 + 258


def test_addresses_and_coordinates_name_the_same_element() -> None:
    tensor = TensorMap("k", (128, 8, 1000, 2), (256, 2048, 2_048_000), (128, 1, 176, 1), 2, base=4096)
    assert tensor.address((0, 3, 176, 1)) == 4096 + 3 * 256 + 176 * 2048 + 2_048_000
    assert tensor.coordinates(tensor.address((5, 3, 176, 1))) == (5, 3, 176, 1)
    for outside in (0, 4097, 4096 + 2 * 2_048_000):
        with pytest.raises(TensorMapError, match="no element of tensor map k"):
            tensor.coordinates(outside)


@pytest.mark.parametrize(("dims", "strides", "box"), [((), (), ()), ((1,) * 6, (1,) * 5, (1,) * 6),
                                                      ((4, 4), (), (4, 4)), ((4, 4), (8,), (4,))])  # fmt: skip
def test_maps_that_cannot_be(dims: Any, strides: Any, box: Any) -> None:
    with pytest.raises(TensorMapError, match="t: "):
        TensorMap("t", dims, strides, box, 2)
