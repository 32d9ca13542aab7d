"""The one decorator of all compiled code, with an on-disk cache that can never be stale.

numba's cache looks only at the file of the function it compiles: after an edit in a callee's file the caller
would silently return old results. So the cache folder is named by a hash of every compiled source and of the
versions of Python, numba and NumPy. `NUMBA_CACHE_DIR` moves the folder; `NUMBA_DISABLE_JIT=1` runs pure Python.
"""

import hashlib
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import numba
import numpy as np

_PACKAGE = Path(__file__).resolve().parent.parent
_COMPILED_FOLDERS = ("engine", "memory")


def source_digest() -> str:
    """Sixteen hex digits that change with any compiled source and with the versions beneath it."""
    digest = hashlib.sha256(f"{sys.version}|{numba.__version__}|{np.__version__}".encode())
    for folder in _COMPILED_FOLDERS:
        for path in sorted((_PACKAGE / folder).rglob("*.py")):
            digest.update(path.relative_to(_PACKAGE).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def cache_folder() -> Path:
    """Where compiled kernels of exactly these sources are kept."""
    home = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "sim-fa" / "compiled" / source_digest()


def _writable(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".probe-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError:
        return Path(tempfile.mkdtemp(prefix="sim-fa-"))
    return folder


config: Any = numba.config
config.CACHE_DIR = str(_writable(cache_folder()))

# Without numba's reference counting in the loop: every array is allocated before the kernel starts.
OPTIONS: dict[str, Any] = {"cache": True, "_nrt": False, "error_model": "numpy"}
kernel = numba.njit(**OPTIONS)
# For what runs once per line: a call would pass every array of every component word by word.
inlined_kernel = numba.njit(**OPTIONS, forceinline=True)
