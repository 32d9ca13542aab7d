"""Why nothing goes on: which logical thread waits for what, since when, and who should have signalled."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from simfa.engine import groups, threads
from simfa.engine import opcodes as op
from simfa.engine.dispatch import ONE_TILE
from simfa.engine.machine import Machine
from simfa.isa import NAME_OF

SHOWN = 12  # waiting threads that a report lists


def report(machine: Machine) -> str:
    """Several lines: the cycle, then a line for each waiting thread."""
    launch, ctas = machine.grid.config[0], len(machine.grid.ctas)
    found = list(_waiting(machine))
    lines = [_line(machine, thread) for thread in found[:SHOWN]]
    if len(found) > SHOWN:
        lines.append(f"and {len(found) - SHOWN:,} more threads")
    cycle = int(machine.queue.header[0]["now"])
    retired = f"{int(launch['retired']):,} of {ctas:,} CTAs have retired"
    return "\n".join([f"deadlock at cycle {cycle:,}: no event is pending, {retired}", *lines])


def _waiting(machine: Machine) -> Iterator[int]:
    roles = int(machine.state.config[0]["roles"])
    for slot in range(len(machine.grid.running)):
        if machine.grid.running[slot] >= 0:
            for thread in range(slot * roles, (slot + 1) * roles):
                if machine.state.threads[thread]["waits_for"] != threads.NOTHING:
                    yield thread


def _line(machine: Machine, thread: int) -> str:
    record, (slot, role) = machine.state.threads[thread], _place(machine, thread)
    instruction = machine.code[record["pc"]]
    name = NAME_OF[int(instruction["opcode"])]
    number = int(record["pc"]) - int(_span(machine, slot, role)[0]) + 1
    sm = slot // int(machine.state.config[0]["slots_per_sm"])
    kind = "tile" if _is_persistent(machine) else "CTA"
    who = f"{kind} {_tile(machine, slot, role)}, thread {role} (SM {sm})"
    what = f" {record['operand']}" if instruction["opcode"] in (op.BAR_WAIT, op.MB_WAIT, op.ACQUIRE_STAGE) else ""
    place = f"{number}{_turn(machine, thread, slot, role)}"
    since = f"waits since cycle {int(record['stalled_at']):,} at its instruction {place}, {name}{what}"
    return f"{who} {since}: {_reason(machine, thread, slot)}"


def _turn(machine: Machine, thread: int, slot: int, role: int) -> str:
    """Where a thread stands in the loops around its instruction, the outermost first; empty outside of loops."""
    first, pc = int(_span(machine, slot, role)[0]), int(machine.state.threads[thread]["pc"])
    begun: list[Any] = []
    for row in machine.code[first:pc]:
        if row["opcode"] == op.LOOP:
            begun.append(row)
        elif row["opcode"] == op.END_LOOP:
            begun.pop()
    turns = machine.grid.ctas[_tile(machine, slot, role)]
    found = []
    for row in begun:
        number, count = int(row["bid"]), int(row["count"])
        count = count or int(turns["turns" if number == 0 else "turns_1"])
        turn = count - int(machine.state.walk[thread, threads.TURNS + number]) + 1
        found.append(f"turn {turn} of {count} of LOOP {number}")
    return f" ({', '.join(found)})" if found else ""


def _reason(machine: Machine, thread: int, slot: int) -> str:
    state, record = machine.state, machine.state.threads[thread]
    waits_for, operand = int(record["waits_for"]), int(record["operand"])
    instruction = machine.code[record["pc"]]
    if waits_for == threads.GROUPS_FULL:
        return f"its {groups.GROUPS} groups are all open or outstanding, and an open one lacks its commit"
    if waits_for == op.BAR_WAIT:
        held, need = int(state.named[slot, operand]), int(instruction["count"])
        text = f"barrier {operand} has {held} of {need} arrivals"
        return f"{text}; {_signallers(machine, slot, (op.BAR_ARRIVE,), 'bid', operand)}"
    if operand >= threads.STAGES:  # of any CTA that a multicast goes to
        return _full_peers(machine, thread, slot, operand - threads.STAGES)
    barrier = state.mbarriers[slot, operand]
    if instruction["opcode"] in op.LOADS:
        text = (
            f"stage {operand} has {threads.PHASES} fillings under way, the oldest is number {barrier['filled'] + 1}"
        )
        return f"{text}; {_signallers(machine, slot, op.LOADS, 'sid', operand)}"
    if waits_for == op.ACQUIRE_STAGE:
        need = int(state.stages[thread, operand]["acquired"]) * int(barrier["consumers"])
        text = f"stage {operand} has been released {int(barrier['released'])} times, it takes {need}"
        return f"{text}; {_signallers(machine, slot, (op.RELEASE_STAGE,), 'sid', operand)}"
    filled, awaited = int(barrier["filled"]), int(state.stages[thread, operand]["passed"]) + 1
    done = max(int(state.phases[slot, operand, filled % threads.PHASES]), 0)
    text = f"stage {operand} has filled {filled} times, it waits for filling {awaited}"
    text += f" ({done} loads of filling {filled + 1} are done)" if done else ""
    return f"{text}; {_signallers(machine, slot, op.LOADS, 'sid', operand)}"


def _full_peers(machine: Machine, thread: int, slot: int, sid: int) -> str:
    """A multicast that would be a filling too many in another CTA of the cluster."""
    instruction = machine.code[machine.state.threads[thread]["pc"]]
    phase = int(instruction["phase"])
    if phase == op.DYNAMIC:
        phase = int(machine.state.stages[thread, sid]["acquired"]) - 1
    found = []
    for there in _cluster(machine, slot, int(instruction["multicast"])):
        filled = int(machine.state.mbarriers[there, sid]["filled"])
        if phase >= filled + threads.PHASES:
            full = f"{threads.PHASES} fillings under way, the oldest is number {filled + 1}"
            found.append(f"stage {sid} of CTA {machine.grid.running[there]} has {full}")
    return "; ".join([*found, _signallers(machine, slot, op.LOADS, "sid", sid)])


def _cluster(machine: Machine, slot: int, mask: int) -> list[int]:
    """Slots of the CTAs of a mask in the cluster of `slot`'s CTA."""
    per_sm, size = int(machine.state.config[0]["slots_per_sm"]), int(machine.grid.config[0]["cluster"])
    first = slot - slot // per_sm % size * per_sm
    return [first + rank * per_sm for rank in range(size) if mask >> rank & 1]


def _senders(machine: Machine, slot: int, opcodes: tuple[int, ...], sid: int) -> list[int]:
    """Slots whose CTAs may signal a stage of `slot`'s CTA: its own, or by multicast several of its cluster."""
    programs, sources = machine.grid.ctas["program"], machine.grid.sources
    mask = int(sources[programs[machine.grid.running[slot]], sid])
    if opcodes == op.LOADS:
        return _cluster(machine, slot, mask) if mask else [slot]
    everyone = [there for there in _cluster(machine, slot, -1) if machine.grid.running[there] >= 0]
    own = 1 << _cluster(machine, slot, -1).index(slot)
    found = [there for there in everyone if sources[programs[machine.grid.running[there]], sid] & own]
    return found or [slot]


def _signallers(machine: Machine, slot: int, opcodes: tuple[int, ...], field: str, operand: int) -> str:
    """The threads that issue a signal to the CTA, how often they have, and where they are now."""
    senders = _senders(machine, slot, opcodes, operand) if field == "sid" else [slot]
    found: list[str] = []
    for there in senders:
        cta = int(machine.grid.running[there])
        if cta < 0:
            found.append("a CTA of its cluster has ended")
        else:
            of_cta = f" of CTA {cta}" if there != slot else ""
            found += _signals(machine, there, opcodes, field, operand, of_cta)
    return ", ".join(found) or f"no thread of the CTA has a {_words(opcodes)} of it"


def _signals(
    machine: Machine, slot: int, opcodes: tuple[int, ...], field: str, operand: int, of_cta: str
) -> list[str]:
    roles = int(machine.state.config[0]["roles"])
    found = []
    for role in range(roles):
        first, end = (int(place) for place in _span(machine, slot, role))
        pc = min(max(int(machine.state.threads[slot * roles + role]["pc"]), first), end)
        code = machine.code[first:end]
        signals = [place for place, row in enumerate(code) if _signals_to(row, opcodes, field, operand)]
        if signals:
            where = "has ended" if pc == end else f"is at its instruction {pc - first + 1}"
            issued = sum(place < pc - first for place in signals)
            count = f"has issued {issued} of its {len(signals)} {_words(opcodes)}"
            if np.isin(code["opcode"], op.CONTROL).any():  # where it stands does not say how often it was there
                count = f"issues {_words(opcodes)} of it in a program with loops"
            found.append(f"thread {role}{of_cta} {count} and {where}")
    return found


def _signals_to(row: Any, opcodes: tuple[int, ...], field: str, operand: int) -> bool:
    """Whether an instruction signals a barrier or stage: its own, or one of the ring that its counter walks."""
    first = int(row[field])
    last = first + max(int(row["stages"]), 1) - 1 if field == "sid" else first
    return row["opcode"] in opcodes and first <= operand <= last


def _words(opcodes: tuple[int, ...]) -> str:
    return "/".join(NAME_OF[opcode] for opcode in opcodes)


def _place(machine: Machine, thread: int) -> tuple[int, int]:
    return divmod(thread, int(machine.state.config[0]["roles"]))


def _span(machine: Machine, slot: int, role: int) -> Any:
    return machine.grid.programs[machine.grid.ctas[_tile(machine, slot, role)]["program"], role]


def _is_persistent(machine: Machine) -> bool:
    return bool(machine.grid.config[0]["schedule"] != ONE_TILE)


def _tile(machine: Machine, slot: int, role: int) -> int:
    """The CTA in a slot, or the tile that a thread of a persistent one works on."""
    if not _is_persistent(machine):
        return int(machine.grid.running[slot])
    return int(machine.state.threads[slot * int(machine.state.config[0]["roles"]) + role]["tile"])
