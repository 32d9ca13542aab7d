"""A number derived step by step: each step one expression, its symbols, the values put in, and their sources.

An expression is written once, as Python arithmetic over symbols. From it come the values (evaluated with the
very functions the estimators use), the line with numbers in place of symbols, and both as LaTeX.
"""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from analytical import launch_order, retention, tiles
from analytical.numbers import ceil_div

GIGABYTE = 10**9

FUNCTIONS: dict[str, Any] = {
    "ceil_div": ceil_div,
    "max": max,
    "min": min,
    "round": round,
    "poisson_tail": retention.poisson_tail,
    "mean_poisson_tail": retention.mean_poisson_tail,
    "lost_under_mask": launch_order.lost_under_mask,
    "kv_rows_read": lambda L, S, T_M, T_N: tiles.count(L, S, T_M, T_N, True).kv_rows,
    "score_elements": lambda L, S, T_M, T_N: tiles.count(L, S, T_M, T_N, True).score_elements,
    "tiles_computed": lambda L, S, T_M, T_N: tiles.count(L, S, T_M, T_N, True).tiles,
}
_LATEX_CALLS = {
    "ceil_div": r"\left\lceil \frac{%s}{%s} \right\rceil",
    "max": r"\max\left(%s\right)",
    "round": r"\mathrm{round}\left(%s\right)",
    "min": r"\min\left(%s\right)",
    "poisson_tail": r"\mathrm{P}\left(\mathrm{Poisson}(%s) \ge %s\right)",
    "mean_poisson_tail": r"\overline{\mathrm{P}\left(\mathrm{Poisson}(m) \ge W\right)}_{%s \le m \le %s,\ W = %s}",
}
_ALLOWED = (
    *(ast.Constant, ast.Name, ast.Load, ast.BinOp, ast.operator, ast.UnaryOp, ast.unaryop),
    *(ast.Compare, ast.cmpop, ast.IfExp, ast.Call),
)
_SIGNS: dict[type, str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: r"\cdot"}
_COMPARED: dict[type, str] = {ast.Gt: ">", ast.GtE: r"\ge", ast.Eq: "="}


@dataclass(frozen=True)
class Input:
    """A value that is given: its symbol, what it is, and where it comes from."""

    symbol: str
    value: Any
    unit: str
    meaning: str
    key: str  # the preset key or option that holds it
    label: str  # measured, published, fitted, inferred, override, or workload
    source: str


@dataclass(frozen=True)
class Step:
    """One derived value. `key` is the record key it answers for, empty for a step on the way."""

    symbol: str
    title: str
    expression: str
    value: Any
    unit: str
    equation: str = ""
    key: str = ""
    note: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)  # of the symbols in the expression

    @property
    def arithmetic(self) -> str:
        """The expression with numbers in place of its symbols; evaluates to `value`."""
        return ast.unparse(_Substitute(self.values).visit(_tree(self.expression)))

    def latex(self) -> str:
        """Symbols, numbers and result as an aligned LaTeX block."""
        lines = [_latex(_tree(self.expression))]
        with_numbers = _latex(_tree(self.arithmetic))
        if with_numbers not in (lines[0], _number_latex(self.value)):
            lines.append(with_numbers)
        lines.append(rf"\text{{{self.said()}}}".replace("µ", r"}\mu\text{"))
        return rf"\begin{{aligned}}{symbol_latex(self.symbol)} &= " + r" \\[4pt] &= ".join(lines) + r"\end{aligned}"

    def said(self) -> str:
        """The result with its unit, in words where it is a condition."""
        if isinstance(self.value, bool):
            return "holds" if self.value else "does not hold"
        gigabytes = self.value / GIGABYTE
        grouped = f"{gigabytes:,.0f}" if gigabytes >= 1000 else f"{gigabytes:.4g}"
        scaled = f" ({grouped} GB)" if self.unit == "B" and gigabytes >= 0.01 else ""
        unit = self.unit.removesuffix("s") if self.value == 1 and self.unit != "s" else self.unit
        return f"{shown(self.value)} {unit}".strip() + scaled


class Derivation:
    """The inputs and steps of one estimator's answer, in the order they build on each other."""

    def __init__(self, record: Mapping[str, Any]) -> None:
        self.record = record
        self.inputs: dict[str, Input] = {}
        self.steps: dict[str, Step] = {}

    def given(self, entry: Input) -> None:
        """Add an input."""
        self.inputs[entry.symbol] = entry

    def step(self, symbol: str, title: str, expression: str, unit: str = "", **more: str) -> Any:
        """Add a step; its value is the record's where it has a `key`, else that of the expression."""
        used = {name: self._value(name) for name in _names(expression)}
        key = more.get("key", "")
        found = Step(symbol, title, expression, None, unit, values=used, **more)
        value = self.record[key] if key and key != "regime" else evaluate(found.arithmetic)
        self.steps[symbol] = Step(symbol, title, expression, value, unit, values=used, **more)
        return value

    def titles(self) -> dict[str, str]:
        """Record key -> title of every number that has a derivation, in order."""
        return {step.key: step.title for step in self.steps.values() if step.key}

    def why(self, key: str) -> list[Step]:
        """The steps that lead to a record's number, first things first. KeyError if it is not derived."""
        goal = next((step for step in self.steps.values() if step.key == key), None)
        if goal is None:
            raise KeyError(key)
        needed = {goal.symbol}
        for step in reversed(self.steps.values()):
            if step.symbol in needed:
                needed |= set(step.values)
        return [step for step in self.steps.values() if step.symbol in needed]

    def sources(self, steps: list[Step]) -> list[Input]:
        """The inputs that those steps use, each once."""
        used = {name for step in steps for name in step.values}
        return [entry for entry in self.inputs.values() if entry.symbol in used]

    def _value(self, name: str) -> Any:
        return self.inputs[name].value if name in self.inputs else self.steps[name].value


def evaluate(arithmetic: str) -> Any:
    """The value of a step's arithmetic: numbers, operators and FUNCTIONS, and ValueError on anything else."""
    tree = _tree(arithmetic)
    strange = [node for node in ast.walk(tree) if not isinstance(node, _ALLOWED)]
    if strange:
        raise ValueError(f"not arithmetic: {ast.unparse(strange[0])}")
    return eval(compile(ast.Expression(tree), "step", "eval"), {"__builtins__": {}}, FUNCTIONS)


def shown(value: Any) -> str:
    """A number for people: whole and large ones grouped, others to six digits; conditions in words."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) or (isinstance(value, float) and 1e5 <= abs(value) < 1e15):
        return f"{value:,.0f}"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return f"{value:.0f}"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def symbol_latex(symbol: str) -> str:
    """`M_DRAM_ideal` as M with index "DRAM, ideal"; single letters stay slanted."""
    head, *rest = symbol.split("_")
    if symbol == "Lambda":
        return r"\Lambda"
    if not rest:
        return head if len(head) == 1 else rf"\mathrm{{{head}}}"
    head = head if len(head) == 1 else rf"\mathrm{{{head}}}"
    return rf"{head}_{{\mathrm{{{','.join(rest)}}}}}"


class _Substitute(ast.NodeTransformer):
    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Constant(self.values[node.id]) if node.id in self.values else node


def _tree(expression: str) -> ast.expr:
    return ast.parse(expression, mode="eval").body


def _names(expression: str) -> list[str]:
    found = [node.id for node in ast.walk(_tree(expression)) if isinstance(node, ast.Name)]
    return [name for name in dict.fromkeys(found) if name not in FUNCTIONS]


def _latex(node: ast.AST) -> str:
    if isinstance(node, ast.Constant):
        return _number_latex(node.value)
    if isinstance(node, ast.Name):
        return symbol_latex(node.id)
    if isinstance(node, ast.BinOp):
        return _operation_latex(node)
    if isinstance(node, ast.Compare):
        return f"{_latex(node.left)} {_COMPARED[type(node.ops[0])]} {_latex(node.comparators[0])}"
    if isinstance(node, ast.IfExp):
        return (
            rf"\begin{{cases}} {_latex(node.body)} & \text{{if }} {_latex(node.test)} \\ "
            rf"{_latex(node.orelse)} & \text{{else}} \end{{cases}}"
        )
    assert isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    return _call_latex(node.func.id, [_latex(argument) for argument in node.args])


def _call_latex(name: str, arguments: list[str]) -> str:
    pattern = _LATEX_CALLS.get(name)
    if pattern is None:
        said = name.replace("_", r"\ ")
        return rf"\text{{{said.replace(chr(92) + ' ', ' ')}}}\left({', '.join(arguments)}\right)"
    if pattern.count("%s") == 1:
        return pattern % r",\ ".join(arguments)
    return pattern % tuple(arguments)


def _operation_latex(node: ast.BinOp) -> str:
    if isinstance(node.op, (ast.Div, ast.FloorDiv)):
        return rf"\frac{{{_latex(node.left)}}}{{{_latex(node.right)}}}"
    low = isinstance(node.op, ast.Mult)
    left, right = (_inside(part, low) for part in (node.left, node.right))
    if isinstance(node.op, ast.Sub) and isinstance(node.right, ast.BinOp):
        right = _inside(node.right, isinstance(node.right.op, (ast.Add, ast.Sub)))
    return f"{left} {_SIGNS[type(node.op)]} {right}"


def _inside(node: ast.expr, product: bool) -> str:
    text = _latex(node)
    is_sum = isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub))
    return rf"\left({text}\right)" if product and is_sum else text


def _number_latex(value: Any) -> str:
    text = shown(value)
    if isinstance(value, bool):
        return rf"\text{{{text}}}"
    if "e" in text and isinstance(value, float):
        digits, power = text.split("e")
        return rf"{digits} \times 10^{{{int(power)}}}"
    return text.replace(",", "{,}")
