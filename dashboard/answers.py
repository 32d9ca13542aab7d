"""Simulation results kept on disk by content, shared by all sessions and processes of a machine.

The name of a result is that of its experiment, seed and observed SM, with the sources of the simulator and of the
record (`name_of`); what changes any of them changes the name, so a kept result is never out of date. joblib.Memory
writes each one whole or not at all. A file that cannot be read is computed again and said; a disk that cannot be
written costs the result nothing but its keeping, and is said too.
"""

import contextlib
import hashlib
import logging
import shutil
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from joblib import Memory

import presets
from dashboard import settings, spans
from presets.errors import PresetError
from presets.experiment import Experiment
from simfa import coverage

Answer = dict[str, Any]
UNREADABLE = "The result kept on disk could not be read; it is computed again."
_COMPRESSION = ("zlib", 3)
logging.getLogger("joblib").addHandler(logging.NullHandler())  # a damaged file is said by us, in one sentence


@dataclass(frozen=True)
class Usage:
    """What is kept: number of results, their bytes, the bytes allowed, and the folder."""

    results: int
    used_bytes: int
    allowed_bytes: int
    folder: Path


class _Absent(Exception):
    """Asked instead of computing: nothing usable is kept under this name."""


def name_of(experiment: Experiment, timeline_sm: int | None) -> str:
    """The name of a kept result: the answer's own key and the sources of what is stored."""
    key = coverage.answer_key(experiment, 0, timeline_sm)
    return hashlib.sha256(f"{key}|{_stored_digest()}".encode()).hexdigest()[:32]


@cache
def _stored_digest() -> str:
    """Changes with the shape of records and timelines."""
    digest = hashlib.sha256(Path(spans.__file__).read_bytes())
    for path in sorted(Path(presets.__file__).parent.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def kept_answer(name: str, compute: Callable[[], Answer]) -> Answer:
    """What joblib keeps. This body stays as it is: joblib empties the cache when it changes."""
    return compute()


def look_up(name: str) -> tuple[Answer | None, str]:
    """The kept result of that name, or None; and what has to be said when a kept one could not be read."""
    try:
        kept = _memory().cache(kept_answer, ignore=["compute"])
        if not kept.check_call_in_cache(name, _absent):
            return None, ""
        with contextlib.suppress(_Absent):  # joblib calls `_absent` when loading fails
            answer = kept(name, _absent)
            if isinstance(answer, dict) and "record" in answer:
                return answer, ""
        kept.call_and_shelve(name, _absent).clear()  # names the kept file without reading it
    except (OSError, PresetError):
        return None, ""
    except Exception:  # joblib's own notes beside the results are damaged: nothing there can be trusted
        clear()
    return None, UNREADABLE


def keep(name: str, answer: Answer) -> str:
    """Keep a result, dropping those unused longest when space is short; says in a sentence if that failed."""
    try:
        allowed = settings.cache_bytes()
        if not allowed:
            return ""
        memory = _memory()
        kept = memory.cache(kept_answer, ignore=["compute"])
        kept.check_call_in_cache(name, _absent)  # joblib notes the function's source on the first question only
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it was not written is said below
            kept.call(name, lambda: answer)
        if not kept.check_call_in_cache(name, _absent):
            _drop_halves(memory)
            return _not_kept("the disk may be full")
        memory.reduce_size(bytes_limit=allowed)
    except PresetError as error:
        return _not_kept(str(error))
    except OSError as error:
        return _not_kept(error.strerror or str(error))
    return ""


def _drop_halves(memory: Memory) -> None:
    """Remove what joblib leaves of a result that it could not write to its end."""
    for item in memory.store_backend.get_items():
        if not (Path(item.path) / "output.pkl").exists():
            shutil.rmtree(item.path, ignore_errors=True)


def usage() -> Usage:
    """How much is kept, and how much may be."""
    folder = settings.cache_folder()
    items: list[Any] = []
    with contextlib.suppress(OSError):
        items = _memory().store_backend.get_items() if folder.is_dir() else []
    return Usage(len(items), sum(item.size for item in items), settings.cache_bytes(), folder)


def clear() -> None:
    """Forget every kept result."""
    with contextlib.suppress(OSError):
        _memory().clear(warn=False)


def _memory() -> Memory:
    folder = settings.cache_folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return Memory(str(folder), verbose=0, compress=_COMPRESSION)


def _absent() -> Answer:
    raise _Absent


def _not_kept(reason: str) -> str:
    return f"This result was not kept on disk ({reason}: {settings.cache_folder()}); it is shown all the same."
