"""Rows of tables between other output: logical lines, delimiters, headers found by their names.

`Feed` yields one complete CSV record per step, also where a quoted cell spans lines or program output
leaves a quote open. `Header` looks columns up by name; positions are never assumed.
"""

from __future__ import annotations

import csv
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from dashboard.measured import numbers, units
from dashboard.measured.errors import Refused

DELIMITERS = (",", ";", "\t")
csv.field_size_limit(2**26)
_SPAN_LIMIT = 50
_ROW_START = re.compile(r'"?[0-9]+"?[,;\t]')


class Feed:
    """Logical lines, once through; `line` is the last one given out, `count` how many were read."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = iter(lines)
        self._pushed: deque[str] = deque()
        self.line = ""
        self.count = 0

    def stream(self) -> Iterator[str]:
        """One complete CSV record per step."""
        for line in self._lines:
            self.count += 1
            self.line = line
            if line.count('"') & 1:
                yield self._close(line)
                while self._pushed:
                    self.line = self._pushed.popleft()
                    yield self._close(self.line) if self.line.count('"') & 1 else self.line
            else:
                yield line

    def _close(self, line: str) -> str:
        """Join lines until the quotes balance; before the next row an open quote makes the line no row."""
        if not line.lstrip().startswith('"') and not line[:1].isdigit():
            return line.replace('"', "'")
        parts = [line]
        while len(parts) <= _SPAN_LIMIT:
            following = self._pushed.popleft() if self._pushed else next(self._lines, None)
            if following is None:
                break
            parts.append(following)
            if _ROW_START.match(following):
                break
            if following.count('"') & 1:
                self.line = "".join(parts)
                return self.line
        self._pushed.extendleft(reversed(parts[1:]))
        return "# unfinished row\n"


def split(line: str, delimiter: str) -> list[str]:
    """The cells of one logical line."""
    try:
        return next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), [])
    except csv.Error:
        return []


def plain(label: str) -> str:
    """A column name for comparison: trimmed, one space between words, lower case."""
    return " ".join(label.replace("\ufeff", "").split()).casefold()


class Header:
    """Column names of one table: `labels` as printed, `names` and `units` split from a trailing unit."""

    def __init__(self, row: Sequence[str]) -> None:
        self.labels = [label.strip().lstrip("\ufeff") for label in row]
        pairs = [units.split_label(label) for label in self.labels]
        self.bases = [name for name, _ in pairs]
        self.units = [unit for _, unit in pairs]
        self._whole: dict[str, int] = {}
        self._base: dict[str, int] = {}
        for place, label in enumerate(self.labels):
            self._whole.setdefault(plain(label), place)
            self._base.setdefault(plain(self.bases[place]), place)

    def __len__(self) -> int:
        return len(self.labels)

    def at(self, *names: str) -> int | None:
        """The column of the first of `names` that exists, with or without its unit."""
        for name in names:
            place = self._whole.get(name, self._base.get(name))
            if place is not None:
                return place
        return None

    def has(self, *names: str) -> bool:
        """True where every one of `names` is a column."""
        return all(self.at(name) is not None for name in names)


class Evidence:
    """What the numbers of a file prove about its separators, and whether there are any numbers at all."""

    _BATCH = 20000

    def __init__(self) -> None:
        self._texts: set[str] = set()
        self._found: set[str] = set()
        self._number = False
        self._text = False

    def add(self, text: str) -> None:
        self._texts.add(text)
        if len(self._texts) >= self._BATCH:
            self._settle()

    def add_all(self, texts: Iterable[str]) -> None:
        self._texts.update(texts)
        if len(self._texts) >= self._BATCH:
            self._settle()

    def _settle(self) -> None:
        self._found |= numbers.votes(self._texts)
        self._number = self._number or any(map(numbers.is_number, self._texts))
        self._text = self._text or bool(self._texts)
        self._texts.clear()

    def votes(self) -> frozenset[str]:
        """The proven decimal separators and numbers.OPEN."""
        self._settle()
        return frozenset(self._found)

    def any_number(self) -> bool:
        """True where at least one cell was a number."""
        self._settle()
        return self._number

    def any_text(self) -> bool:
        """True where the file has cells of metrics at all."""
        self._settle()
        return self._text


_THREE = re.compile(r",\s+|\s*[;xX\u00d7]\s*|\s+")


def dims(text: str) -> tuple[int, ...] | None:
    """(8, 64, 1) from "(8, 64, 1)", "  8,  64,  1", "8x64x1" or "8 64 1"; one entry for a lone count."""
    return _dims(text) if 0 < len(text) <= 80 else None


@lru_cache(maxsize=65536)
def _dims(text: str) -> tuple[int, ...] | None:
    bare = text.strip().strip("()[]{}").strip()
    for parts in (_THREE.split(bare), bare.split(",")):
        counts = [numbers.whole(part) for part in parts]
        if len(parts) == 3 and None not in counts:
            return tuple(count for count in counts if count is not None)
    count = numbers.whole(bare)
    return None if count is None else (count,)


UNQUOTED = (
    "a row has more cells than the header has names, as when separators inside numbers are not quoted; "
    "export again, or save with another delimiter"
)


def rejoin(row: list[str], width: int, text_column: int, delimiter: str) -> list[str]:
    """A row wider than its header, made to fit: empty cells at the end go, an unquoted name is joined.

    Refused where the name is whole, because then a number was split and every cell behind it has moved.
    """
    while len(row) > width and not row[-1].strip():
        row = row[:-1]
    extra = len(row) - width
    if extra <= 0:
        return row
    if not _is_open(row[text_column]):
        raise Refused(UNQUOTED)
    end = text_column + extra + 1
    return [*row[:text_column], delimiter.join(row[text_column:end]), *row[end:]]


def _is_open(cell: str) -> bool:
    """True for the first part of a name that was split inside its brackets."""
    return any(cell.count(opening) > cell.count(closing) for opening, closing in ("<>", "()", "[]"))


def pick(row: Sequence[str], place: int | None) -> str:
    """The cell at `place`, empty where the row is too short or the column does not exist."""
    return row[place].strip() if place is not None and place < len(row) else ""
