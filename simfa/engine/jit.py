"""The decorators of all compiled code, with an on-disk cache that can never be stale.

numba's cache looks only at the file of the function it compiles: after an edit in a callee's file the caller
would silently return old results. So the cache folder is named by a hash of every compiled source and of the
versions of Python, numba and NumPy. `NUMBA_CACHE_DIR` moves the folder; `NUMBA_DISABLE_JIT=1` runs pure Python.
"""

import gc
import hashlib
import os
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba.core import types

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

# Without numba's reference counting in the loop: every array is allocated before the kernel starts. And without
# the wrapper that makes a function a C callback, which nothing here needs.
OPTIONS: dict[str, Any] = {"cache": True, "_nrt": False, "error_model": "numpy", "no_cfunc_wrapper": True}
# Inner kernels are called by compiled code only. Without the wrapper that unpacks a component's arrays from Python
# objects, again and again for every kernel, all of them compile in two thirds of the time.
INNER: dict[str, Any] = OPTIONS | {"no_cpython_wrapper": True}


def _inner(options: dict[str, Any]) -> Callable[[Any], Any]:
    compiled = numba.njit(**options)

    def decorate(function: Any) -> Any:
        dispatcher = compiled(function)
        if not config.DISABLE_JIT:  # else it is the function itself
            dispatcher._insert = lambda *overload, **more: None  # keep it out of what Python finds
            dispatcher._compile_for_args = partial(_refuse, function)
            dispatcher.get_call_template = partial(_call_template, dispatcher.get_call_template)
        return dispatcher

    return decorate


def _call_template(original: Any, args: Any, kws: Any) -> Any:
    """Compile once for all integers: numba would once more for every constant and every width of a field."""
    return original([_wide(kind) for kind in args], {name: _wide(kind) for name, kind in kws.items()})


def _wide(kind: Any) -> Any:
    kind = types.unliteral(kind)
    return types.int64 if kind in types.signed_domain else kind


def _refuse(function: Any, *args: Any, **kwargs: Any) -> None:
    name = f"{function.__module__}.{function.__qualname__}"
    raise TypeError(f"{name} is for compiled code only; what Python calls is decorated with @entry")


def entry(function: Any) -> Any:
    """A kernel that Python calls; it is compiled, with all that it calls, when it is first called."""
    dispatcher = numba.njit(**OPTIONS)(function)
    if not config.DISABLE_JIT:
        dispatcher._compile_for_args = partial(_without_collector, dispatcher._compile_for_args)
    return dispatcher


def _without_collector(compile_for: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Compiling makes millions of objects and drops few of them: the collector would go through them in vain."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        return compile_for(*args, **kwargs)
    finally:
        if was_on:
            gc.enable()


kernel = _inner(INNER)
# For what runs once per line, or is called in one place: a call passes every array of every component word by word.
inlined_kernel = _inner(INNER | {"forceinline": True})
