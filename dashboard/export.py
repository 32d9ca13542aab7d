"""Downloads: records as CSV, JSON or Parquet, full precision; CSV safe to open in a spreadsheet."""

import csv
import io
import json
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
from pyarrow import parquet

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def to_json(records: Sequence[dict[str, Any]]) -> str:
    """Records as a JSON list; numbers plain, bytes exact integers, no NaN."""
    return json.dumps(list(records), indent=2, allow_nan=False) + "\n"


def to_csv(records: Sequence[dict[str, Any]]) -> str:
    """Records as CSV: the union of their keys, nested groups as `group.key`, absent values empty."""
    flat = [dict(_flatten(record)) for record in records]
    columns = list(dict.fromkeys(key for record in flat for key in record))
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, columns, lineterminator="\n", restval="")
    writer.writeheader()
    writer.writerows({key: _text(value) for key, value in record.items()} for record in flat)
    return buffer.getvalue()


def to_parquet(records: Sequence[dict[str, Any]]) -> bytes:
    """Records as Parquet: columns as in CSV, typed; lists as one text; counts beyond 64 bits as decimals.

    A decimal holds 38 digits; a column with a longer number, which somebody may have typed, is text.
    """
    flat = [dict(_flatten(record)) for record in records]
    columns = list(dict.fromkeys(key for record in flat for key in record))
    table = pa.table({key: _column([record.get(key) for record in flat]) for key in columns})
    buffer = io.BytesIO()
    parquet.write_table(table, buffer)
    return buffer.getvalue()


def _column(values: list[Any]) -> pa.Array:
    values = ["; ".join(map(str, value)) if isinstance(value, (list, tuple)) else value for value in values]
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int} and any(abs(value) >= 10**38 for value in values if value is not None):
        return pa.array([None if value is None else str(value) for value in values])
    if kinds == {int} and any(abs(value) >= 2**63 for value in values if value is not None):
        return pa.array([None if value is None else Decimal(value) for value in values], pa.decimal128(38, 0))
    if kinds == {int, float}:
        return pa.array([None if value is None else float(value) for value in values])
    if len(kinds) > 1:
        return pa.array([None if value is None else str(value) for value in values])
    return pa.array(values)


def _flatten(record: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in record.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def _text(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        value = "; ".join(map(str, value))
    if not isinstance(value, str):
        return value
    guarded = "'" + value if value.startswith(_FORMULA_STARTS) else value
    return guarded.replace("\r", " ")
