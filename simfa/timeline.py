"""Spans of one SM as a table: which row, which activity, from which cycle to which (paper, Fig. 7)."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from presets.experiment import Experiment
from simfa.columns import Columns
from simfa.engine import opcodes as op
from simfa.engine import threads
from simfa.occupancy import GAUGES
from simfa.stats import REASON_NAMES, role_names, thread_names
from simfa.tiles import is_persistent
from simfa.trace import fa3
from simfa.trace.bubbles import SoftmaxCycles, softmax_cycles

_TENSORS = fa3.MAP_NAMES
_GEMMS = {fa3.TAG_QK: "QK GEMM", fa3.TAG_PV: "PV GEMM"}
_ORDER = ("producer", "consumer", "thread", "tensor core", "MUFU", "TMA")  # of rows, from the top
SM_PROCESS, GPU_PROCESS = 1, 2
_FIRST_TRACK = 101  # no process has this number: viewers call a thread numbered like its process the main one

COMPUTE, MEMORY, SOFTMAX, WAIT = "compute", "memory", "softmax", "wait"


def describe(activity: int, tag: int, operand: int) -> tuple[str, str]:
    """Name and category of one activity of `simfa.engine.probe`."""
    tensor = _TENSORS[tag] if 0 <= tag < len(_TENSORS) else "?"
    names = {
        op.WGMMA: (f"{_GEMMS.get(tag, 'GEMM')}, consumer {operand}", COMPUTE),
        op.TMA_TENSOR: (f"load {tensor}", MEMORY),
        op.TMA_STORE: (f"store {tensor}", MEMORY),
        op.TMA_BULK: ("bulk load", MEMORY),
        op.TMA_BULK_STORE: ("bulk store", MEMORY),
        op.BUBBLES: ("tile overhead" if tag == fa3.TAG_EPILOGUE else "softmax", SOFTMAX),
        op.PHASE: ("softmax: exp" if tag == fa3.TAG_EXP else "softmax", SOFTMAX),
        op.MB_WAIT: (f"wait for {tensor}", WAIT),
        op.ACQUIRE_STAGE: (f"wait for a free {tensor} stage", WAIT),
        op.WGMMA_WAIT: (f"wait for {_GEMMS.get(tag, 'GEMM')}", WAIT),
        op.BAR_WAIT: (
            "wait for the other consumers (epilogue)"
            if tag == fa3.TAG_EPILOGUE
            else "wait for the other consumer (ping-pong)",
            WAIT,
        ),
        op.TMA_WAIT: ("wait for the O store", WAIT),
        threads.TENSOR_BUFFER_FULL: ("wait for room in the WGMMA buffer", WAIT),
        threads.GROUPS_FULL: ("wait for room for another group", WAIT),
        threads.TMA_QUEUE_FULL: ("wait for room in the TMA queue", WAIT),
    }
    return names[activity]


def describe_plainly(activity: int, tag: int, operand: int) -> tuple[str, str]:
    """The same for a trace, whose tags mean what its author likes: the instruction's name and its tag."""
    name = REASON_NAMES[activity] + (f" (tag {tag})" if tag else "")
    if activity == op.WGMMA:
        return f"{name}, thread {operand}", COMPUTE
    if activity in (*op.LOADS, *op.STORES):
        return name, MEMORY
    return (name, SOFTMAX) if activity in (op.BUBBLES, op.PHASE) else (f"wait: {name}", WAIT)


def rows(spans: np.ndarray, roles: int, of_trace: bool = False) -> list[dict[str, Any]]:
    """Spans in order of start: row, activity, category, start_cycle, end_cycle, cta.

    Warpgroups of the SM's second and later CTA slots have rows of their own, since they run at the same time.
    WGMMAs of one GEMM that follow each other are one span. A TMA operation is shown from the completion of the
    one before it, since an engine serves them in order; `issued_cycle` keeps when it was issued.
    """
    names = thread_names(roles) if of_trace else role_names(roles)
    words = describe_plainly if of_trace else describe
    first_slot = int(spans["slot"].min(initial=np.iinfo(np.int32).max))
    table: list[dict[str, Any]] = []
    last_on_row: dict[str, dict[str, Any]] = {}
    for span in np.sort(spans, order=["start", "end"]):
        row = _row_name(int(span["track"]), int(span["slot"]) - first_slot, names)
        activity, category = words(int(span["activity"]), int(span["tag"]), int(span["operand"]))
        start, end, cta = int(span["start"]), int(span["end"]), int(span["cta"])
        last = last_on_row.get(row)
        if span["activity"] == op.WGMMA and last and (last["activity"], last["end_cycle"]) == (activity, start):
            last["end_cycle"] = end
            continue
        shown = max(start, last["end_cycle"]) if row == "TMA" and last else start
        if end <= shown:
            continue
        item = {
            "row": row,
            "activity": activity,
            "category": category,
            "start_cycle": shown,
            "end_cycle": end,
            "issued_cycle": start,
            "cta": cta,
        }
        table.append(item)
        last_on_row[row] = item
    return sorted(table, key=lambda item: (item["start_cycle"], item["row"]))


def _row_name(track: int, slot: int, names: list[str]) -> str:
    if track >= len(names):
        return ("tensor core", "TMA")[track - len(names)]
    return names[track] + (f", CTA slot {slot + 1}" if slot else "")


def of(experiment: Experiment, spans: np.ndarray) -> list[dict[str, Any]]:
    """The rows of the built-in kernel's run, and a row for each consumer's exponentials on the MUFU."""
    kernel = experiment.kernel
    consumers = kernel.pipeline.consumer_warpgroups
    step = softmax_cycles(
        experiment.gpu.alu, kernel.tile.query_rows // consumers, kernel.tile.kv_rows, experiment.llm.head_dim
    )
    table = rows(spans, 1 + consumers)
    on_mufu = _exp_phases(table) if is_persistent(kernel) else _exponentials(table, step)
    return sorted([*table, *on_mufu], key=lambda item: (item["start_cycle"], item["row"]))


def _exp_phases(table: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Where exponentials are phases of their own, those: consumers side by side share the MUFU."""
    for item in table:
        if item["activity"] == "softmax: exp":
            yield item | {"row": f"MUFU, {item['row']}", "activity": f"exp, {item['row'].split(',')[0]}"}


def _exponentials(table: list[dict[str, Any]], step: SoftmaxCycles) -> Iterator[dict[str, Any]]:
    """The share of each softmax in which its exponentials occupy the MUFU: after the row maxima (section 5.2).

    A softmax is one bubble in the simulation, so consumers do not compete for the MUFU and may overlap on it.
    """
    for item in table:
        if item["category"] == SOFTMAX:
            start = item["start_cycle"] + step.rowmax
            end = min(start + step.exp, item["end_cycle"])
            name = f"exp, {item['row'].split(',')[0]}"
            yield item | {"row": f"MUFU, {item['row']}", "activity": name, "start_cycle": start, "end_cycle": end}


def place(row: str) -> tuple[int, str]:
    """The order of rows: by what a row stands for, then by its name."""
    return next((n for n, start in enumerate(_ORDER) if row.startswith(start)), len(_ORDER)), row


def chrome_trace(
    table: list[dict[str, Any]], clock_hz: float, sm: int, occupancy: Columns | None = None
) -> dict[str, Any]:
    """The table in the Chrome trace event format, which Perfetto opens.

    The SM is one process with a named track per row and counters of its queues; with `occupancy` a second process
    holds the counters of the whole GPU. Times are microseconds in whole nanoseconds, as Perfetto counts them: it
    leaves out a span that begins before the one ahead of it ended, be it by a rounded nanosecond. `args` keep the
    cycles.
    """
    names = sorted({item["row"] for item in table}, key=place)
    tracks = {name: number for number, name in enumerate(names, _FIRST_TRACK)}
    ns = 1e9 / clock_hz
    events = [_named("process_name", SM_PROCESS, f"SM {sm}")]
    for name, track in tracks.items():
        events.append(_named("thread_name", SM_PROCESS, name) | {"tid": track})
        sort = {"ph": "M", "pid": SM_PROCESS, "tid": track, "name": "thread_sort_index"}
        events.append(sort | {"args": {"sort_index": track}})
    events += [_complete(item, tracks[item["row"]], ns) for item in table]
    if occupancy:
        events.append(_named("process_name", GPU_PROCESS, "GPU, mean over units"))
        events += _counters(occupancy, ns)
    return {"displayTimeUnit": "ns", "traceEvents": events, "otherData": {"clock_hz": clock_hz, "sm": sm}}


def _named(what: str, process: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "pid": process, "name": what, "args": {"name": name}}


def _complete(item: dict[str, Any], track: int, ns: float) -> dict[str, Any]:
    start, end = (round(item[edge] * ns) for edge in ("start_cycle", "end_cycle"))
    return {
        "ph": "X",
        "pid": SM_PROCESS,
        "tid": track,
        "name": item["activity"],
        "cat": item["category"],
        "ts": start / 1e3,
        "dur": (end - start) / 1e3,
        "args": {key: int(item[key]) for key in ("cta", "start_cycle", "end_cycle", "issued_cycle")},
    }


def _counters(occupancy: Columns, ns: float) -> Iterator[dict[str, Any]]:
    """A counter per gauge: its mean level, at the start of each bucket where it changes; zero at the end.

    The unit is the series' name in brackets: viewers show a counter as its name followed by that of the series.
    """
    starts = [*occupancy["start_cycle"].tolist(), int(occupancy["end_cycle"][-1])]
    for gauge in (gauge for gauge in GAUGES.values() if gauge.column in occupancy):
        before = None
        for start, level in zip(starts, [*occupancy[gauge.column].tolist(), 0.0], strict=True):
            if level != before:
                process = SM_PROCESS if gauge.of_sm else GPU_PROCESS
                head = {"ph": "C", "pid": process, "name": gauge.title}
                yield head | {"ts": round(start * ns) / 1e3, "args": {f"({gauge.unit})": level}}
            before = level
