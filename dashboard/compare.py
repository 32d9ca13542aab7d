"""Side by side: records of several estimators, the table people read, and why the answers differ."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from dashboard.catalog import ESTIMATORS, known
from dashboard.citation import overrides
from presets.errors import NotModelled
from presets.experiment import Experiment
from presets.record import Result, to_record

Record = dict[str, Any]


def records(experiments: Iterable[Experiment], names: Sequence[str]) -> list[Record]:
    """One record per experiment and estimator, in order; an unanswered one has nulls and says why in `notes`."""
    chosen = [known(name) for name in names]
    return [_answer(experiment, estimator.name) for experiment in experiments for estimator in chosen]


def with_what_if(experiment: Experiment, answers: Sequence[Record]) -> list[Record]:
    """Records for a download: which preset values were changed, by dotted key in base units, is in each."""
    changed = "; ".join(f"{key}={value}" for key, value in overrides(experiment).items())
    return [{**record, "what_if": changed} for record in answers]


def unanswered(experiment: Experiment, name: str, reason: str) -> Record:
    """The record of an estimator that gives no answer, with the reason."""
    return to_record(experiment, Result(name, latency_s=None, flops=None, notes=(reason,)))


def _answer(experiment: Experiment, name: str) -> Record:
    try:
        result = ESTIMATORS[name].run(experiment)
    except NotModelled as reason:
        return unanswered(experiment, name, str(reason))
    return to_record(experiment, result)


# (row title, record key, unit, scale): every number of the table with its unit in the row's title.
ROWS: tuple[tuple[str, str, str, float], ...] = (
    ("Latency, one layer", "latency_us", "µs", 1.0),
    ("Throughput", "tflops", "TFLOPS", 1.0),
    ("Work", "flops", "GFLOP", 1e-9),
    ("L2 traffic at the SMs", "l2_bytes", "MB", 1e-6),
    ("DRAM traffic", "dram_bytes", "MB", 1e-6),
    ("DRAM read", "dram_read_bytes", "MB", 1e-6),
    ("DRAM write", "dram_write_bytes", "MB", 1e-6),
    ("Tensor cores busy while it runs", "tensor_core_utilization", "%", 100.0),
    ("Cache regime", "regime", "", 1.0),
    ("Waves per KV group", "waves", "", 1.0),
    ("Bottleneck", "bottleneck", "", 1.0),
    ("Latency, all layers", "model_latency_us", "ms", 1e-3),
)
# What the error of a sampled number goes by; exact ones have none.
_ERRORS = {
    **dict.fromkeys(("latency_us", "tflops", "model_latency_us"), "latency_error_pct"),
    "dram_bytes": "dram_error_pct",
    "dram_read_bytes": "dram_read_error_pct",
    "dram_write_bytes": "dram_write_error_pct",
}
_SAID = {
    "tensor_cores": "tensor cores",
    "mufu": "MUFU (exp)",
    "tma_inflight_lines": "TMA lines in flight",
    "l2": "L2 bandwidth",
    "dram": "DRAM bandwidth",
    "memory": "memory",
    "launch": "launch floor",
    "latency": "latency (no unit above 50 %)",
}
ABSENT = "–"
_TITLES = {entry.name: entry.title for entry in ESTIMATORS.values()}


def table(
    answers: Sequence[Record],
    reference: str | None,
    bases: Mapping[str, Record | None] | None = None,
    titles: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """The comparison people read: a row per quantity, a column per estimator, differences to `reference`.

    `bases`, where given, names for each estimator the record that it is compared with in place of the reference;
    `titles` what its column is called.
    """
    base = next((record for record in answers if record["estimator"] == reference), None)
    against = {record["estimator"]: base for record in answers} if bases is None else bases
    columns = {
        (titles or _TITLES)[record["estimator"]]: [_cell(row, record, against[record["estimator"]]) for row in ROWS]
        for record in answers
    }
    quantities = [f"{title} ({unit})" if unit else title for title, _, unit, _ in ROWS]
    return pd.DataFrame(columns, index=pd.Index(quantities, name="Quantity"))


def difference(value: float | None, base: float | None) -> str:
    """`+12.3 %` of `value` against `base`, from tenfold on `x 60.7`; nothing where equal, absent or zero.

    One digit of less than 0.05 %: no difference is told as -0.0 %.
    """
    if value is None or not base or math.isclose(value, base):
        return ""
    ratio = value / base
    if ratio >= 10:
        return f"x {digits(ratio)}"
    change_pct = (ratio - 1) * 100
    return f"{change_pct:+.1f} %" if abs(change_pct) >= 0.05 else f"{change_pct:+.1g} %"


def digits(value: float) -> str:
    """Three significant digits, thousands grouped; whole numbers from there on."""
    if value == 0 or abs(value) >= 999.5:
        return f"{value:,.0f}"
    return f"{value:#.3g}".rstrip(".")


def within(record: Record, key: str = "latency_us") -> str:
    """` ± 1.2 %` behind a number that was extrapolated from a sample; nothing behind others."""
    error_pct = record.get(_ERRORS.get(key, ""))
    return f" ± {error_pct:.1f} %" if error_pct and "sample" in record else ""


def said(word: str | None) -> str:
    """A record's bottleneck in words."""
    return ABSENT if word is None else _SAID.get(word, word)


def _cell(row: tuple[str, str, str, float], record: Record, base: Record | None) -> str:
    _, key, unit, scale = row
    value = record.get(key)
    if value is None:
        return ABSENT
    if isinstance(value, str):
        return said(value)
    shown = (digits(value * scale) if unit else f"{value:,}") + within(record, key)
    if base is None or base is record:
        return shown
    change = difference(value, base.get(key))
    return f"{shown}  ({change})" if change else shown


def reasons(answers: Sequence[Record]) -> list[str]:
    """Why the estimators differ, in sentences made from these very numbers."""
    by_name = {record["estimator"]: record for record in answers if record["latency_us"] is not None}
    found = []
    closed, genz = by_name.get("simfa-python"), by_name.get("genz")
    if closed and genz:
        found.append(_cache_sentence(closed, genz))
    if closed:
        found.append(
            f"SimFA-python is bound by {said(closed['bottleneck'])}: its highest ceiling is "
            f"{digits(max(closed['ceilings_us'].values()))} µs."
        )
    if closed and genz and closed["causal"]:
        found.append(
            f"GenZ knows no mask: it counts {digits(genz['flops'] / 1e9)} GFLOP, SimFA-python the "
            f"{digits(closed['flops'] / 1e9)} of the tiles that are not wholly masked."
        )
    if "simfa-launch-order" in by_name:
        found.append(_launch_sentence(by_name["simfa-launch-order"]))
    if "sim-fa" in by_name:
        found.append(_simulation_sentence(by_name["sim-fa"], closed))
    if "llm-viewer" in by_name and genz:
        ratio = by_name["llm-viewer"]["dram_bytes"] / genz["dram_bytes"]
        found.append(
            f"LLM-Viewer sends {digits(ratio)} times the ideal bytes through DRAM: it re-reads K/V per 128 rows "
            "and query head, and stores an L x S output."
        )
    return found


def _cache_sentence(closed: Record, genz: Record) -> str:
    ratio = closed["dram_bytes"] / genz["dram_bytes"]
    if closed["regime"] == "ideal":
        return (
            "One K and one V head fit the effective L2 (Eq. 4), so SimFA-python's DRAM traffic is the ideal "
            f"Eq. (3), {'the same as' if ratio == 1 else f'{digits(ratio)} times'} GenZ's."
        )
    return (
        f"One K and one V head do not fit the effective L2 (Eq. 4): {closed['waves']} waves fetch K/V again, and "
        f"SimFA-python's DRAM traffic is {digits(ratio)} times GenZ's, which knows no capacity."
    )


def _launch_sentence(record: Record) -> str:
    heads, passes = record["reuse_kv_heads"], record["waves"]
    ratio = digits(record["dram_bytes"] / record["dram_ideal_bytes"])
    if passes == 1:
        return (
            f"In launch order a head's K/V are passed over once: DRAM traffic is {ratio} times the ideal Eq. (3)."
        )
    return (
        f"In launch order {heads} KV head{'s' if heads != 1 else ''} must stay in L2 between "
        f"{passes} passes; a pass finds {record['lost_share'] * 100:.3g} % of "
        f"K/V gone, so DRAM traffic is {ratio} times the ideal Eq. (3)."
    )


def _simulation_sentence(run: Record, closed: Record | None) -> str:
    busiest = run["bottleneck"]
    share = run["utilization"].get(busiest)
    bound = said(busiest) + (f" ({share:.0%} of its cycles)" if share is not None else "")
    text = f"The simulation is bound by {bound}"
    if "mean_load_latency_cycles" in run:
        text += f", at a mean load latency of {digits(run['mean_load_latency_cycles'])} cycles"
    if closed and closed["waves"] and run["waves"] and run["waves"] != closed["waves"]:
        text += (
            f"; K/V of a head are passed {run['waves']} times (median of what happened), where Eq. (5) has "
            f"{closed['waves']}"
        )
    if closed:
        text += f"; it takes {digits(run['latency_us'] / closed['latency_us'])} times the roofline's time"
    if "dirty_bytes_left" not in run:  # a sample does not say where the whole launch ends
        return f"{text}."
    left = run["dirty_bytes_left"] / 1e6
    return f"{text}. {digits(left)} MB of O stay dirty in L2 at the end and are not in its DRAM writes."
