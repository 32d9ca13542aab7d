"""Tables as columns: NumPy arrays by name, and as CSV text."""

import numpy as np

Columns = dict[str, np.ndarray]


def to_csv(table: Columns) -> str:
    """Columns as CSV text: whole numbers as such, others with the seven digits that single precision holds."""
    rows = zip(*(map(_text, column.tolist()) for column in table.values()), strict=True)
    return "\n".join([",".join(table), *map(",".join, rows)]) + "\n"


def _text(value: int | float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.7g}"
