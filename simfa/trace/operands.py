"""Operands as text: what each kind of `simfa.isa` is read from and written as."""

import re
from collections.abc import Callable
from typing import Any

from simfa.isa import OperandSpec

_WHOLE = re.compile(r"[+-]?(?:0[xX][0-9a-fA-F]+|[0-9]+)")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
_PLACE = re.compile(r"[A-Za-z0-9_.]+")
_HEX = ("smem", "gmem", "base")


def expected(spec: OperandSpec) -> str:
    """What may stand for an operand, in words."""
    numbers = f"whole numbers from {spec.low} to {spec.high}"
    return {
        "whole": f"{spec.name}, a whole number from {spec.low} to {spec.high}",
        "choice": f"{spec.name}, one of {', '.join(spec.choices)}",
        "place": f"{spec.name}, a register or shared-memory name",
        "word": f"{spec.name}, a name",
        "map": f"{spec.name}, a tensor map declared by DEF_TMAP",
        "coordinates": f"{spec.name}, coordinates [c0,c1,...] or the address of an element",
        "numbers": f"{spec.name}, a list [n,n,...] of {numbers}",
    }[spec.kind]


def parse(spec: OperandSpec, text: str, maps: dict[str, int]) -> Any:
    """The value that a text stands for, or None if it cannot stand for this operand."""
    readers: dict[str, Callable[[], Any]] = {
        "whole": lambda: whole(text, spec.low, spec.high),
        "choice": lambda: text if text in spec.choices else None,
        "place": lambda: text if _PLACE.fullmatch(text) else None,
        "word": lambda: text if _WORD.fullmatch(text) else None,
        "map": lambda: maps.get(text),
        "coordinates": lambda: _coordinates(spec, text),
        "numbers": lambda: numbers(text, spec.low, spec.high),
    }
    return readers[spec.kind]()


def whole(text: str, low: int, high: int) -> int | None:
    """A decimal or 0x number within bounds."""
    if not _WHOLE.fullmatch(text):
        return None
    value = int(text, 16) if "x" in text.lower() else int(text)
    return value if low <= value <= high else None


def numbers(text: str, low: int, high: int) -> tuple[int, ...] | None:
    """`[1,2,3]`; `[]` is empty."""
    if not (text.startswith("[") and text.endswith("]")):
        return None
    inside = text[1:-1].strip()
    found = [whole(part.strip(), low, high) for part in inside.split(",")] if inside else []
    return None if None in found else tuple(value for value in found if value is not None)


def _coordinates(spec: OperandSpec, text: str) -> Any:
    return numbers(text, spec.low, spec.high) if text.startswith("[") else whole(text, 0, 2**48 - 1)


def write(spec: OperandSpec, value: Any, maps: list[str]) -> str:
    """An operand's text; `parse` gives the value back."""
    if spec.kind == "map":
        return maps[value]
    if isinstance(value, tuple):
        return write_numbers(value)
    return f"{value:#x}" if spec.name in _HEX else str(value)


def write_numbers(values: tuple[int, ...]) -> str:
    """A tuple as `[1,2,3]`."""
    return f"[{','.join(map(str, values))}]"
