"""Scattered sets: in range, alike in pure Python, and as uneven as random placement."""

import numpy as np

from simfa.memory import hashing
from tests.simfa.compiled import chosen_set

SLICES, SETS = 16, 768


def scattered(lines: np.ndarray) -> np.ndarray:
    function = getattr(hashing.scattered_set, "py_func", hashing.scattered_set)
    return np.asarray(function(lines, SLICES, SETS))


def test_sets_are_in_range_and_filled_as_if_at_random() -> None:
    count = np.bincount(scattered(np.arange(2**17, dtype=np.int64)), minlength=SETS)
    assert len(count) == SETS
    mean = 2**17 / SETS / SLICES  # lines of one slice a set: 10.67, Poisson variance 10.67
    one_slice = np.bincount(scattered(np.arange(0, 2**17, SLICES, dtype=np.int64)), minlength=SETS)
    assert abs(one_slice.mean() - mean) < 1e-9
    assert 0.8 < one_slice.var() / mean < 1.2


def test_compiled_and_pure_python_agree() -> None:
    lines = np.random.default_rng(1).integers(0, 2**32 - 2, 50)
    assert [chosen_set(line, SLICES, SETS, hashing.SCATTERED) for line in lines] == list(scattered(lines))
    assert [chosen_set(line, SLICES, SETS, hashing.ROTATED) for line in lines] != list(scattered(lines))
