"""Numbers with units as a person types them (`100MiB`, `1.83GHz`, `2.5us`), and where a value comes from."""

import math
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, get_args

from presets.errors import PresetError

Label = Literal["measured", "published", "fitted", "informed", "inferred", "override"]
FILE_LABELS = tuple(label for label in get_args(Label) if label != "override")

Number = int | float
_NUMBER = re.compile(
    r"\s*([+-]?(?:[0-9]+(?:_[0-9]+)*(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)\s*([A-Za-z/]*)\s*"
)

# Unit suffix -> (kind, factor). Powers of ten and of two are never mixed: MB is 10^6, MiB is 2^20.
_UNITS: dict[str, tuple[str, int | Decimal]] = {
    "": ("", 1),
    "B": ("bytes", 1),
    **{f"{p}B": ("bytes", 10 ** (3 * n)) for n, p in enumerate(("k", "M", "G", "T"), start=1)},
    **{f"{p}iB": ("bytes", 2 ** (10 * n)) for n, p in enumerate(("K", "M", "G", "T"), start=1)},
    "B/s": ("bytes_per_s", 1),
    **{f"{p}B/s": ("bytes_per_s", 10 ** (3 * n)) for n, p in enumerate(("k", "M", "G", "T"), start=1)},
    **{f"{p}iB/s": ("bytes_per_s", 2 ** (10 * n)) for n, p in enumerate(("K", "M", "G", "T"), start=1)},
    "Hz": ("hz", 1),
    **{f"{p}Hz": ("hz", 10 ** (3 * n)) for n, p in enumerate(("k", "M", "G"), start=1)},
    "s": ("s", 1),
    "ms": ("s", Decimal("1e-3")),
    "us": ("s", Decimal("1e-6")),
    "ns": ("s", Decimal("1e-9")),
}


@dataclass(frozen=True)
class Provenance:
    """Where one preset value comes from: a label and a citation a reader can follow."""

    label: Label
    source: str


def unit_of(key: str) -> str:
    """The unit a dotted key carries in its last word: `l2.bytes` -> bytes, `sm.clock_hz` -> hz."""
    leaf = key.rsplit(".", 1)[-1]
    for unit in ("bytes_per_s", "bytes_per_cycle", "bytes", "hz", "cycles", "s"):
        if leaf == unit or leaf.endswith("_" + unit):
            return unit
    return ""


def parse_number(text: str, key: str, where: str) -> Number | None:
    """The number in `text`, in the base unit of `key`; None when it is no number at all.

    Decimal arithmetic, so `1.005GB` is a whole number of bytes; whole numbers come back as int.
    Raises PresetError when the suffix is unknown or measures another quantity than the key.
    """
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    digits, suffix = match.groups()
    if suffix not in _UNITS:
        raise PresetError(f"{where}: {key}: unknown unit '{suffix}'. Allowed: {', '.join(filter(None, _UNITS))}")
    kind, factor = _UNITS[suffix]
    if kind and kind != unit_of(key):
        raise PresetError(f"{where}: {key} is in {unit_of(key) or 'no unit'}, but '{text}' is in {kind}")
    if not math.isfinite(float(digits) * float(factor)):
        raise PresetError(f"{where}: {key}: '{text}' is not a finite number")
    value = Decimal(digits) * factor if float(digits) else Decimal(0)
    return int(value) if value == value.to_integral_value() else float(value)
