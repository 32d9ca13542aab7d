"""What a simulation hands to the pages: its record, and timeline, queue levels and CTAs as typed columns.

A run has tens of thousands of spans. As dictionaries they take some 500 bytes each and are turned into columns at
every redraw; as typed columns they take some 50, once.
"""

import io
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from presets.experiment import Experiment

if TYPE_CHECKING:
    from simfa.simulate import Simulation

SHOWN_SPANS = 40_000  # what a browser still moves fluently; `python -m simfa run --timeline` keeps more
_WORDS = ("row", "activity", "category")


def answer(experiment: Experiment, run: "Simulation", shown: int = SHOWN_SPANS) -> dict[str, Any]:
    """A finished run as the pages take it.

    `record`; the observed `sm`; `timeline` with at most `shown` spans, and how many later ones were `left_out`;
    `occupancy`, a row per bucket of cycles; `ctas`, a row per CTA.
    """
    from presets.record import to_record
    from simfa import timeline  # compiled code beneath it: loaded only where it runs

    rows = timeline.of(experiment, run.spans)
    return {
        "record": to_record(experiment, run.result),
        "sm": run.timeline_sm,
        "timeline": frame(rows[:shown]),
        "left_out": max(len(rows) - shown, 0) + run.seen.spans_dropped,
        "occupancy": table(run.seen.occupancy),
        "ctas": table(run.seen.ctas),
    }


def frame(rows: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """The rows of `simfa.timeline.rows` as a table: names as categories, cycles as integers."""
    columns = [*_WORDS, "start_cycle", "end_cycle", "issued_cycle", "cta"]
    return pd.DataFrame(list(rows), columns=columns).astype(dict.fromkeys(_WORDS, "category"))


def table(columns: Mapping[str, Any]) -> pd.DataFrame:
    """Columns of numbers as a table: whole ones in the smallest integer type that holds them, others single."""
    found = {}
    for name, values in columns.items():
        numbers = np.asarray(values)
        whole = numbers.dtype.kind in "iu"
        found[name] = pd.to_numeric(pd.Series(numbers), downcast="integer") if whole else numbers.astype(np.float32)
    return pd.DataFrame(found)


def packed(given: dict[str, Any]) -> dict[str, Any]:
    """An answer as plain JSON values; numbers with as many digits as tell them apart."""
    tables = {key: _lists(given[key]) for key in ("occupancy", "ctas")}
    return given | {"timeline": given["timeline"].to_dict("list")} | tables


def unpacked(stored: Mapping[str, Any]) -> dict[str, Any]:
    """The answer that `packed` made plain."""
    rows = pd.DataFrame(stored["timeline"]).astype(dict.fromkeys(_WORDS, "category"))
    return {**stored, "timeline": rows, "occupancy": table(stored["occupancy"]), "ctas": table(stored["ctas"])}


def _lists(some: pd.DataFrame) -> dict[str, list[Any]]:
    return {
        name: [float(str(value)) for value in column] if column.dtype.kind == "f" else column.tolist()
        for name, column in some.items()
    }


def chrome_trace(given: Mapping[str, Any], clock_hz: float) -> bytes:
    """An answer's timeline with its queues as counters, in the format that Perfetto opens."""
    from simfa import timeline

    levels = {name: column.to_numpy() for name, column in given["occupancy"].items()}
    trace = timeline.chrome_trace(given["timeline"].to_dict("records"), clock_hz, given["sm"], levels)
    return json.dumps(trace).encode()


def csv(some: pd.DataFrame) -> bytes:
    """A table as CSV, full precision."""
    return some.to_csv(index=False, lineterminator="\n").encode()


def json_rows(some: pd.DataFrame) -> bytes:
    """A table as a JSON list of rows; numbers with as many digits as tell them apart."""
    columns = _lists(some)
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    return json.dumps(rows, allow_nan=False).encode()


def parquet(some: pd.DataFrame) -> bytes:
    """A table as Parquet, typed as it is."""
    buffer = io.BytesIO()
    some.to_parquet(buffer, index=False)
    return buffer.getvalue()
