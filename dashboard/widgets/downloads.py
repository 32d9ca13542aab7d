"""Three buttons for the rows of any table: CSV, JSON, Parquet, full precision."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from dashboard import export


def downloads(name: str, rows: Sequence[dict[str, Any]]) -> None:
    """Download buttons for rows, `name` without an ending."""
    for title, content, ending, mime in (
        ("CSV", export.to_csv(rows), "csv", "text/csv"),
        ("JSON", export.to_json(rows), "json", "application/json"),
        ("Parquet", export.to_parquet(rows), "parquet", "application/vnd.apache.parquet"),
    ):
        key = f"download-{name}-{ending}"
        st.download_button(f"Download {title}", content, f"{name}.{ending}", mime, key=key, on_click="ignore")
