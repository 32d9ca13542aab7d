"""From an upload to lines of text: limits, gzip, zip, encodings and files that are something else.

Nothing is ever written to disk and no name from an archive is used as a path. Compressed data is
decompressed as it is read and stops at the limit, so a bomb costs no more than the limit. Limits: the
upload itself 256 MiB, its decompressed text 512 MiB, members read from one zip file 64.
"""

from __future__ import annotations

import codecs
import gzip
import io
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from dashboard.measured.errors import Refused, TooLarge

UPLOAD_LIMIT_BYTES = 256 * 2**20
TEXT_LIMIT_BYTES = 512 * 2**20
MEMBER_LIMIT = 64
_HEAD_BYTES = 8192

EXPORT_NCU = "ncu -i report.ncu-rep --csv --page raw --print-units base > report.csv"
EXPORT_NSYS = "nsys stats --report cuda_gpu_trace --format csv --timeunit nsec report.nsys-rep"

_SIGNATURES = (
    (b"SQLite format 3\0", f"is a SQLite database, not a CSV export; run: {EXPORT_NSYS}"),
    (b"NVR\0", f"is a binary Nsight Compute report, not a CSV export; run: {EXPORT_NCU}"),
    (b"%PDF", f"is a PDF document; upload the CSV export, made with: {EXPORT_NCU}"),
    (b"PAR1", f"is a Parquet file; upload the CSV export, made with: {EXPORT_NCU}"),
    (b"\x89PNG", f"is an image; upload the CSV export, made with: {EXPORT_NCU}"),
    (b"\x28\xb5\x2f\xfd", "is compressed with zstd; upload it plain, gzipped or zipped"),
    (b"BZh", "is compressed with bzip2; upload it plain, gzipped or zipped"),
    (b"\xfd7zXZ", "is compressed with xz; upload it plain, gzipped or zipped"),
    (b"7z\xbc\xaf\x27\x1c", "is a 7z archive; upload it plain, gzipped or zipped"),
)
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_BINARY_NAMES = {
    ".ncu-rep": EXPORT_NCU,
    ".nsys-rep": EXPORT_NSYS,
    ".qdrep": EXPORT_NSYS,
    ".sqlite": EXPORT_NSYS,
}


class Budget:
    """The decompressed bytes one upload may still produce, shared by all its members and layers."""

    def __init__(self, limit: int) -> None:
        self.limit = self.left = limit


class Meter(io.RawIOBase):
    """A readable stream that takes what passes from a budget and refuses once it is spent."""

    def __init__(self, source: BinaryIO, budget: Budget, name: str) -> None:
        self._source, self._budget, self._name = source, budget, name

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        with unpacking(self._name):
            data = self._source.read(len(buffer))
        self._budget.left -= len(data)
        if self._budget.left < 0:
            raise too_large(self._name, self._budget.limit)
        buffer[: len(data)] = data
        return len(data)


@contextmanager
def unpacking(name: str) -> Iterator[None]:
    """Whatever a decompressor raises on damaged data becomes a refusal."""
    try:
        yield
    except Refused:
        raise
    except Exception as error:
        raise Refused(
            f"{name}: cannot be unpacked ({type(error).__name__}); upload the CSV export itself."
        ) from error


def too_large(name: str, limit: int) -> TooLarge:
    """The refusal of a file beyond a limit in bytes."""
    return TooLarge(
        f"{name}: larger than the limit of {limit // 2**20} MiB; profile fewer launches "
        f"(ncu --launch-skip 3 -c 5) or export fewer metrics, or split the file."
    )


def _fallback(error: UnicodeError) -> tuple[str, int]:
    """Bytes that are not UTF-8 are read as Windows-1252, byte by byte."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    data = error.object[error.start : error.end]
    return data.decode("cp1252", errors="replace"), error.end


codecs.register_error("simfa-cp1252", _fallback)


def members(source: BinaryIO, name: str) -> Iterator[tuple[str, BinaryIO]]:
    """The name and the decompressed stream of every text in an upload; one unless it is a zip file."""
    budget = Budget(TEXT_LIMIT_BYTES)
    if _peek(source).startswith((b"PK\x03\x04", b"PK\x05\x06")):
        yield from _zip_members(source, name, budget)
    else:
        yield name, _plain(source, name, budget)


def _plain(source: BinaryIO, name: str, budget: Budget) -> BinaryIO:
    """A stream of the text itself, through gzip (at most twice) where it is compressed."""
    for _ in range(2):
        if not _peek(source).startswith(b"\x1f\x8b"):
            break
        metered = Meter(gzip.GzipFile(fileobj=source), budget, name)  # type: ignore[arg-type]
        source = io.BufferedReader(metered, 2**18)
    return source


def _peek(source: BinaryIO) -> bytes:
    if isinstance(source, io.BufferedReader):
        return source.peek(_HEAD_BYTES)[:_HEAD_BYTES]
    head = source.read(_HEAD_BYTES)
    source.seek(0)
    return head


def _zip_members(source: BinaryIO, name: str, budget: Budget) -> Iterator[tuple[str, BinaryIO]]:
    with unpacking(name):
        archive = zipfile.ZipFile(source)
    infos = [info for info in archive.infolist() if not info.is_dir() and not _is_clutter(info.filename)]
    if any(info.filename.startswith(("xl/", "word/")) for info in infos):
        raise Refused(f"{name}: is a spreadsheet or document, not a CSV export; save the sheet as CSV first.")
    if not infos:
        raise Refused(f"{name}: the zip file holds no files; put the CSV export into it.")
    if len(infos) > MEMBER_LIMIT:
        raise Refused(f"{name}: the zip file holds more than {MEMBER_LIMIT} files; upload fewer at once.")
    for info in infos:
        if info.flag_bits & 1:
            raise Refused(f"{name}: the zip file is encrypted; upload it without a password.")
        with unpacking(name):
            member = archive.open(info)
        label = f"{name}:{_base(info.filename)}"
        metered = Meter(member, budget, label)  # type: ignore[arg-type]
        yield label, _plain(io.BufferedReader(metered, 2**18), label, budget)


def _is_clutter(path: str) -> bool:
    base = _base(path)
    return path.startswith("__MACOSX/") or base.startswith(".") or not base


def _base(path: str) -> str:
    return "".join(c for c in path.replace("\\", "/").rsplit("/", 1)[-1] if c.isprintable())[:120]


def text_lines(source: BinaryIO, name: str) -> io.TextIOWrapper:
    """The lines of one text with any line ending; refuses what is recognisably not text."""
    head = _peek(source)
    if not head:
        raise Refused(f"{name}: the file is empty; export again with: {EXPORT_NCU}")
    refuse_binary(head, name)
    encoding, skip = encoding_of(head)
    if encoding.startswith("utf-8") and b"\0" in head:
        raise Refused(f"{name}: is a binary file, not a CSV export; {_hint(name)}")
    source.read(skip)
    errors = "simfa-cp1252" if encoding == "utf-8" else "replace"
    return io.TextIOWrapper(source, encoding, errors=errors)


def refuse_binary(head: bytes, name: str) -> None:
    """Raise for the signatures of reports, databases, archives and images."""
    for signature, sentence in _SIGNATURES:
        if head.startswith(signature):
            raise Refused(f"{name}: {sentence}.")
    if head[257:262] == b"ustar":
        raise Refused(f"{name}: is a tar archive; upload the CSV files plain, gzipped or zipped.")


def _hint(name: str) -> str:
    command = next((run for end, run in _BINARY_NAMES.items() if name.lower().endswith(end)), EXPORT_NCU)
    return f"run: {command}"


def encoding_of(head: bytes) -> tuple[str, int]:
    """The encoding of a text and the length of its byte order mark; UTF-16 is also seen without one."""
    for mark, encoding in _BOMS:
        if head.startswith(mark):
            return encoding, len(mark)
    even, odd = head[0::2].count(0), head[1::2].count(0)
    half = len(head) // 2
    if half >= 2 and odd > 0.6 * half and even < 0.1 * half:
        return "utf-16-le", 0
    if half >= 2 and even > 0.6 * half and odd < 0.1 * half:
        return "utf-16-be", 0
    return "utf-8", 0
