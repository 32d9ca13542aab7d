"""What the Sim-FA paper prints (`presets/paper/*.csv`): Tables 2, 3, 4 and 6, and the errors that its text states.

Its measurements stand in figures only, so none of them is here.
"""

import csv
from pathlib import Path

FOLDER = Path(__file__).parent / "paper"
SOURCE = "Sim-FA paper"


def rows(name: str) -> list[dict[str, str]]:
    """All rows of `presets/paper/<name>.csv` as text by column name."""
    with (FOLDER / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def stated(where: str) -> list[tuple[str, str, float]]:
    """Errors that the paper states for a figure or table: series, of what, percent."""
    return [(row["series"], row["of"], float(row["value_pct"])) for row in rows("stated") if row["where"] == where]
