"""A trace, or an encoded program, as text that `simfa.trace.text` reads back."""

from collections.abc import Iterator, Mapping
from typing import Any

from simfa.isa import BY_OPCODE, EXTRAS
from simfa.trace import operands
from simfa.trace.model import Cta, Launch, Trace
from simfa.trace.tensor_map import TensorMap
from simfa.trace.text import VERSION


def write(trace: Trace) -> str:
    """The whole trace; reading it gives an equal one."""
    return "\n".join([*lines(trace), ""])


def lines(trace: Trace) -> Iterator[str]:
    """The statements of a trace, one by one."""
    yield f"TRACE {VERSION}"
    if trace.launch != Launch():
        keys = {key: value for key, value in vars(trace.launch).items() if value and value != Launch.schedule}
        yield "LAUNCH " + " ".join(f"{key}={_value(value)}" for key, value in keys.items())
    yield from map(declaration, trace.maps)
    names = [tensor.name for tensor in trace.maps]
    for name, program in trace.programs.items():
        yield f"PROGRAM {name}"
        yield from (instruction(row, names) for row in program.rows)
    yield from (_cta(cta, names) for cta in trace.ctas)


def declaration(tensor: TensorMap) -> str:
    """DEF_TMAP of one map."""
    lists = " ".join(operands.write_numbers(part) for part in (tensor.dims, tensor.strides_bytes, tensor.box))
    return f"DEF_TMAP {tensor.name} {tensor.rank} {lists} {tensor.element_bytes} base={tensor.base:#x}"


def instruction(row: Mapping[str, Any], maps: list[str]) -> str:
    """One instruction in the words of Table 3."""
    spec = BY_OPCODE[row["opcode"]]
    parts = [spec.name, *(operands.write(operand, row[operand.name], maps) for operand in spec.operands)]
    parts += [f"tag={row['tag']}"] if row["tag"] else []
    parts += [f"{key}={row[key]}" for key in EXTRAS.get(spec.name, ()) if key in row]
    return " ".join(parts)


def _cta(cta: Cta, maps: list[str]) -> str:
    origins = [f"{maps[number]}={operands.write_numbers(origin)}" for number, origin in cta.origins]
    turns = [f"turns={operands.write_numbers(cta.turns)}"] if cta.turns else []
    return " ".join(["CTA", *cta.programs, *origins, *turns])


def _value(value: Any) -> str:
    return operands.write_numbers(value) if isinstance(value, tuple) else str(value)
