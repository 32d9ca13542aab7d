"""The tables people read on the Measured page, made from the rows of a comparison; numbers stay numbers."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from dashboard.catalog import ESTIMATORS
from dashboard.compare import ABSENT, digits, said
from dashboard.measured.case import Case
from dashboard.measured.comparison import QUANTITIES, Comparison, Quantity, Row
from dashboard.plain import brief

_LAST = ("Regime", "Bottleneck", "GPU", "Clock (MHz)", "Spread (%)", "Counter", "Remark")
_NUMBERS = (
    *("measured", "estimated", "error_pct", "eq2_bytes", "measured_clock_mhz", "spread_pct"),
    *("baseline_estimated", "baseline_error_pct"),
)
_QUANTITY = {quantity.key: quantity for quantity in QUANTITIES}


def quantity(key: str) -> Quantity:
    """Title and unit of a quantity."""
    return _QUANTITY[key]


def errors(found: Comparison, key: str, names: Sequence[str]) -> pd.DataFrame:
    """One row per case: measured, and per estimator its value and signed error."""
    what = _QUANTITY[key]
    table: dict[str, dict[str, Any]] = {}
    for row in found.of(key):
        line = table.setdefault(row["case"], _start(row, what))
        short = ESTIMATORS[row["estimator"]].short
        line[f"{short} ({what.unit})"] = None if row["estimated"] is None else row["estimated"] * what.scale
        line[f"{short} error (%)"] = row["error_pct"]
        if "baseline_error_pct" in row:
            line[f"{short} baseline error (%)"] = row["baseline_error_pct"]
        if key == "l2_bytes" and row["estimated_as"] == "l2_bytes_coalesced" and row["eq2_bytes"] is not None:
            line["Eq. (2) (MB)"] = row["eq2_bytes"] * what.scale
        if row["estimator"] == names[0]:
            line |= {"Regime": row["regime"] or ABSENT, "Bottleneck": said(row["bottleneck"])}
        if row["remark"]:
            remark = row["remark"] if row["estimated"] is not None else f"{short}: {row['remark']}"
            line["Remark"] = "; ".join(filter(None, dict.fromkeys((line.get("Remark", ""), remark))))
    made = pd.DataFrame(list(table.values())).dropna(axis="columns", how="all")
    numbers = [name for name in made if name.endswith(("(µs)", "(MB)", "(%)", "(MHz)"))]
    made = made.astype(dict.fromkeys(numbers, "float64"))
    last = [name for name in _LAST if name in made]
    return made[[name for name in made if name not in last] + last] if len(made) else made


def _start(row: Row, what: Quantity) -> dict[str, Any]:
    kind = {"estimate": " (estimate)", "rate": " (from a rate)", "all units": " (all L2 clients)"}
    line: dict[str, Any] = {
        "Kernel": row["label"],
        f"Measured ({what.unit})": row["measured"] * what.scale,
        "GPU": row["gpu"],
        "Clock (MHz)": row["clock_mhz"],
    }
    if what.key == "latency_us":
        line["Spread (%)"] = row["spread_pct"]
    line["Counter"] = row["measured_source"] + kind.get(row["measured_kind"], "")
    return line


def errors_format(table: pd.DataFrame) -> dict[str, Any]:
    """How each numeric column of `errors` is written: three digits, errors with sign."""
    formats: dict[str, Any] = {}
    for name in table.columns:
        if name.endswith("error (%)"):
            formats[name] = _signed
        elif name == "Clock (MHz)":
            formats[name] = "{:,.0f}"
        elif name == "Spread (%)":
            formats[name] = "{:.1f}"
        elif name.endswith(("(µs)", "(MB)")):
            formats[name] = _three
    return formats


def summary(rows: Iterable[Row]) -> pd.DataFrame:
    """MAPE, mean signed error and worst case per quantity and estimator, those with values only."""
    return pd.DataFrame(
        [
            {
                "Quantity": _QUANTITY[row["quantity"]].title,
                "Estimator": ESTIMATORS[row["estimator"]].title,
                "Kernels": f"{row['values']} of {row['of']}",
                "MAPE (%)": row["mape_pct"],
            }
            | ({"Baseline MAPE (%)": row["baseline_mape_pct"]} if "baseline_mape_pct" in row else {})
            | {
                "Mean error (%)": row["mean_error_pct"],
                "Worst error (%)": row["worst_error_pct"],
                "Worst case": row["worst_case"],
            }
            for row in sorted(rows, key=lambda row: list(_QUANTITY).index(row["quantity"]))
            if row["values"]
        ]
    )


def not_compared(left_out: Iterable[tuple[Case, str]]) -> pd.DataFrame:
    """The cases without a comparison, and the reason of each."""
    return pd.DataFrame([{"Kernel": case.label, "File": case.file, "Why": brief(why)} for case, why in left_out])


def to_parquet(rows: Sequence[Row]) -> bytes:
    """The rows of a comparison as a Parquet file, full precision."""
    buffer = io.BytesIO()
    table = pd.DataFrame(rows)
    for name in _NUMBERS:
        if name in table:
            table[name] = table[name].astype("float64")
    table.to_parquet(buffer, index=False)
    return buffer.getvalue()


def percent(value: float | None) -> str:
    """A MAPE for a card: two decimals below 10 %, one above."""
    if value is None:
        return ABSENT
    return f"{value:.2f} %" if value < 10 else f"{value:.1f} %"


def _three(value: float | None) -> str:
    return ABSENT if value is None or value != value else digits(value)


def _signed(value: float | None) -> str:
    return ABSENT if value is None or value != value else f"{value:+.2f}"


def _two(value: float | None) -> str:
    return ABSENT if value is None or value != value else f"{value:.2f}"


SUMMARY_FORMAT = {
    "MAPE (%)": _two,
    "Baseline MAPE (%)": _two,
    "Mean error (%)": _signed,
    "Worst error (%)": _signed,
}
