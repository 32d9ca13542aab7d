"""The entry: a file or its bytes to launches, or one sentence why not.

A 200 MB file with 100,000 launches is read within 10 s and 1 GB of memory; see tests/bench for how to
measure it. Rows are read with the csv module one by one: pandas and pyarrow want rows of equal length,
which details pages never have, and both hold the whole table in memory.
"""

from __future__ import annotations

import gc
import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import BinaryIO

from dashboard.measured import lookalikes
from dashboard.measured.convert import Converter, decide
from dashboard.measured.errors import Refused, TooLarge
from dashboard.measured.gather import Gathered, gather
from dashboard.measured.launch import Launch
from dashboard.measured.sniff import UPLOAD_LIMIT_BYTES, members, text_lines, too_large

Progress = Callable[[float], None]
Source = str | os.PathLike[str] | bytes


def read(
    source: Source,
    name: str | None = None,
    decimal: str | None = None,
    progress: Progress | None = None,
) -> list[Launch]:
    """All launches of a file in file order.

    `source` is a path or the bytes of an upload, `name` what the launches call the file. `decimal` ("." or
    ",") answers a NeedsAnswer raised before. `progress` is called with the fraction read, 0 to 1. Raises
    Refused with one sentence where there are no launches to give.
    """
    if decimal not in (None, ".", ","):
        raise ValueError(f"decimal must be '.', ',' or None, not {decimal!r}")
    if isinstance(source, bytes):
        return _read(io.BytesIO(source), name or "upload", len(source), decimal, progress)
    path = Path(source)
    name = name or path.name
    with _opened(path, name) as stream:
        return _read(stream, name, path.stat().st_size, decimal, progress)


def _opened(path: Path, name: str) -> BinaryIO:
    try:
        if path.exists() and not path.is_file():
            raise Refused(f"{name}: cannot be opened: not a regular file.")
        return path.open("rb")
    except OSError as error:
        raise Refused(f"{name}: cannot be opened: {error.strerror or error}.") from error


def _read(stream: BinaryIO, name: str, size: int, decimal: str | None, progress: Progress | None) -> list[Launch]:
    if size > UPLOAD_LIMIT_BYTES:
        raise too_large(name, UPLOAD_LIMIT_BYTES)
    tick = _ticker(stream, size, progress)
    launches: list[Launch] = []
    refusals: list[Refused] = []
    with _collector_paused():
        for label, text in members(stream, name):
            try:
                launches += _read_text(text, label, decimal, tick)
            except TooLarge:
                raise
            except Refused as refusal:
                refusals.append(refusal)
    if not launches and refusals:
        raise refusals[0]
    for origin in {id(launch.provenance): launch.provenance for launch in launches}.values() if refusals else ():
        origin["not_read"] = " ".join(str(refusal) for refusal in refusals)
    if progress is not None:
        progress(1.0)
    return launches


def _ticker(stream: BinaryIO, size: int, progress: Progress | None) -> Callable[[], None] | None:
    """Progress as the share of the upload's bytes that have been taken from it."""
    if progress is None or size == 0:
        return None
    report = progress
    return lambda: report(min(0.95, 0.95 * stream.tell() / size)) if not stream.closed else None


def _read_text(text: BinaryIO, name: str, decimal: str | None, tick: Callable[[], None] | None) -> list[Launch]:
    try:
        with text_lines(text, name) as lines:
            gathered = gather(lines, tick)
    except Refused as refusal:
        sentence = str(refusal)
        raise refusal if sentence.startswith(name) else type(refusal)(f"{name}: {sentence}.") from None
    launches = gathered.launches()
    if not launches:
        had_table = any(table.is_table() for table in gathered.tables)
        raise Refused(f"{name}: {gathered.remarks.sentence(had_table).rstrip('.')}.")
    if not gathered.evidence.any_number():
        raise Refused(f"{name}: {_without_numbers(gathered)}.")
    converter = Converter(name, *decide(gathered, name, decimal))
    return [converter.launch(raw, table) for raw, table in launches]


class _Readers:
    """How many threads are reading, and whether the collector was on before the first of them."""

    def __init__(self) -> None:
        self.lock, self.count, self.collecting = Lock(), 0, True


_READERS = _Readers()


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Reading makes no cycles, and looking for them among a million objects takes a tenth of the time."""
    with _READERS.lock:
        if _READERS.count == 0:
            _READERS.collecting = gc.isenabled()
            gc.disable()
        _READERS.count += 1
    try:
        yield
    finally:
        with _READERS.lock:
            _READERS.count -= 1
            if _READERS.count == 0 and _READERS.collecting:
                gc.enable()


def _without_numbers(gathered: Gathered) -> str:
    return lookalikes.ALL_MISSING if gathered.evidence.any_text() else lookalikes.NO_NUMBERS
