"""What a program's loops and rings must obey, so that the engine can run it without looking."""

from collections.abc import Sequence
from typing import Any

from simfa.engine import opcodes as op
from simfa.engine.threads import STAGES

Row = dict[str, Any]


def problem(rows: Sequence[Row]) -> tuple[int, str] | None:
    """The first row that breaks a rule, and the rule; None for a sound program."""
    open_loops: list[int] = []
    looped = any(row["opcode"] in op.CONTROL for row in rows)
    for index, row in enumerate(rows):
        sentence = _ring(row) or (looped and _load(rows, index)) or _control(rows, index, open_loops)
        if sentence:
            return index, sentence
    return (len(rows) - 1, f"LOOP {open_loops[-1]} has no END_LOOP") if open_loops else None


def _ring(row: Row) -> str:
    last = row.get("sid", 0) + row.get("stages", 0) - 1
    return f"a ring that ends at stage {last}; the last stage is {STAGES - 1}" if last >= STAGES else ""


def _load(rows: Sequence[Row], index: int) -> str:
    """In a program with loops the filling of a load is the one that its thread has just acquired."""
    row, before = rows[index], rows[index - 1] if index else {}
    if row["opcode"] not in op.LOADS:
        return ""
    same = all(row.get(key, 0) == before.get(key, 0) for key in ("sid", "stages", "counter"))
    acquired = before.get("opcode") == op.ACQUIRE_STAGE and same
    return "" if acquired else "in a program with loops a load stands right after an ACQUIRE_STAGE of its stage"


def _control(rows: Sequence[Row], index: int, open_loops: list[int]) -> str:
    row = rows[index]
    if row["opcode"] == op.LOOP:
        if index == 0:
            return "a program does not begin with LOOP"
        if row["bid"] in open_loops:
            return f"LOOP {row['bid']} inside itself"
        open_loops.append(row["bid"])
    elif row["opcode"] == op.END_LOOP:
        if not open_loops or open_loops[-1] != row["bid"]:
            return f"END_LOOP {row['bid']} closes no open loop of that number"
        if rows[index - 1]["opcode"] == op.LOOP:
            return "a loop without an instruction"
        open_loops.pop()
    return ""
