"""Tables as columns: NumPy arrays by name, and as CSV text."""

import numpy as np

Columns = dict[str, np.ndarray]


def to_csv(table: Columns) -> str:
    """Columns as CSV text; a number has as many digits as tell it apart at its precision."""
    rows = zip(*(map(str, column) for column in table.values()), strict=True)
    return "\n".join([",".join(table), *map(",".join, rows)]) + "\n"
