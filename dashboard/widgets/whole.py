"""A field for a whole number that reads what people type: 131072, 1e5, 2.5e3."""

import math
from typing import Any, overload

import streamlit as st


@overload
def whole_number(label: str, least: int, most: int, begin: int, **more: Any) -> int: ...
@overload
def whole_number(label: str, least: int, most: int, begin: None, **more: Any) -> int | None: ...
def whole_number(label: str, least: int, most: int, begin: int | None, **more: Any) -> int | None:
    """What the field holds; `begin` while it is empty.

    Streamlit's field for integers stops reading at the first character that is no digit, and makes 1 of 1e5.
    """
    first = None if begin is None else float(begin)
    given = st.number_input(label, float(least), float(most), first, step=1.0, format="%.0f", **more)
    return begin if given is None else rounded(given)


def rounded(given: float) -> int:
    """The whole number that the field shows for what was typed: halves go up, as in the browser."""
    return math.floor(given + 0.5)
