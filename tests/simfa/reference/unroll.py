"""A program written out: loops run through, rings walked, so that what is left is a plain list of instructions."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from simfa.engine import opcodes as op
from simfa.isa import NAME_OF, Program


class Step(NamedTuple):
    """One instruction as it will run: its name, the stage that it means, and its row."""

    name: str
    stage: int
    row: dict[str, Any]


def unroll(program: Program, turns: Sequence[int], counters: list[int]) -> list[Step]:
    """What a thread runs for one CTA or tile; `counters` go on and are left as the program leaves them."""
    return list(_walk(program.rows, turns, counters))


def _walk(rows: list[dict[str, Any]], turns: Sequence[int], counters: list[int]) -> Iterator[Step]:
    place = 0
    while place < len(rows):
        row = rows[place]
        if row["opcode"] == op.LOOP:
            end = _end_of(rows, place)
            for _ in range(row["count"] or turns[row["bid"]]):
                yield from _walk(rows[place + 1 : end], turns, counters)
            place = end
        else:
            number, ring = row.get("counter", 0), row.get("stages", 0)
            yield Step(NAME_OF[row["opcode"]], row.get("sid", 0) + (counters[number] % ring if ring else 0), row)
            counters[number] += row.get("advance", 0)
        place += 1


def _end_of(rows: list[dict[str, Any]], first: int) -> int:
    """Where the loop that begins at `first` ends."""
    depth = 0
    for place in range(first, len(rows)):
        depth += {op.LOOP: 1, op.END_LOOP: -1}.get(rows[place]["opcode"], 0)
        if depth == 0:
            return place
    raise AssertionError("a loop without an end")
