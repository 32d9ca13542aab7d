"""Unit spellings of Nsight Compute, Nsight Systems and nvprof, read as whole tokens, never as substrings.

Prefixes are decimal (K = 1000), as the tools print them; KiB and its kin are binary. Base units are ns,
byte, byte/s, Hz, sector, sector/s, cycle and percent.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

TIME, BYTES, RATE, CLOCK = "time", "bytes", "rate", "clock"
SECTORS, SECTOR_RATE, CYCLES, PERCENT = "sectors", "sector rate", "cycles", "percent"
NONE, OTHER = "none", "other"


class Unit(NamedTuple):
    """A dimension and the factor that turns a printed value into its base unit."""

    dimension: str
    factor: float


_TIME_NS = {
    1.0: "ns nsec nsecs nsecond nseconds nanosecond nanoseconds",
    1e3: "us usec usecs usecond useconds microsecond microseconds \u00b5s \u03bcs",
    1e6: "ms msec msecs msecond mseconds millisecond milliseconds",
    1e9: "s sec secs second seconds",
}
_PREFIX = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}
_BINARY = {"ki": 2.0**10, "mi": 2.0**20, "gi": 2.0**30, "ti": 2.0**40}

TIME_NS = {token: scale for scale, tokens in _TIME_NS.items() for token in tokens.split()}
BYTE = {p + word: f for p, f in _PREFIX.items() for word in ("byte", "bytes", "b")} | {
    p + word: f for p, f in _BINARY.items() for word in ("b", "byte", "bytes")
}
HERTZ = {p + "hz": f for p, f in _PREFIX.items()}
SECTOR = {p + word: f for p, f in _PREFIX.items() for word in ("sector", "sectors")}
CYCLE = {p + word: f for p, f in _PREFIX.items() for word in ("cycle", "cycles")}


@lru_cache(maxsize=4096)
def parse(text: str) -> Unit:
    """The unit printed as `text`; an unknown spelling has the dimension OTHER and no use."""
    token = text.strip().strip("[]()").strip().casefold()
    if not token:
        return Unit(NONE, 1.0)
    if token in ("%", "percent", "pct"):
        return Unit(PERCENT, 1.0)
    over, slash, under = token.partition("/")
    return _ratio(over.strip(), under.strip()) if slash else _single(token)


def _single(token: str) -> Unit:
    tables = ((TIME, TIME_NS), (BYTES, BYTE), (CLOCK, HERTZ), (SECTORS, SECTOR), (CYCLES, CYCLE))
    for dimension, table in tables:
        if token in table:
            return Unit(dimension, table[token])
    return Unit(OTHER, 1.0)


def _ratio(over: str, under: str) -> Unit:
    if under not in TIME_NS:
        return Unit(OTHER, 1.0)
    per_second = 1e9 / TIME_NS[under]
    for dimension, table in ((RATE, BYTE), (CLOCK, CYCLE), (SECTOR_RATE, SECTOR)):
        if over in table:
            return Unit(dimension, table[over] * per_second)
    return Unit(OTHER, 1.0)


def split_label(label: str) -> tuple[str, str]:
    """("Duration", "ns") from "Duration (ns)", "Duration [ns]" or "Duration(ns)"; ("Name", "") otherwise."""
    text = label.strip()
    for opening, closing in ("[]", "()"):
        if text.endswith(closing) and opening in text[1:]:
            name, _, unit = text[:-1].rpartition(opening)
            return name.strip(), unit.strip()
    return text, ""
