"""Numbers as printed under any locale; which separator is the decimal one is decided once per file.

A cell can prove the decimal separator ("8.40", "9,347.66", "34,089,136"), stay open ("117.344") or say
nothing ("42"). `Votes` gathers what the cells prove; `parse` reads one cell under the decision taken.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from functools import lru_cache

MISSING = frozenset(
    (
        "",
        "n/a",
        "#n/a",
        "na",
        "nan",
        "-nan",
        "nan(ind)",
        "-nan(ind)",
        "inf",
        "-inf",
        "none",
        "null",
        "-",
        "--",
    )
    + ("no data", "not available", "<ovfl>", "overflow")
)

_INSTANCES = re.compile(r"[{(]")
_SPACES = "\\s'\u2019\u02bc`_\u00a0\u202f\u2009\u2007\u066c"
_NEUTRAL = re.compile(f"(?<=[0-9])[{_SPACES}](?=[0-9]{{3}}(?![0-9])|[0-9]{{2}}[{_SPACES}][0-9])")
_SHAPE = re.compile(r"([+-]?)([0-9.,]*[0-9][0-9.,]*)([eE][+-]?[0-9]{1,3})?")
_LONGEST = 64


def _groups(mark: str) -> re.Pattern[str]:
    """Groups of three digits (1,234,567) or the Indian two-two-three (12,34,567)."""
    sep = re.escape(mark)
    return re.compile(rf"[0-9]{{1,3}}(?:{sep}[0-9]{{3}})+|[0-9]{{1,2}}(?:{sep}[0-9]{{2}})*{sep}[0-9]{{3}}")


_GROUPS = {mark: _groups(mark) for mark in ".,"}
_PLAIN = {
    mark: re.compile(
        rf"(?:[0-9]{{1,18}}|[0-9]{{1,3}}(?:{re.escape(group)}[0-9]{{3}}){{1,6}})(?:{re.escape(mark)}[0-9]{{1,18}})?"
    )
    for mark, group in (".,", ",.")
}
_SURE = re.compile(r"[0-9]+([.,])(?:[0-9]{1,2}|[0-9]{4,18})")
OPEN = "?"


def strip(text: str) -> str:
    """The cell without padding, a trailing percent sign or an instance suffix: "{2040}", "(1; 2)"."""
    text = text.strip()
    if text.endswith(("}", ")")):
        text = _INSTANCES.split(text, maxsplit=1)[0]
    return text.replace("\u2212", "-").removesuffix("%").rstrip()


def is_missing(text: str) -> bool:
    """True for the spellings of "no value": n/a, nan, no data, empty, a bare instance suffix."""
    return strip(text).casefold() in MISSING


def _split(text: str) -> tuple[str, str, str, bool] | None:
    """Sign, digits with points and commas, exponent, and whether neutral group separators were removed."""
    bare = strip(text)
    if len(bare) > _LONGEST:
        return None
    joined = _NEUTRAL.sub("", bare)
    found = _SHAPE.fullmatch(joined)
    return (found[1], found[2], found[3] or "", joined != bare) if found else None


def vote(text: str) -> str:
    """What one cell proves about the decimal separator: ".", ",", OPEN for undecided, "" for nothing."""
    if text.isdigit():
        return ""
    sure = _SURE.fullmatch(text)
    if sure:
        return sure[1]
    bare = strip(text)
    return _vote(bare) if len(bare) <= _LONGEST else ""


@lru_cache(maxsize=65536)
def _vote(text: str) -> str:
    parts = _split(text)
    if parts is None:
        return ""
    _, body, exponent, grouped = parts
    points, commas = body.count("."), body.count(",")
    if points and commas:
        return _vote_both(body, points, commas)
    if points + commas == 0:
        return ""
    mark = "." if points else ","
    if points + commas > 1:
        return _other(mark) if _GROUPS[mark].fullmatch(body) else ""
    whole, _, rest = body.partition(mark)
    settled = len(rest) != 3 or not whole or whole[0] == "0" or len(whole) > 3 or bool(exponent) or grouped
    return mark if settled else OPEN


def _other(mark: str) -> str:
    return "," if mark == "." else "."


def _vote_both(body: str, points: int, commas: int) -> str:
    mark = "." if body.rfind(".") > body.rfind(",") else ","
    once = points if mark == "." else commas
    whole = body.rpartition(mark)[0]
    return mark if once == 1 and _GROUPS[_other(mark)].fullmatch(whole) else ""


def is_open(text: str) -> bool:
    """True where the cell has two readings, a factor of 1000 apart."""
    return vote(text) == OPEN


def is_number(text: str) -> bool:
    """True where the cell can be read as a number under some locale."""
    return _split(text) is not None


def parse(text: str, decimal: str = ".") -> float | None:
    """The value of one cell with `decimal` as the decimal separator; None where it is not such a number."""
    if _PLAIN[decimal].fullmatch(text):
        digits = text.replace(_other(decimal), "")
        return float(digits if decimal == "." else digits.replace(",", "."))
    bare = strip(text)
    return _parse(bare, decimal) if len(bare) <= _LONGEST else None


@lru_cache(maxsize=65536)
def _parse(text: str, decimal: str) -> float | None:
    parts = _split(text)
    if parts is None:
        return None
    sign, body, exponent, _ = parts
    whole, mark, rest = body.partition(decimal)
    group = _other(decimal)
    if group in rest or decimal in rest:
        return None
    if group in whole:
        if not _GROUPS[group].fullmatch(whole):
            return None
        whole = whole.replace(group, "")
    value = float(f"{sign}{whole or '0'}.{rest or '0'}{exponent}")
    return value if math.isfinite(value) else None


def whole(text: str) -> int | None:
    """A count such as a grid size, where every separator can only be a group separator."""
    parts = _split(text)
    if parts is None or parts[0] == "-" or parts[2]:
        return None
    body = parts[1]
    fraction = re.fullmatch(r"([0-9]+)[.,]0{1,2}|([0-9]+)[.,]0{4,}", body)
    if fraction:
        return int(fraction[1] or fraction[2])
    digits = body.replace(".", "").replace(",", "")
    return int(digits) if len(digits) < 20 else None


def votes(texts: Iterable[str]) -> frozenset[str]:
    """All that the cells prove, OPEN included where some cell stays undecided."""
    return frozenset(vote(text) for text in texts) - {""}


def readings(text: str) -> dict[str, float]:
    """The values a cell has under each decimal separator under which it is a number."""
    both = {decimal: parse(text, decimal) for decimal in (".", ",")}
    return {decimal: value for decimal, value in both.items() if value is not None}
