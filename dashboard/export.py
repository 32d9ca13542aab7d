"""Downloads: records as CSV or JSON, full precision, safe to open in a spreadsheet."""

import csv
import io
import json
from collections.abc import Iterator, Sequence
from typing import Any

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
