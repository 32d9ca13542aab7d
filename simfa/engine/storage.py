"""Arrays whose records do not straddle the host's cache lines: a record of 64 bytes is one line, not two."""

from typing import Any

import numpy as np

LINE_BYTES = 64  # of the host


def zeros(shape: int | tuple[int, ...], dtype: Any) -> np.ndarray:
    """As `numpy.zeros`, beginning at a cache line of the host."""
    kind = np.dtype(dtype)
    size = int(np.prod(shape)) * kind.itemsize
    store = np.zeros(size + LINE_BYTES, np.uint8)
    first = -store.ctypes.data % LINE_BYTES
    return store[first : first + size].view(kind).reshape(shape)
