"""Three buttons for the rows of any table: CSV, JSON, Parquet, full precision."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from dashboard import export
from dashboard.widgets import browser_download

Rows = Sequence[dict[str, Any]]


FORMS: tuple[tuple[str, Callable[[Rows], str | bytes], str, str], ...] = (
    ("CSV", export.to_csv, "csv", "text/csv"),
    ("JSON", export.to_json, "json", "application/json"),
    ("Parquet", export.to_parquet, "parquet", "application/vnd.apache.parquet"),
)


def downloads(name: str, rows: Rows, what: str = "", place: str = "") -> None:
    """Download buttons for rows, `name` without an ending, `what` the table where several are on a page.

    Files are written when a button is pressed. `place` tells buttons of the same file on one page apart.
    """
    for title, write, ending, mime in FORMS:
        label = f"{what} as {title}" if what else f"Download {title}"
        key = f"download-{place}{name}-{ending}"
        browser_download.download(label, partial(write, rows), f"{name}.{ending}", mime, key)
