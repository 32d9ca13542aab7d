"""Numbers as presets hold them: each kind with the range in which the models can compute."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from presets import units

SMALLEST, LARGEST = 1e-15, 1e18  # beyond these the models' products leave the range of floating point
MOST_BYTES = 2**50


@dataclass(frozen=True)
class AtMost:
    """A value that may not exceed another one of its preset; the preset as a whole checks it."""

    key: str


def _size(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError("input should be a size such as 25MiB or 26214400, in whole bytes")
    if value > MOST_BYTES:
        raise ValueError(f"input should be at most {units.shown('bytes', MOST_BYTES)}")
    return value


def _computable(value: float) -> float:
    if value and not SMALLEST <= value <= LARGEST:
        raise ValueError(f"input should be from {SMALLEST:g} to {LARGEST:g}")
    return value


Count = Annotated[int, Field(gt=0, le=2**31 - 1)]
Whole = Annotated[int, Field(ge=0, le=2**40)]
Bytes = Annotated[int, Field(gt=0, le=MOST_BYTES), BeforeValidator(_size)]
Positive = Annotated[float, Field(gt=0), AfterValidator(_computable)]
NonNegative = Annotated[float, Field(ge=0), AfterValidator(_computable)]
Share = Annotated[float, Field(ge=0, le=1)]
