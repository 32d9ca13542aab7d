"""From programs as they are written down to the arrays that the engine reads."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simfa.engine import opcodes as op
from simfa.engine import threads
from simfa.isa import Program, WgmmaTiming
from simfa.trace.tensor_map import TensorMap

_FIELDS = (
    *("opcode", "map", "sid", "gid", "bid", "count", "cycles", "tag", "bytes"),
    *("stages", "counter", "advance", "step", "fp32", "mufu", "operands"),
)


@dataclass(frozen=True)
class Code:
    """Encoded instructions, the first coordinates of each one's box, where each program lies, who releases."""

    instructions: np.ndarray
    starts: np.ndarray
    spans: np.ndarray
    releasers: np.ndarray


def assemble(programs: Sequence[Sequence[Program]], maps: Sequence[TensorMap], timing: WgmmaTiming | None) -> Code:
    """Encode CTA programs, each a Program per role; shorter ones leave the roles after them empty."""
    roles = max(map(len, programs))
    spans = np.zeros((len(programs), roles, 2), np.int32)
    releasers = np.zeros((len(programs), threads.STAGES), np.int32)
    parts: list[np.ndarray] = []
    starts: list[np.ndarray] = []
    length = 0
    for number, cta in enumerate(programs):
        filling = fillings(cta)
        for role, program in enumerate(cta):
            parts.append(_encode(program, filling[role], timing))
            starts.append(_starts(program, maps))
            spans[number, role] = (length, length + len(program.rows))
            length += len(program.rows)
        releasers[number] = _releasers(cta)
    return Code(np.concatenate(parts), np.concatenate(starts), spans, releasers)


def fillings(cta: Sequence[Program]) -> list[list[tuple[int, int]]]:
    """For each thread and instruction the phase that a load belongs to, and how many loads the phase takes.

    An mbarrier fills once for all loads of a phase, whichever threads issue them, as a kernel announces them by
    expect_tx. A thread's next phase of a stage begins with its ACQUIRE_STAGE of it, or its MB_WAIT on it. Where
    programs have loops, each load follows an ACQUIRE_STAGE of its own, which counts the phases as it runs.
    """
    if any(row["opcode"] in op.CONTROL for program in cta for row in program.rows):
        return [[(op.DYNAMIC, 1)] * len(program.rows) for program in cta]
    phases = [_phases(program) for program in cta]
    loads: dict[tuple[int, int], int] = defaultdict(int)
    for program, own in zip(cta, phases, strict=True):
        for row, phase in zip(program.rows, own, strict=True):
            if row["opcode"] in op.LOADS:
                loads[row["sid"], phase] += 1
    return [
        [(phase, loads.get((row.get("sid", -1), phase), 0)) for row, phase in zip(program.rows, own, strict=True)]
        for program, own in zip(cta, phases, strict=True)
    ]


def _phases(program: Program) -> list[int]:
    current: dict[int, int] = defaultdict(int)
    begun: set[int] = set()
    found = []
    for row in program.rows:
        sid = row.get("sid", -1)
        if row["opcode"] in op.LOADS:
            begun.add(sid)
        elif row["opcode"] in (op.ACQUIRE_STAGE, op.MB_WAIT) and sid in begun:
            current[sid] += 1
            begun.remove(sid)
        found.append(current[sid])
    return found


def _releasers(cta: Sequence[Program]) -> np.ndarray:
    """Threads of a CTA that release each stage: those whose release an ACQUIRE_STAGE needs."""
    count = np.zeros(threads.STAGES, np.int32)
    for program in cta:
        released = [row for row in program.rows if row["opcode"] == op.RELEASE_STAGE]
        for sid in {row["sid"] + place for row in released for place in range(max(row.get("stages", 0), 1))}:
            count[sid] += 1
    return count


def _encode(program: Program, filling: list[tuple[int, int]], timing: WgmmaTiming | None) -> np.ndarray:
    """The program as INSTRUCTION records."""
    code = np.zeros(len(program.rows), op.INSTRUCTION)
    for name in _FIELDS:
        code[name] = [row.get(name, 0) for row in program.rows]
    code["phase"] = [phase for phase, _ in filling]
    code["expected"] = [expected for _, expected in filling]
    code["address"] = [_bulk_address(row) for row in program.rows]
    code["cycles"] = [_cycles(row, timing) for row in program.rows]
    code["target"] = _targets(program)
    return code


def _targets(program: Program) -> list[int]:
    """Of each LOOP the distance to what follows its END_LOOP, of each END_LOOP that back to its first instruction."""
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
    found = np.zeros((len(program.rows), op.RANKS), np.int32)
    for index, row in enumerate(program.rows):
        if row["opcode"] in op.TENSOR_REQUESTS:
            place = row["gmem"]
            first = place if isinstance(place, tuple) else maps[row["map"]].coordinates(place)
            found[index, : len(first)] = first
    return found


def flop_of(row: Mapping[str, Any]) -> int:
    """FLOPs of one WGMMA row as dense; its k is that of the instruction, doubled where sparse."""
    return 2 * int(row["m"]) * int(row["n"]) * int(row["k"])
