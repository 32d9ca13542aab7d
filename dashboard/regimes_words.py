"""The regimes in words, with the user's numbers: what fits, up to where, what that costs, what cannot be."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from analytical import genz, launch_order, llm_viewer, simfa_python
from dashboard.catalog import ESTIMATORS
from dashboard.compare import difference, digits
from dashboard.regimes import NEAR, Regimes, at_length, flight
from presets.experiment import Experiment

_EQ2 = (simfa_python.NAME, launch_order.NAME)
_NO_L2 = (genz.NAME, llm_viewer.NAME)


def mib(value: float) -> str:
    """Bytes as MiB (2^20), written so."""
    return f"{value / 2**20:,.4g} MiB"


def gb(value: float) -> str:
    """Bytes as GB (10^9), or MB (10^6) where that reads better; written so."""
    return f"{digits(value / 1e9)} GB" if value >= 1e9 else f"{digits(value / 1e6)} MB"


def transition(shown: Regimes) -> list[str]:
    """Three or four sentences: the condition here, the boundary, what lies beyond it, and the launch order."""
    experiment = shown.experiment
    work, size = experiment.workload, experiment.gpu.l2.effective_bytes
    head = 2 * experiment.precision_bytes * work.seq_kv * experiment.llm.head_dim
    paper, ideal = simfa_python.run(experiment), genz.run(experiment)
    fits = paper.regime == "ideal"
    residents = experiment.gpu.sm.count * experiment.kernel.pipeline.occupancy_ctas
    found = [
        f"One K and one V head take 2 x {experiment.precision_bytes} B x {work.seq_kv:,} x "
        f"{experiment.llm.head_dim} = {head:,} B ({mib(head)}); the effective L2 holds {size:,} B "
        f"({mib(size)}), so "
        + (
            f"Eq. (4) holds and K/V is read once: {gb(paper.dram_bytes or 0)}, Eq. (3)."
            if fits
            else f"Eq. (4) does not hold: {paper.waves} waves of {residents} CTAs per KV group each read K/V, "
            f"{gb(paper.dram_bytes or 0)} by Eq. (6) where an ideal cache moves {gb(ideal.dram_bytes or 0)}."
        ),
        _beyond(shown),
        _in_flight(shown),
    ]
    return [sentence for sentence in found if sentence]


def _beyond(shown: Regimes) -> str:
    boundary = shown.boundary_tokens
    before, after = (simfa_python.run(at_length(shown.experiment, max(1, n))) for n in (boundary - 1, boundary))
    ratio = (after.dram_bytes or 0) / (before.dram_bytes or 1)
    text = f"The boundary is {boundary:,} tokens of K/V. "
    if after.waves == 1:
        return (
            text + "One wave covers a KV group there, so crossing it costs nothing until a second wave is needed."
        )
    return text + (
        f"There DRAM traffic goes from {gb(before.dram_bytes or 0)} to {gb(after.dram_bytes or 0)}, "
        f"{digits(ratio)} times as much, because {after.waves} waves each fetch K/V again."
    )


def _in_flight(shown: Regimes) -> str:
    experiment, here = shown.experiment, flight(shown.experiment)
    pipeline = experiment.kernel.pipeline
    why = (
        "as asked"
        if pipeline.live_heads
        else f"the grid runs {(pipeline.grid_order or 'block_fastest').replace('_', ' ')}"
    )
    answer = launch_order.run(experiment)
    heads = f"{here.reuse_heads} KV heads" if here.reuse_heads != 1 else "1 KV head"
    text = (
        f"With launch order ({why}), {heads} must stay in L2 between passes and each is passed over "
        f"{here.passes} time{'s' if here.passes != 1 else ''}; a pass finds {here.lost_share * 100:.3g} % of "
        f"K/V gone: {gb(answer.dram_bytes or 0)}. "
    )
    edge = shown.live_boundary_tokens
    return text + (
        f"Those heads outgrow the L2 at {edge:,} tokens." if edge else "Those heads fit the L2 up to 1M tokens."
    )


def warnings(shown: Regimes) -> list[str]:
    """Why small changes matter here, for each view of Eq. (4); none away from the boundaries."""
    experiment, length = shown.experiment, shown.length
    ideal, real = (simfa_python.run(experiment).extra[f"dram_{regime}_bytes"] for regime in ("ideal", "real"))
    size, found = mib(experiment.gpu.l2.effective_bytes), []
    if abs(length - shown.boundary_tokens) <= NEAR * shown.boundary_tokens:
        found.append(
            f"{length:,} tokens is {_off(length, shown.boundary_tokens)} the Eq. (4) boundary of "
            f"{shown.boundary_tokens:,}: a little more or less effective L2 ({size}) decides between "
            f"{gb(ideal)} and {gb(real)} of DRAM traffic. "
            "Real caches change over gradually; take the answer as a range."
        )
    live = shown.live_boundary_tokens
    if live and live != shown.boundary_tokens and abs(length - live) <= NEAR * live:
        found.append(
            f"{length:,} tokens is {_off(length, live)} the length of {live:,} at which all KV heads in flight "
            f"outgrow the effective L2 ({size}): take the launch-order answer as a range."
        )
    return found


def against(shown: Regimes, base: Regimes) -> list[str]:
    """What the baseline's curves say against these: both boundaries with their shifts, and the widest gap."""
    found = [
        "Against the baseline, "
        + _shift("the Eq. (4) boundary of one head", shown.boundary_tokens, base.boundary_tokens)
    ]
    live = shown.live_boundary_tokens, base.live_boundary_tokens
    if live != (shown.boundary_tokens, base.boundary_tokens):
        found[0] += "; " + _shift("that of all heads in flight", *live)
    found[0] += "."
    both = shown.points.merge(base.points, on="length", suffixes=("", " then"))
    column = f"dram.{simfa_python.NAME}"
    ratio = both[column] / both[f"{column} then"]
    widest = int(ratio.where(ratio >= 1, 1 / ratio).idxmax())
    row, factor = both.loc[widest], float(ratio.loc[widest])
    if factor == 1:
        return [*found, "DRAM traffic by SimFA-python is the baseline's at every length."]
    return [
        *found,
        f"DRAM traffic by SimFA-python differs most at {int(row['length']):,} tokens: {gb(row[column])} where the "
        f"baseline's curve has {gb(row[f'{column} then'])} ({difference(factor, 1)}).",
    ]


def _shift(what: str, now: int | None, then: int | None) -> str:
    """A boundary now and then, in tokens; None stands for beyond the range."""
    if now == then:
        return f"{what} stays at {now:,} tokens" if now else f"{what} stays beyond 1M tokens"
    said = [f"{tokens:,}" if tokens else "beyond 1M" for tokens in (then, now)]
    change = f" ({now - then:+,} tokens, {difference(now, then)})" if now and then else ""
    return f"{what} moves from {said[0]} to {said[1]} tokens{change}"


def _off(length: int, boundary: int) -> str:
    if length == boundary:
        return "exactly at"
    return f"{abs(length / boundary - 1) * 100:.1f} % {'below' if length < boundary else 'above'}"


def impossible(experiment: Experiment) -> list[str]:
    """Why this tile cannot run on this GPU, each with the sum that says so; empty where it can."""
    kernel, sm = experiment.kernel, experiment.gpu.sm
    tile, ctas = kernel.tile, kernel.pipeline.occupancy_ctas
    P, D = experiment.precision_bytes, experiment.llm.head_dim
    need = kernel.shared_memory_bytes(D, P)
    stages = kernel.pipeline.k_stages + kernel.pipeline.v_stages
    memory = f"{P} B x {D} x ({tile.query_rows} + {stages} x {tile.kv_rows}) rows = {need:,} B of shared memory"
    found = []
    if need > sm.cta_shared_memory_bytes:
        found.append(f"{memory}, more than the {sm.cta_shared_memory_bytes:,} B that one CTA may have")
    elif need * ctas > sm.shared_memory_bytes:
        found.append(
            f"{ctas} CTAs x {memory} = {ctas * need:,} B in all, more than the {sm.shared_memory_bytes:,} B "
            "of an SM"
        )
    registers, several = kernel.accumulator_registers(D), f"{ctas} x " if ctas > 1 else ""
    if registers * ctas > sm.registers:
        found.append(
            f"{several}{tile.query_rows} x ({D} + {tile.kv_rows}) FP32 accumulators of O and S = "
            f"{ctas * registers:,} registers, more than the {sm.registers:,} of an SM"
        )
    return found


def points_said(measured: list[dict[str, Any]], simulated: list[dict[str, Any]]) -> str:
    """Which points are on the chart, or that there are none."""
    found = []
    if measured:
        labels = ", ".join(dict.fromkeys(str(point["label"]) for point in measured))
        proxy = " (DRAM by L2 misses: an estimate)" if any(p["kind"] == "estimate" for p in measured) else ""
        found.append(f"Measured{proxy}: {labels}.")
    else:
        found.append("No public traffic counters for this shape on this GPU.")
    if simulated:
        lengths = ", ".join(f"{n:,}" for n in sorted({point["length"] for point in simulated}))
        found.append(f"Simulated so far at {lengths} tokens; dirty O left in L2 is not in its DRAM bytes.")
    return " ".join(found)


def changed(record: dict[str, Any], base: dict[str, Any] | None) -> str:
    """How a record's DRAM traffic differs from the baseline's; empty without one."""
    if base is None:
        return ""
    return f"{difference(record['dram_bytes'], base['dram_bytes']) or 'no difference'} to the baseline"


def beside(record: dict[str, Any]) -> str:
    """What stands under a record's DRAM traffic: its regime and passes, or that there is none."""
    parts = [record["regime"] or "no cache"]
    waves = record["waves"]
    if waves:
        parts.append(f"{waves:,} pass{'es' if waves != 1 else ''}")
    return ", ".join(parts)


def l2_said(record: dict[str, Any], base: dict[str, Any] | None = None) -> str:
    """A record's L2 traffic, with its difference to a baseline's, or that the estimator counts none."""
    if not record["l2_bytes"]:
        return "L2: not counted"
    change = difference(record["l2_bytes"], base["l2_bytes"]) if base is not None else ""
    return f"L2: {gb(record['l2_bytes'])}" + (f" ({change})" if change else "")


def l2_counts(names: Iterable[str]) -> str:
    """Whose L2 traffic the right panel shows, and who counts none."""
    said = {kind: [ESTIMATORS[n].title for n in names if n in kind] for kind in (_EQ2, _NO_L2)}
    count = "count" if len(said[_NO_L2]) > 1 else "counts"
    return f"L2 traffic is Eq. (2) for {' and '.join(said[_EQ2])}; {' and '.join(said[_NO_L2])} {count} none."


def title(shown: Regimes) -> str:
    """What the DRAM panel shows, as one sentence."""
    last = shown.points.iloc[-1]
    ratio = last[f"dram.{simfa_python.NAME}"] / last[f"dram.{genz.NAME}"]
    boundary = shown.boundary_tokens
    if ratio <= 1:
        return "DRAM traffic stays on the ideal line up to 1M tokens"
    paper = f"DRAM traffic leaves the ideal line at {boundary:,} tokens (Eq. 4)"
    live = shown.live_boundary_tokens
    if live and live < boundary:
        paper = f"One head leaves L2 at {boundary:,} tokens (Eq. 4), all heads in flight at {live:,}"
    return f"{paper}: {digits(ratio)} times the ideal at 1M by SimFA-python"
