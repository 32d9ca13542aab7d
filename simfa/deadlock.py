"""Why nothing goes on: which logical thread waits for what, since when, and who should have signalled."""

from collections.abc import Iterator
from typing import Any

from simfa.engine import groups, threads
from simfa.engine import opcodes as op
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
    who = f"CTA {machine.grid.running[slot]}, thread {role} (SM {sm})"
    operand = {op.BAR_WAIT: "bid"}.get(int(instruction["opcode"]), "sid")
    what = (
        f" {instruction[operand]}" if instruction["opcode"] in (op.BAR_WAIT, op.MB_WAIT, op.ACQUIRE_STAGE) else ""
    )
    since = f"waits since cycle {int(record['stalled_at']):,} at its instruction {number}, {name}{what}"
    return f"{who} {since}: {_reason(machine, thread, slot)}"


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
    barrier = state.mbarriers[slot, operand]
    if instruction["opcode"] in op.LOADS:
        text = (
            f"stage {operand} has {threads.PHASES} fillings under way, the oldest is number {barrier['filled'] + 1}"
        )
        return f"{text}; {_signallers(machine, slot, op.LOADS, 'sid', operand)}"
    if waits_for == op.ACQUIRE_STAGE:
        need = int(state.acquired[thread, operand]) * int(barrier["consumers"])
        text = f"stage {operand} has been released {int(barrier['released'])} times, it takes {need}"
        return f"{text}; {_signallers(machine, slot, (op.RELEASE_STAGE,), 'sid', operand)}"
    filled = int(barrier["filled"])
    done = max(int(state.phases[slot, operand, filled % threads.PHASES]), 0)
    text = (
        f"stage {operand} has filled {filled} times, it waits for filling {int(state.passed[thread, operand]) + 1}"
    )
    text += f" ({done} loads of filling {filled + 1} are done)" if done else ""
    return f"{text}; {_signallers(machine, slot, op.LOADS, 'sid', operand)}"


def _signallers(machine: Machine, slot: int, opcodes: tuple[int, ...], field: str, operand: int) -> str:
    """The threads of the CTA that issue a signal, how often they have, and where they are now."""
    roles = int(machine.state.config[0]["roles"])
    found = []
    for role in range(roles):
        first, end = (int(place) for place in _span(machine, slot, role))
        pc = min(max(int(machine.state.threads[slot * roles + role]["pc"]), first), end)
        signals = [
            place
            for place in range(first, end)
            if machine.code[place]["opcode"] in opcodes and machine.code[place][field] == operand
        ]
        if signals:
            issued = sum(place < pc for place in signals)
            where = "and has ended" if pc == end else f"and is at its instruction {pc - first + 1}"
            found.append(f"thread {role} has issued {issued} of its {len(signals)} {_words(opcodes)} {where}")
    return ", ".join(found) or f"no thread of the CTA has a {_words(opcodes)} of it"


def _words(opcodes: tuple[int, ...]) -> str:
    return "/".join(NAME_OF[opcode] for opcode in opcodes)


def _place(machine: Machine, thread: int) -> tuple[int, int]:
    return divmod(thread, int(machine.state.config[0]["roles"]))


def _span(machine: Machine, slot: int, role: int) -> Any:
    cta = machine.grid.running[slot]
    return machine.grid.programs[machine.grid.ctas[cta]["program"], role]
