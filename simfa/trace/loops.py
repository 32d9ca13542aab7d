"""What loops and rings must obey, so that the engine can run them without looking; how often instructions run."""

from collections.abc import Iterator, Sequence
from typing import Any

from simfa.engine import opcodes as op
from simfa.engine.threads import STAGES

Row = dict[str, Any]


def problem(rows: Sequence[Row], recurring: bool = False) -> tuple[int, str] | None:
    """The first row that breaks a rule, and the rule; None for a sound program.

    `recurring`: a persistent CTA may come to the program again.
    """
    open_loops: list[int] = []
    walked = recurring or any(row["opcode"] in op.CONTROL or row.get("stages", 0) for row in rows)
    for index, row in enumerate(rows):
        sentence = _ring(row) or (walked and _load(rows, index)) or _control(rows, index, open_loops)
        if sentence:
            return index, sentence
    return (len(rows) - 1, f"LOOP {open_loops[-1]} has no END_LOOP") if open_loops else None


def problem_between(programs: Sequence[Sequence[Row]], recurring: bool = False) -> str:
    """What the programs of one CTA disagree on: how a stage is loaded. Empty if nothing.

    Where loops, rings or persistent CTAs count fillings as they run, a filling takes one load of every thread that
    loads the stage; so all of them must count that way, and mean the same ring.
    """
    loaded: dict[int, tuple[int, int, bool]] = {}
    for rows in programs:
        walked = recurring or any(row["opcode"] in op.CONTROL or row.get("stages", 0) for row in rows)
        for row in rows:
            if row["opcode"] not in op.LOADS:
                continue
            own = (row["sid"], row.get("stages", 0) or 1, walked)
            for stage in range(own[0], own[0] + own[1]):
                other = loaded.setdefault(stage, own)
                if other != own and (walked or other[2]):
                    return f"stage {stage} is loaded {_words(other)}, and {_words(own)}"
    return ""


def _words(own: tuple[int, int, bool]) -> str:
    first, stages, walked = own
    ring = f"as one of the ring of {stages} from {first}" if stages > 1 else "by its number"
    return ring + (" where fillings are counted as they run" if walked else " in a program without loops or rings")


def _ring(row: Row) -> str:
    last = row.get("sid", 0) + row.get("stages", 0) - 1
    return f"a ring that ends at stage {last}; the last stage is {STAGES - 1}" if last >= STAGES else ""


def _load(rows: Sequence[Row], index: int) -> str:
    """Where programs may run again the filling of a load is the one that its thread has just acquired."""
    row, before = rows[index], rows[index - 1] if index else {}
    if row["opcode"] not in op.LOADS:
        return ""
    same = all(row.get(key, 0) == before.get(key, 0) for key in ("sid", "stages", "counter"))
    acquired = before.get("opcode") == op.ACQUIRE_STAGE and same and not before.get("advance", 0)
    rule = "a load stands right after an ACQUIRE_STAGE of its stage"
    return "" if acquired else f"in a program with loops or rings, or of a persistent CTA, {rule}"


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


def open_count(rows: Sequence[Row], turns: int) -> int | None:
    """A loop that leaves its count to the CTA, which gives only the first `turns` of them; or None."""
    left_open = (row["bid"] for row in rows if row["opcode"] == op.LOOP and row["count"] == 0)
    return next((number for number in left_open if number >= turns), None)


def times(rows: Sequence[Row], turns: Sequence[int] = ()) -> list[int]:
    """How often each row runs for one CTA or tile; of LOOP and END_LOOP, what is between them."""
    found, running = [], [1]
    for row in rows:
        if row["opcode"] == op.LOOP:
            running.append(running[-1] * (row["count"] or turns[row["bid"]]))
        found.append(running[-1])
        if row["opcode"] == op.END_LOOP:
            running.pop()
    return found


def bulk_reach(rows: Sequence[Row], turns: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Bulk copies that a counter moves: their place, and the farthest first and last byte that they come to."""
    moved = [(place, row) for place, row in enumerate(rows) if row["opcode"] == op.TMA_BULK and row.get("step", 0)]
    if not moved:
        return
    counts = times(rows, turns)
    for place, row in moved:
        counter = row.get("counter", 0)
        most = sum(
            other.get("advance", 0) * count
            for other, count in zip(rows, counts, strict=True)
            if other.get("counter", 0) == counter
        )
        yield place, row["gmem"] + min(most * row["step"], 0)
        yield place, row["gmem"] + row["bytes"] + max(most * row["step"], 0)
