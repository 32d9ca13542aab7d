"""What dominates the difference, in plain sentences made from the very numbers of the comparison.

Sentences are plain text and may quote names from uploaded files: whoever shows them escapes them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, median
from typing import Any

from dashboard.catalog import ESTIMATORS
from dashboard.compare import digits, said
from dashboard.measured.case import Case
from dashboard.measured.comparison import Comparison, Row, closed_record, compare
from dashboard.plain import brief
from presets.errors import PresetError
from presets.experiment import Experiment

EXACT_PCT = 0.005  # shown as 0.00 %
MORE = 1.1  # times the model's bytes from which more was measured
FEW = 6
_ROOFLINE = "its highest ceiling alone counts, without softmax bubbles, waits for loads, start-up and drain"


def overall(found: Comparison, cases: Iterable[Case], measured_clock: bool) -> list[str]:
    """What the whole set shows: latency, clock, short kernels, L2 and DRAM."""
    compared = {row["case"] for row in found.rows}
    kept = [case for case in cases if case.id in compared]
    said_so = [_latency(found, name) for name in ("simfa-python", "sim-fa")]
    said_so += [
        _mask(found.of("latency_us")),
        _short(found.of("latency_us")),
        _clock(kept, measured_clock),
        _l2(found.of("l2_bytes")),
    ]
    said_so += [_dram(found.of("dram_bytes"), kept, measured_clock), _cold(kept)]
    return [sentence for sentence in said_so if sentence]


def of_case(case: Case, measured_clock: bool) -> list[str]:
    """What dominates one case, told by SimFA-python's numbers."""
    try:
        asked = case.experiment(measured_clock)
    except PresetError as error:
        return [f"Not compared: {brief(error)}."]
    mine = {row["quantity"]: row for row in compare([case], ["simfa-python"], measured_clock).rows}
    record = closed_record("simfa-python", case, measured_clock)
    found = []
    if "latency_us" in mine:
        found.append(_case_latency(mine["latency_us"], record))
        found.append(_case_clock(case, asked, measured_clock))
    if "l2_bytes" in mine:
        found.append(_case_l2(mine["l2_bytes"], record))
    if "dram_bytes" in mine:
        found.append(_case_dram(mine["dram_bytes"], record, case))
    if case.spread_pct is not None:
        found.append(
            f"{case.launches} launches spread by {case.spread_pct:.1f} % in time; "
            "a difference below that says nothing."
        )
    if case.match.assumed():
        found.append(f"Assumed, because nothing states it: {', '.join(case.match.assumed())}.")
    return [sentence for sentence in found if sentence]


def _latency(found: Comparison, name: str) -> str:
    rows = [row for row in found.of("latency_us") if row["estimator"] == name and row["error_pct"] is not None]
    if not rows:
        return ""
    mean = fmean(row["error_pct"] for row in rows)
    bound, times = Counter(row["bottleneck"] for row in rows).most_common(1)[0]
    text = f"{ESTIMATORS[name].title}: latency {_off(mean)} the measured one on average over {_many(rows)}"
    text += f"; it is bound by {said(bound)} in {times} of them."
    if name == "simfa-python" and mean < 0:
        text += f" A roofline is a lower bound: {_ROOFLINE}."
    return text


def _mask(rows: Sequence[Row]) -> str:
    """GenZ counts the whole square of scores, mask or not."""
    known = [row for row in rows if row["estimator"] == "genz" and row["error_pct"] is not None]
    causal = [row["error_pct"] for row in known if row["causal"]]
    whole = [row["error_pct"] for row in known if not row["causal"]]
    if not (causal and whole):
        return ""
    masked, open_ = round(fmean(causal)), round(fmean(whole))
    on = f"the {len(causal)} causal kernels" if len(causal) > 1 else "the causal kernel"
    others = f"the {len(whole)} others" if len(whole) > 1 else "the other"
    text = f"GenZ knows no mask: {masked:+d} % on {on}, {open_:+d} % on {others}."
    return f"{text} That its errors cancel in the mean is no accuracy." if masked * open_ < 0 else text


def _short(rows: Sequence[Row]) -> str:
    """Whether the shorter half is further off than the longer half, by SimFA-python."""
    known = [row for row in rows if row["estimator"] == "simfa-python" and row["error_pct"] is not None]
    if len(known) < FEW:
        return ""
    middle = median(row["measured"] for row in known)
    short = fmean(abs(row["error_pct"]) for row in known if row["measured"] <= middle)
    long = fmean(abs(row["error_pct"]) for row in known if row["measured"] > middle)
    if short < long + 3:
        return ""
    return (
        f"Short kernels are further off: SimFA-python by {short:.0f} % up to {digits(middle)} µs, by {long:.0f} % "
        "above. Launch, first loads, a last partial wave and the write-back of O weigh more in a short run."
    )


def _clock(cases: Sequence[Case], measured_clock: bool) -> str:
    unknown = [case for case in cases if case.clock_hz is None and case.latency_us.value]
    if unknown:
        return (
            f"{len(unknown)} of {_many(cases)} came without an SM clock; the models run at the preset's clock "
            "there, so part of their latency error is the clock. Compare the shape of the curve, not the height."
        )
    if measured_clock and cases:
        return "Every model runs at the SM clock of its measurement, so the clock explains none of the difference."
    if not measured_clock and any(_case_clock_share(case) for case in cases):
        return "The models run at the preset's clock, not the measured one: part of the latency error is the clock."
    return ""


def _l2(rows: Sequence[Row]) -> str:
    known = [row for row in rows if row["estimator"] == "simfa-python" and row["error_pct"] is not None]
    if not known:
        return ""
    exact = [row for row in known if abs(row["error_pct"]) < EXACT_PCT]
    text = f"Eq. (2) gives the L2 bytes of the SMs exactly in {len(exact)} of {_many(known)}."
    if len(exact) < len(known):
        text += (
            " Where it does not, look at the source: counters of all L2 clients include fabric traffic, register "
            "spills add bytes, and clusters fetch a K/V tile once for two CTAs."
        )
    return text


def _dram(rows: Sequence[Row], cases: Sequence[Case], measured_clock: bool) -> str:
    known = [row for row in rows if row["estimator"] == "simfa-python" and row["error_pct"] is not None]
    if not known:
        return ""
    ideal = [row for row in known if row["regime"] == "ideal"]
    estimates = [row for row in known if row["measured_kind"] == "estimate"]
    text = f"DRAM: Eq. (4) puts {len(ideal)} of {_many(known)} in the ideal regime"
    above = [row for row in ideal if row["error_pct"] < -10]
    if above:
        text += f"; in {len(above)} of these more DRAM traffic was measured than Eq. (3) gives"
    text += "."
    if above:
        names = {row["case"] for row in above}
        text += _reads([case for case in cases if case.id in names], measured_clock)
    if estimates:
        text += (
            f" Estimated from L2 misses: {len(estimates)} of the measured values, as integrated GPUs have no DRAM "
            "counter."
        )
    return text


def _reads(cases: Sequence[Case], measured_clock: bool) -> str:
    """What reads alone say of those with more DRAM traffic than the model has; no cause where they are unknown."""
    apart = [case for case in cases if case.dram_read_bytes.value is not None]
    if not apart:
        return " Reads were not measured apart from writes, so the cause stays open."
    ratios = [_read_ratio(closed_record("simfa-python", case, measured_clock), case) for case in apart]
    more = [case for case, ratio in zip(apart, ratios, strict=True) if ratio > MORE]
    text = f" Reads alone were measured in {len(apart)} and are above the model's in {len(more) or 'none'}"
    several = any(_kv_heads(case) > 1 for case in more)
    return text + ("; a possible cause: several heads share the L2 at once." if several else ".")


def _read_ratio(record: Mapping[str, Any], case: Case) -> float:
    """Measured DRAM reads over the model's."""
    return (case.dram_read_bytes.value or 0.0) / float(record["dram_read_bytes"])


def _cold(cases: Sequence[Case]) -> str:
    cold = [case for case in cases if "cold cache" in case.conditions or "flushes caches" in case.conditions]
    if not cold:
        return ""
    return (
        f"{len(cold)} of {_many(cases)} ran under Nsight Compute, which empties the caches before each launch "
        "unless told not to: Q, K and V come from DRAM once, as the models have it. In an application they may "
        "still be in the L2."
    )


def _case_latency(row: Row, record: Mapping[str, Any]) -> str:
    ceilings = sorted(record["ceilings_us"].items(), key=lambda item: -item[1])
    (first, top), (second, next_top) = ceilings[0], ceilings[1]
    text = (
        f"Latency: measured {digits(row['measured'])} µs, SimFA-python {digits(row['estimated'])} µs "
        f"({row['error_pct']:+.1f} %). Its highest ceiling is {said(first)} ({digits(top)} µs), then "
        f"{said(second)} ({digits(next_top)} µs)."
    )
    if row["error_pct"] < -10:
        text += f" A roofline is a lower bound: {_ROOFLINE}."
    return text


def _case_clock_share(case: Case) -> float | None:
    """Measured clock over the preset's, less one, in percent; None where unknown or equal."""
    try:
        preset_hz = case.experiment(measured_clock=False).gpu.sm.clock_hz
    except PresetError:
        return None
    if case.clock_hz is None or abs(case.clock_hz / preset_hz - 1) < 0.001:
        return None
    return 100 * (case.clock_hz / preset_hz - 1)


def _case_clock(case: Case, asked: Experiment, measured_clock: bool) -> str:
    share = _case_clock_share(case)
    if case.clock_hz is None:
        return (
            f"Clock: not in the file; the models run at {asked.gpu.sm.clock_hz / 1e6:,.0f} MHz. "
            "A GPU under a power limit runs slower."
        )
    if share is None:
        return ""
    text = f"Clock: measured at {case.clock_hz / 1e6:,.0f} MHz, {share:+.1f} % against the preset"
    return text + ("; the models run at it." if measured_clock else ", and the models run at the preset's.")


def _case_l2(row: Row, record: Mapping[str, Any]) -> str:
    if row["error_pct"] is None:
        return ""
    how = "exactly Eq. (2)" if abs(row["error_pct"]) < EXACT_PCT else f"Eq. (2) is {row['error_pct']:+.2f} %"
    text = f"L2: measured {digits(row['measured'] / 1e6)} MB, {how} ({record['l2_bytes']:,} B)."
    return f"{text} {row['remark'][0].upper()}{row['remark'][1:]}." if row["remark"] else text


def _case_dram(row: Row, record: Mapping[str, Any], case: Case) -> str:
    if row["error_pct"] is None:
        return ""
    ratio = row["measured"] / record["dram_ideal_bytes"]
    label = " (an estimate from L2 misses)" if row["measured_kind"] == "estimate" else ""
    text = f"DRAM: measured {digits(row['measured'] / 1e6)} MB{label}, {digits(ratio)} times Eq. (3)."
    written = record["dram_write_bytes"]
    if record["regime"] == "ideal" and ratio > MORE:
        text += " K/V of one head fits the effective L2 (Eq. 4)." + _heads_together(record, case)
    elif ratio < 0.95 and row["measured"] >= 0.9 * (record["dram_ideal_bytes"] - written):
        text += (
            f" Less than every tensor once: O ({digits(written / 1e6)} MB) can stay dirty in the L2 past the end "
            "of the kernel, and Eq. (3) counts its write."
        )
    elif record["regime"] == "realistic":
        text += (
            f" K/V of one head does not fit the effective L2: {record['waves']} waves by Eq. (5) fetch it again."
        )
    return text


def _heads_together(record: Mapping[str, Any], case: Case) -> str:
    """Whether heads that share the L2 can be why there is more DRAM traffic, as far as reads were measured."""
    heads = _kv_heads(case)
    if heads < 2:
        return ""
    text = f" Eq. (4) is about one, while several of the {heads} KV heads are in flight together: a possible cause"
    if case.dram_read_bytes.value is None:
        return f"{text}, but reads were not measured apart from writes."
    read = f"reads alone are {digits(_read_ratio(record, case))} times the model's"
    return f"{text}, as {read}." if _read_ratio(record, case) > MORE else f" {read[0].upper()}{read[1:]}."


def _kv_heads(case: Case) -> int:
    """KV heads of all sequences together."""
    return (case.match.batch or 1) * (case.match.heads_kv or case.match.heads_q or 1)


def _off(mean: float) -> str:
    return f"{abs(mean):.1f} % {'below' if mean < 0 else 'above'}"


def _many(things: Sequence[Any]) -> str:
    return f"{len(things)} kernel" + ("s" if len(things) != 1 else "")
