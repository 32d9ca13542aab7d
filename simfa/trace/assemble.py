"""From programs as they are written down to the arrays that the engine reads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simfa.engine import opcodes as op
from simfa.engine import threads
from simfa.isa import Program, WgmmaTiming
from simfa.trace import fillings
from simfa.trace.fillings import Member
from simfa.trace.tensor_map import TensorMap

_FIELDS = (
    *("opcode", "map", "sid", "gid", "bid", "count", "cycles", "tag", "bytes", "multicast"),
    *("stages", "counter", "advance", "step", "fp32", "mufu", "operands"),
)


@dataclass(frozen=True)
class Code:
    """Encoded instructions and, for each, the first coordinates of its box and the loads of its phase by rank.

    By CTA program: where each role lies, and for every stage who releases it and which CTAs load into it.
    """

    instructions: np.ndarray
    starts: np.ndarray
    fills: np.ndarray
    spans: np.ndarray
    releasers: np.ndarray
    sources: np.ndarray


def assemble(
    programs: Sequence[Sequence[Program]],
    maps: Sequence[TensorMap],
    timing: WgmmaTiming | None,
    members: Sequence[Member] | None = None,
) -> Code:
    """Encode CTA programs, each a Program per role; shorter ones leave the roles after them empty.

    `members` says where each CTA program stands in its cluster; it is needed where loads are multicast.
    """
    members = members or [Member(0, [cta]) for cta in programs]
    spans = np.zeros((len(programs), max(map(len, programs)), 2), np.int64)
    releasers = np.zeros((len(programs), threads.STAGES), np.int64)
    sources = np.zeros_like(releasers)
    parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    length = 0
    for number, (cta, member) in enumerate(zip(programs, members, strict=True)):
        counts = fillings.expected(member.cluster, member.recurring)
        for role, program in enumerate(cta):
            phases = fillings.phases(program, member.recurring)
            fills = _fills(program, phases, counts)
            parts.append((_encode(program, phases, fills[:, member.rank], timing), _starts(program, maps), fills))
            spans[number, role] = (length, length + len(program.rows))
            length += len(program.rows)
        for table, own in ((releasers, fillings.releasers(member)), (sources, _sources(member))):
            table[number, list(own)] = list(own.values())
    instructions, starts, loads = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Code(instructions, starts, loads, spans, releasers, sources)


def with_costs(instructions: np.ndarray, costs: Mapping[int, int]) -> np.ndarray:
    """The instructions with what each costs its thread in cycles, by opcode."""
    found = instructions.astype(op.INSTRUCTION)
    for opcode, cycles in costs.items():
        found["cost"][found["opcode"] == opcode] = _bounded([cycles])[0]
    return found


def _sources(member: Member) -> Mapping[int, int]:
    return fillings.sources(member.cluster)[member.rank]


def _fills(program: Program, phases: Sequence[int], counts: Sequence[Mapping[fillings.Fill, int]]) -> np.ndarray:
    """For each instruction and rank how many loads the phase of its stage takes there, shape (rows, ranks)."""
    found = np.zeros((len(program.rows), len(counts)), np.int64)
    for index, (row, phase) in enumerate(zip(program.rows, phases, strict=True)):
        if row["opcode"] in op.LOADS:
            found[index] = [own[row["sid"], phase] for own in counts]
    return found


def _encode(
    program: Program, phases: Sequence[int], expected: np.ndarray, timing: WgmmaTiming | None
) -> np.ndarray:
    """The program as INSTRUCTION records."""
    code = np.zeros(len(program.rows), op.INSTRUCTION)
    for name in _FIELDS:
        code[name] = _bounded([row.get(name, 0) for row in program.rows])
    code["phase"] = phases
    code["expected"] = expected
    code["address"] = [_bulk_address(row) for row in program.rows]
    code["cycles"] = _bounded([_cycles(row, timing) for row in program.rows])
    code["target"] = _targets(program)
    return code


def _bounded(values: list[int]) -> np.ndarray:
    """Operands as numbers of 32 bits, so that sums of them stay far within 64; OverflowError beyond."""
    return np.array(values, np.int32)


def _targets(program: Program) -> list[int]:
    """Of a LOOP the distance to what follows its END_LOOP, of an END_LOOP that back to its first instruction."""
    targets = [0] * len(program.rows)
    begun: list[int] = []
    for place, row in enumerate(program.rows):
        if row["opcode"] == op.LOOP:
            begun.append(place)
        elif row["opcode"] == op.END_LOOP:
            first = begun.pop()
            targets[first], targets[place] = place + 1 - first, first + 1 - place
    return targets


def _bulk_address(row: Mapping[str, Any]) -> int:
    return int(row["gmem"]) if row["opcode"] in (op.TMA_BULK, op.TMA_BULK_STORE) else 0


def _cycles(row: Mapping[str, Any], timing: WgmmaTiming | None) -> int:
    if row["opcode"] != op.WGMMA or "cycles" in row:
        return int(row.get("cycles", 0))
    if timing is None:
        raise ValueError("a WGMMA without cycles needs a tensor core's timing")
    return timing.cycles(row["n"], row["dtype"], row["mode"], bool(row["sp"]))


def _starts(program: Program, maps: Sequence[TensorMap]) -> np.ndarray:
    """First coordinates of each instruction's box, shape (instructions, RANKS)."""
    found = np.zeros((len(program.rows), op.RANKS), np.int64)
    for index, row in enumerate(program.rows):
        if row["opcode"] in op.TENSOR_REQUESTS:
            place = row["gmem"]
            first = place if isinstance(place, tuple) else maps[row["map"]].coordinates(place)
            found[index, : len(first)] = first
    return found


def flop_of(row: Mapping[str, Any]) -> int:
    """FLOPs of one WGMMA row as dense; its k is that of the instruction, doubled where sparse."""
    return 2 * int(row["m"]) * int(row["n"]) * int(row["k"])
