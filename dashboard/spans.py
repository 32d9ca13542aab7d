"""A timeline as columns: what the queue keeps and a figure draws.

A run has tens of thousands of spans. As dictionaries they take some 500 bytes each and are turned into columns at
every redraw; as typed columns they take some 50, once.
"""

from collections.abc import Sequence
from typing import Any

import pandas as pd

_WORDS = ("row", "activity", "category")


def frame(rows: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """The rows of `simfa.timeline.rows` as a table: names as categories, cycles as integers."""
    columns = [*_WORDS, "start_cycle", "end_cycle", "issued_cycle", "cta"]
    return pd.DataFrame(list(rows), columns=columns).astype(dict.fromkeys(_WORDS, "category"))
