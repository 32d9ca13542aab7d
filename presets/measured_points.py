"""Public measurements shipped with the project (`presets/measured/*.csv`), each row with its source."""

import csv
from pathlib import Path

FOLDER = Path(__file__).parent / "measured"


def rows(name: str) -> list[dict[str, str]]:
    """All rows of `presets/measured/<name>.csv` as text by column name."""
    with (FOLDER / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
