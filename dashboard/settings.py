"""What the person who runs the server may set, by environment variables, each with its default.

SIMFA_CACHE_DIR        where simulation results are kept; default `sim-fa/answers` in XDG_CACHE_HOME or ~/.cache.
                       Results are read back by pickle: name only a folder that nobody else may write to.
SIMFA_CACHE_BYTES      how much they may take together, as `1GB` or `500MiB`; default 1 GB; 0 keeps nothing.
SIMFA_DASK_SCHEDULER   address of a Dask scheduler, as `tcp://10.0.0.1:8786`: sweeps run there; default none.
"""

import os
from pathlib import Path

from presets.errors import PresetError
from presets.quantity import parse_number

CACHE_BYTES = 10**9


def cache_folder() -> Path:
    """Where simulation results are kept between runs, sessions and processes."""
    named = os.environ.get("SIMFA_CACHE_DIR")
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sim-fa" / "answers"


def cache_bytes() -> int:
    """What the kept results may take together, bytes. Raises PresetError on a value that is no size."""
    text = os.environ.get("SIMFA_CACHE_BYTES")
    if text is None:
        return CACHE_BYTES
    size = parse_number(text, "cache_bytes", "SIMFA_CACHE_BYTES")
    if not isinstance(size, int) or size < 0:
        raise PresetError(f"SIMFA_CACHE_BYTES: '{text}' is no size; write it as 1GB or 500MiB")
    return size


def dask_scheduler() -> str | None:
    """The address of the Dask scheduler that runs sweeps, if one is named."""
    return os.environ.get("SIMFA_DASK_SCHEDULER") or None
