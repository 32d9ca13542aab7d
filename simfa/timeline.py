"""Spans of one SM as a table: which row, which activity, from which cycle to which (paper, Fig. 7)."""

from typing import Any

import numpy as np

from simfa.engine import opcodes as op
from simfa.engine import threads
from simfa.stats import REASON_NAMES, role_names, thread_names
from simfa.trace import fa3

_TENSORS = fa3.MAP_NAMES
_GEMMS = {fa3.TAG_QK: "QK GEMM", fa3.TAG_PV: "PV GEMM"}

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
        op.BUBBLES: ("softmax", SOFTMAX),
        op.MB_WAIT: (f"wait for {tensor}", WAIT),
        op.ACQUIRE_STAGE: (f"wait for a free {tensor} stage", WAIT),
        op.WGMMA_WAIT: (f"wait for {_GEMMS.get(tag, 'GEMM')}", WAIT),
        op.BAR_WAIT: ("wait for the other consumer (ping-pong)", WAIT),
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
    return (name, SOFTMAX) if activity == op.BUBBLES else (f"wait: {name}", WAIT)


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


def chrome_trace(table: list[dict[str, Any]], clock_hz: float, sm: int) -> dict[str, Any]:
    """The table in the Chrome trace event format, which Perfetto opens: one process, one named track per row."""
    names = list(dict.fromkeys(item["row"] for item in table))
    tracks = {name: index + 1 for index, name in enumerate(names)}
    us = 1e6 / clock_hz
    events: list[dict[str, Any]] = [{"ph": "M", "pid": 1, "name": "process_name", "args": {"name": f"SM {sm}"}}]
    for name, track in tracks.items():
        events.append({"ph": "M", "pid": 1, "tid": track, "name": "thread_name", "args": {"name": name}})
    for item in table:
        events.append(
            {
                "ph": "X",
                "pid": 1,
                "tid": tracks[item["row"]],
                "name": item["activity"],
                "cat": item["category"],
                "ts": item["start_cycle"] * us,
                "dur": (item["end_cycle"] - item["start_cycle"]) * us,
                "args": {key: item[key] for key in ("cta", "start_cycle", "end_cycle", "issued_cycle")},
            }
        )
    return {"displayTimeUnit": "ns", "traceEvents": events, "otherData": {"clock_hz": clock_hz, "sm": sm}}
