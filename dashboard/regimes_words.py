"""The regimes in words, with the user's numbers: what fits, up to where, what that costs, what cannot be."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from analytical import genz, launch_order, llm_viewer, simfa_python
from analytical.launch_order import InFlight, Order
from analytical.simfa_python import Problem
from dashboard.catalog import ESTIMATORS
from dashboard.compare import difference, digits
from dashboard.regimes import LONGEST, NEAR, Regimes, at_length, flight
from presets.experiment import Experiment

_EQ2 = (simfa_python.NAME, launch_order.NAME)
_NO_L2 = (genz.NAME, llm_viewer.NAME)


def mib(value: float) -> str:
    """Bytes as MiB (2^20), written so."""
    return _mib(value, 4)


def _mib(value: float, shown: int) -> str:
    """Bytes as MiB of so many digits; of all those before the point."""
    size = value / 2**20
    return f"{size:,.0f} MiB" if size >= 10**shown else f"{size:,.{shown}g} MiB"


def apart(one: int, other: int) -> tuple[str, str]:
    """Two counts of bytes as MiB, with as many digits as tell them apart where they differ."""
    for shown in range(4, 20):
        said = [_mib(value, shown) for value in (one, other)]
        if one == other or said[0] != said[1]:
            break
    return said[0], said[1]


def head_bytes(experiment: Experiment) -> int:
    """K and V of one head, in bytes."""
    return 2 * experiment.precision_bytes * experiment.workload.seq_kv * experiment.llm.head_dim


def gb(value: float) -> str:
    """Bytes as GB (10^9), or MB (10^6) where that reads better; written so."""
    return f"{digits(value / 1e9)} GB" if value >= 1e9 else f"{digits(value / 1e6)} MB"


def transition(shown: Regimes) -> list[str]:
    """Three or four sentences: the condition here, the boundary, what lies beyond it, and the launch order."""
    experiment = shown.experiment
    work, size = experiment.workload, experiment.gpu.l2.effective_bytes
    head = head_bytes(experiment)
    taken, held = apart(head, size)
    paper, ideal = simfa_python.run(experiment), genz.run(experiment)
    fits = paper.regime == "ideal"
    residents = experiment.gpu.sm.count * experiment.kernel.pipeline.occupancy_ctas
    found = [
        f"One K and one V head take 2 x {experiment.precision_bytes} B x {work.seq_kv:,} x "
        f"{experiment.llm.head_dim} = {head:,} B ({taken}); the effective L2 holds {size:,} B "
        f"({held}){', no more' if head == size else ''}, so "
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
    """Launch order: the heads of this length and whether they fit, what that costs, and where it changes."""
    experiment, here = shown.experiment, flight(shown.experiment)
    cost = gb(launch_order.run(experiment).dram_bytes or 0)
    text = f"With launch order ({_order_said(experiment)}), "
    if here.passes == 1:
        text += (
            f"{_heads(here.live_heads)} {_are(here.live_heads)} in flight: {_room(experiment, here.live_heads)}. "
            f"{'It' if here.live_heads == 1 else 'Each'} is passed over once, so nothing is read again: {cost}. "
        )
    else:
        text += (
            f"{_heads(here.reuse_heads)} must stay in L2 between passes{_all_pass(here)}: "
            f"{_room(experiment, here.reuse_heads)}. "
            f"{'It' if here.reuse_heads == 1 else 'Each'} is passed over {here.passes:,} times; a pass finds "
            f"{here.lost_share * 100:.3g} % of K/V gone: {cost}. {_overflow(experiment, here)}"
        )
    return text + _changes(shown)


def _order_said(experiment: Experiment) -> str:
    """What decides how many heads are in flight; where fewer are than asked for, why."""
    pipeline = experiment.kernel.pipeline
    asked = pipeline.live_heads
    if not asked:
        return f"the grid runs {(pipeline.grid_order or 'block_fastest').replace('_', ' ')}"
    live = flight(experiment).live_heads
    if live == asked:
        return "as asked"
    residents = experiment.gpu.sm.count * pipeline.occupancy_ctas
    if live < residents:
        return f"{_heads(asked)} asked for, of which there {_are(live)} only {live}"
    return (
        f"{_heads(asked)} asked for, but only {residents:,} CTA{_s(residents)} {_are(residents)} resident, so at "
        f"most {_heads(live)} {_are(live)} in flight"
    )


def _all_pass(here: InFlight) -> str:
    """Why more heads must stay than are in flight."""
    if here.reuse_heads == here.live_heads:
        return ""
    return f" ({here.live_heads:,} in flight at once, but all pass before the first comes again)"


def _room(experiment: Experiment, heads: int) -> str:
    """What the K and V of so many heads take beside what the effective L2 holds."""
    need, size = heads * head_bytes(experiment), experiment.gpu.l2.effective_bytes
    said, held = apart(need, size)
    if need == size:
        return f"{said} of K/V would fill the L2 to the last byte, so Eq. (4) does not hold for all of it"
    return f"{said} of K/V {'fits' if need < size else 'does not fit'} the L2 of {held}"


def _overflow(experiment: Experiment, here: InFlight) -> str:
    """Why K/V that fits is lost all the same."""
    if here.regime != "partial":
        return ""
    problem, order = Problem.of(experiment), Order.of(experiment)
    *_, tiles = launch_order.distances(problem, order, here.live_heads, here.reuse_heads)
    return f"L2 sets of {order.ways} ways overflow one by one, and Q and O tiles take {mib(tiles)} beside it. "


def _changes(shown: Regimes) -> str:
    """Where launch order leaves the ideal line, and where heads outgrow the L2, by the heads of those lengths."""
    first, edge = shown.off_ideal_tokens, shown.live_boundary_tokens
    if first is None:
        there = flight(at_length(shown.experiment, LONGEST))
        heads = there.reuse_heads if there.fits_l2 else there.live_heads
        why = f"fit{'s' if heads == 1 else ''} the L2" if there.fits_l2 else f"{_are(heads)} passed over once"
        return f"Launch order stays on the ideal line up to 1M tokens, where {_heads(heads)} {why}."
    if first == edge:
        return (
            f"Launch order leaves the ideal line at {first:,} tokens, where {_outgrown(shown.experiment, first)}."
        )
    there = flight(at_length(shown.experiment, first))
    text = (
        f"Launch order leaves the ideal line at {first:,} tokens, where {_heads(there.reuse_heads)} must stay and "
        f"a pass finds {there.lost_share * 100:.3g} % of K/V gone; "
    )
    if edge is None:
        return text + "up to 1M tokens, what must stay fits the L2."
    return text + f"at {edge:,} tokens, {_outgrown(shown.experiment, edge)}."


def _outgrown(experiment: Experiment, length: int) -> str:
    """The heads of a length at which they leave no room in the L2, or outgrow it."""
    there = at_length(experiment, length)
    heads, size = flight(there).reuse_heads, there.gpu.l2.effective_bytes
    need, held = apart(heads * head_bytes(there), size)
    if need == held:
        return f"{_heads(heads)} would fill the L2 of {held} to the last byte"
    return f"{_heads(heads)} of {need} in all outgrow{'s' if heads == 1 else ''} the L2 of {held}"


def _heads(count: int) -> str:
    return f"{count:,} KV head{_s(count)}"


def _s(count: int) -> str:
    return "" if count == 1 else "s"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


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
            f"there outgrow the effective L2 ({size}): take the launch-order answer as a range."
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
        found[0] += "; " + _shift(
            "the length from which the L2 cannot keep, between passes, all heads in flight", *live
        )
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
    side, tokens = "below" if length < boundary else "above", abs(length - boundary)
    percent = f"{tokens / boundary * 100:.1f}"
    return f"{percent} % {side}" if percent != "0.0" else f"{tokens:,} token{_s(tokens)} {side}"


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
