"""A derivation as plain text and as JSON rows, for people and tools without a browser."""

from typing import Any

from analytical.formula import Derivation, Step, shown
from presets.errors import PresetError, unknown


def chosen(found: Derivation, key: str) -> list[Step]:
    """The steps that lead to a record's number, or all of them for `all`; PresetError on an unknown key."""
    if key == "all":
        return list(found.steps.values())
    if key not in found.titles():
        raise PresetError(f"--explain: {unknown('number', key, ['all', *found.titles()])}")
    return found.why(key)


def lines(found: Derivation, key: str) -> list[str]:
    """One block per step (symbols, numbers, result), then where every value comes from."""
    steps = chosen(found, key)
    text = []
    for step in steps:
        text.append(f"{step.symbol} = {step.said()}  [{', '.join(filter(None, (step.equation, step.title)))}]")
        text.append(f"    = {step.expression}")
        text += [f"    = {step.arithmetic}"] if step.arithmetic != step.expression else []
        text += [f"    {step.note}"] if step.note else []
    text.append("where")
    for entry in found.sources(steps):
        value = f"{shown(entry.value)} {entry.unit}".strip()
        origin = f"{entry.label}: {entry.source}"
        text.append(f"    {entry.symbol} = {value}  {entry.meaning}  [{entry.key or 'fixed'}; {origin}]")
    return text


def rows(found: Derivation, key: str) -> dict[str, list[dict[str, Any]]]:
    """Steps and inputs as JSON: `arithmetic` evaluates to `value`."""
    steps = chosen(found, key)
    return {
        "steps": [
            {
                "symbol": step.symbol,
                "title": step.title,
                "equation": step.equation or None,
                "formula": step.expression,
                "arithmetic": step.arithmetic,
                "value": step.value,
                "unit": step.unit,
                "number": step.key or None,
                "note": step.note or None,
            }
            for step in steps
        ],
        "inputs": [vars(entry).copy() for entry in found.sources(steps)],
    }
