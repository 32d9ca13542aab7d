"""A simulated run as the Timeline page shows it: its name, whether it is stale, which cycle is drawn at zero."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pandas as pd

from dashboard import align, compare, spans, standing
from dashboard import window as windows
from dashboard.figures import detail, gantt, timeline
from dashboard.plain import label
from dashboard.window import Use, Window
from presets.experiment import Experiment
from presets.specs import KernelSpec
from simfa.tiles import is_persistent

_LEAD = 0.1  # of a window lies before the place that is at cycle zero


@dataclass(frozen=True)
class Shown:
    """An experiment and its answer (`dashboard.spans.answer`)."""

    experiment: Experiment
    answer: dict[str, Any]
    name: str
    stale: bool = False
    origin_cycle: int = 0
    pinned: bool = False  # the baseline: differences are the other run's to it
    _uses: dict[Window, Use] = field(default_factory=dict, init=False, compare=False, repr=False)

    @property
    def spans(self) -> pd.DataFrame:
        """Its timeline."""
        return self.answer["timeline"]

    @property
    def clock_hz(self) -> float:
        """The clock of its SMs."""
        return self.experiment.gpu.sm.clock_hz

    @property
    def inflight_lines(self) -> int:
        """The most lines that a TMA engine of its GPU has in flight; 0 where the preset has no TMA."""
        return self.experiment.gpu.tma.inflight_lines if self.experiment.gpu.tma else 0

    def aligned(self, place: str, nth_cta: int, nth_tile: int) -> "Shown":
        """With the place at cycle zero. Raises PresetError where the run has no such place."""
        return replace(self, origin_cycle=align.origin(self.spans, place, nth_cta, nth_tile))

    def drawn(self) -> tuple[str, int, bool, int]:
        """What tells its drawing from another one."""
        return self.experiment.model_dump_json(), self.answer["sm"], self.stale, self.origin_cycle

    def run(self) -> timeline.Run:
        """As a figure takes it."""
        return timeline.Run(
            label(self.name),
            self.spans,
            self.answer["occupancy"],
            self.clock_hz,
            self.inflight_lines,
            self.origin_cycle,
            self.stale,
        )

    def use(self, axis: Window) -> Use:
        """What it did in a window of the figure's axis; title, table and downloads ask for the same one."""
        if axis not in self._uses:
            self._uses[axis] = windows.use(self.spans, self.answer["occupancy"], axis.moved(self.origin_cycle))
        return self._uses[axis]

    def warpgroups(self, axis: Window, base: "Shown | None" = None) -> pd.DataFrame:
        """What its warpgroups did and waited for in a window of the axis, in per cent of it.

        With a `base`, its activities are listed too and each share has its difference in percentage points.
        """
        table = windows.warpgroups(self.spans, axis.moved(self.origin_cycle))
        if base is None:
            return table.map(lambda share: f"{share:.1%}" if share else compare.ABSENT)
        then = windows.warpgroups(base.spans, axis.moved(base.origin_cycle))
        rows = [*table.index.drop(windows.REST), *then.index.difference(table.index, sort=False), windows.REST]
        table = table.reindex(rows, fill_value=0.0)
        then = then.reindex(index=rows, columns=table.columns, fill_value=0.0)
        pairs = {role: zip(table[role], then[role], strict=True) for role in table}
        cells = {role: [_share(now, before) for now, before in found] for role, found in pairs.items()}
        return pd.DataFrame(cells, index=table.index)


def complete(runs: Sequence[Shown], drawn: Window, visible: Window) -> bool:
    """Whether the figure drawn for one window has every span of another one."""
    return all(len(run.spans) <= detail.FEW for run in runs) or detail.covers(drawn, visible)


def view(runs: Sequence[Shown], place: float | None) -> Window:
    """The cycles of the axis to show first: a part of the first run at `place`, or all of all runs for None."""
    if place is None:
        whole = [(run.origin_cycle, gantt.window(run.spans, None)) for run in runs]
        return Window(min(low - zero for zero, (low, _) in whole), max(high - zero for zero, (_, high) in whole))
    first = runs[0]
    low, high = gantt.window(first.spans, place)
    if place == 0:
        lead = _LEAD * (high - low) if first.origin_cycle else 0
        return Window(-lead, high - low - lead)
    return Window(low - first.origin_cycle, high - first.origin_cycle)


def compared(runs: Sequence[Shown]) -> tuple[Shown, Shown]:
    """Of two runs the one looked at and the one it is compared with: the baseline, or else the first."""
    first, second = runs
    return (first, second) if second.pinned else (second, first)


def title(runs: Sequence[Shown]) -> str:
    """What is seen: how the SM spent the run, or how the second run's time differs from the first's."""
    first = runs[0]
    record, sm, mark = first.answer["record"], first.answer["sm"], standing.mark(first.experiment)
    if len(runs) > 1:
        subject, base = compared(runs)
        now, then = (
            f"{_us(run.answer['record']['latency_us'])}{standing.mark(run.experiment)}" for run in (subject, base)
        )
        change = compare.difference(*(run.answer["record"]["latency_us"] for run in (subject, base)))
        other = "the baseline's " if base.pinned else ""
        how = f"{now} against {other}{then} ({change or 'no difference'})"
        return f"{label(subject.name)}: {how}, SM {sm} of each"
    whole = first.use(Window(0, record["cycles"]))
    run_us = record["cycles"] / first.clock_hz * 1e6
    launch = f" ({_us(record['latency_us'])} with the launch)" if first.experiment.gpu.launch.overhead_s else ""
    return (
        f"SM {sm}: tensor core busy {whole.tensor_core:.0%} of {_us(run_us)}{launch}{mark}, "
        f"{compare.digits(whole.tma_lines)} of {first.inflight_lines} TMA lines in flight"
    )


_BUBBLE = "the exponentials' part of each softmax, a bubble that does not share the MUFU, so this may exceed 100 %"
_PHASES = "the phases of exponentials, which share it"


def note(runs: Sequence[Shown]) -> str:
    """What the shares and levels below the figure are; the MUFU's depend on how a run's kernel does its softmax."""
    mufu = [_BUBBLE if _in_bubbles(run.experiment.kernel) else _PHASES for run in runs]
    said = mufu[0] if len(set(mufu)) == 1 else "; ".join(map("{}: {}".format, [run.name for run in runs], mufu))
    return (
        f"Shares are of the window. MUFU: all consumers together, {said}. Backlog: how many cycles ahead L2 slices "
        "and DRAM channels are reserved, mean over all of them."
    )


def _in_bubbles(kernel: KernelSpec) -> bool:
    return kernel.pipeline.softmax == "bubbles" or not is_persistent(kernel)


def window_words(axis: Window, runs: Sequence[Shown], selected: bool) -> str:
    """The window in cycles and in microseconds."""
    us = 1e6 / runs[0].clock_hz
    what = "Selected" if selected else "Visible"
    return (
        f"{what} window: {axis.cycles:,.0f} cycles ({axis.cycles * us:,.3f} µs), from {axis.start_cycle:,.0f} to "
        f"{axis.end_cycle:,.0f} ({axis.start_cycle * us:,.3f} to {axis.end_cycle * us:,.3f} µs)"
    )


def utilization(runs: Sequence[Shown], axis: Window) -> pd.DataFrame:
    """How the units of each run (index) were used in a window: shares of its time, mean levels of queues."""
    rows = {label(run.name): _used(run.use(axis), run.inflight_lines) for run in runs}
    if len(runs) > 1:
        subject, base = (run.use(axis) for run in compared(runs))
        rows["Difference"] = _use_change(subject, base)
    return pd.DataFrame(rows.values(), index=pd.Index(list(rows), name="Window"))


def _used(use: Use, inflight_lines: int) -> dict[str, str]:
    return {
        "Tensor core busy": f"{use.tensor_core:.1%}",
        "MUFU asked for": f"{use.mufu:.1%}",
        "Consumers waiting": f"{use.consumers_waiting:.1%}",
        "Producer waiting": f"{use.producer_waiting:.1%}",
        "TMA lines in flight": f"{use.tma_lines:.1f} of {inflight_lines}",
        "L2 backlog": f"{use.l2_backlog_cycles:.1f} cycles",
        "DRAM backlog": f"{use.dram_backlog_cycles:.1f} cycles",
    }


def _use_change(now: Use, then: Use) -> dict[str, str]:
    """Differences with sign: shares in percentage points, levels in lines and cycles."""
    return {
        "Tensor core busy": _points(now.tensor_core - then.tensor_core),
        "MUFU asked for": _points(now.mufu - then.mufu),
        "Consumers waiting": _points(now.consumers_waiting - then.consumers_waiting),
        "Producer waiting": _points(now.producer_waiting - then.producer_waiting),
        "TMA lines in flight": f"{now.tma_lines - then.tma_lines:+.1f}",
        "L2 backlog": f"{now.l2_backlog_cycles - then.l2_backlog_cycles:+.1f} cycles",
        "DRAM backlog": f"{now.dram_backlog_cycles - then.dram_backlog_cycles:+.1f} cycles",
    }


def _points(share: float) -> str:
    return f"{100 * share:+.1f} points"


def _share(now: float, then: float) -> str:
    """A share with its difference in percentage points; nothing where neither run has any."""
    return f"{now:.1%} ({100 * (now - then):+.1f})" if now or then else compare.ABSENT


def utilization_rows(runs: Sequence[Shown], axis: Window) -> list[dict[str, Any]]:
    """`utilization` in full precision: shares of the window from 0 to 1, queue levels as means."""
    return [
        {"run": run.name, "sm": run.answer["sm"], **_moved(run, axis)._asdict(), **run.use(axis)._asdict()}
        for run in runs
    ]


def stall_rows(runs: Sequence[Shown], axis: Window) -> list[dict[str, Any]]:
    """What each warpgroup did and waited for, a row per run, warpgroup and activity: its share of the window."""
    found = []
    for run in runs:
        moved = _moved(run, axis)
        table = windows.warpgroups(run.spans, moved)
        head = {"run": run.name, "sm": run.answer["sm"], **moved._asdict()}
        found += [
            head | {"warpgroup": str(group), "activity": str(activity), "share": float(table.loc[activity, group])}
            for group in table.columns
            for activity in table.index
        ]
    return found


def _moved(run: Shown, axis: Window) -> Window:
    """A window of the figure's axis in cycles of the run."""
    return axis.moved(run.origin_cycle)


Files = list[tuple[str, str, str, Any]]


def downloads(run: Shown) -> dict[str, Files]:
    """By table, label, file name, type and a callable for the content of each file of a run."""
    work, sm = run.experiment.workload, run.answer["sm"]
    stem = f"{run.experiment.llm.name or 'bare'}_{run.experiment.gpu.name}_{work.seq_q}_sm{sm}"
    trace = lambda: spans.chrome_trace(run.answer, run.clock_hz)  # noqa: E731
    return {
        "Trace, opens in Perfetto": [("Chrome trace", f"{stem}.json", "application/json", trace)],
        "Spans": _files("Spans", f"{stem}_spans", run.spans),
        "Queues": _files("Queues", f"{stem}_queues", run.answer["occupancy"]),
        "CTAs of the GPU": _files("CTAs", f"{stem}_ctas", run.answer["ctas"]),
    }


def _files(what: str, stem: str, table: pd.DataFrame) -> Files:
    return [
        (f"{what}, {form}", f"{stem}.{form.lower()}", mime, partial(write, table))
        for form, mime, write in (
            ("CSV", "text/csv", spans.csv),
            ("JSON", "application/json", spans.json_rows),
            ("Parquet", "application/vnd.apache.parquet", spans.parquet),
        )
    ]


def _us(value: float) -> str:
    return f"{compare.digits(value)} µs"
