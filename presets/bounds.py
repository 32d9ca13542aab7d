"""Numbers as presets hold them: each kind with the range in which the models can compute."""

from typing import Annotated

from pydantic import AfterValidator, Field

Count = Annotated[int, Field(gt=0, le=2**31 - 1)]
Whole = Annotated[int, Field(ge=0, le=2**40)]
Bytes = Annotated[int, Field(gt=0, le=2**50)]
SMALLEST, LARGEST = 1e-15, 1e18  # beyond these the models' products leave the range of floating point


def _computable(value: float) -> float:
    if value and not SMALLEST <= value <= LARGEST:
        raise ValueError(f"input should be from {SMALLEST:g} to {LARGEST:g}")
    return value


Positive = Annotated[float, Field(gt=0), AfterValidator(_computable)]
NonNegative = Annotated[float, Field(ge=0), AfterValidator(_computable)]
Share = Annotated[float, Field(ge=0, le=1)]
