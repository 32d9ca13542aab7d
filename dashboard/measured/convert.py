"""Raw launches to launches: the decimal separator of the file, then numbers, rules and provenance."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from dashboard.measured import metrics, numbers, units
from dashboard.measured.collector import Collector
from dashboard.measured.errors import NeedsAnswer
from dashboard.measured.gather import Gathered
from dashboard.measured.launch import Launch, RawLaunch
from dashboard.measured.metrics import Counter, Plan
from dashboard.measured.table import dims

INTEGRATED_CC = frozenset({"12.1", "11.0", "8.7"})
DECIMAL_NAMES = {".": "decimal point", ",": "decimal comma"}
_STATED = {
    "Nsight Compute": "as ncu measured it; ncu flushes caches and locks clocks unless told not to, which the "
    "file does not state",
    "Nsight Systems": "as nsys traced it, caches and clocks as the program left them",
    "nvprof": "as nvprof measured it, caches and clocks as the program left them",
}


def decide(gathered: Gathered, file: str, answer: str | None) -> tuple[str, str]:
    """The decimal separator of the file and how it was decided; raises NeedsAnswer where it stays open."""
    if answer is not None:
        return answer, f"{DECIMAL_NAMES[answer]}, as the user answered"
    proven = gathered.evidence.votes() - {numbers.OPEN}
    if len(proven) == 1:
        mark = next(iter(proven))
        return mark, f"{DECIMAL_NAMES[mark]}, proven by other numbers in the file"
    used = _used_cells(gathered)
    proven = numbers.votes(text for _, text in used) - {numbers.OPEN}
    if len(proven) != 1:
        proven = _proven_by_counts(used) if not proven else frozenset()
    if len(proven) == 1:
        mark = next(iter(proven))
        return mark, f"{DECIMAL_NAMES[mark]}, proven by the counters used"
    _ask(used, file)
    return ".", "no separators in the numbers"


def _ask(used: set[tuple[Counter, str]], file: str) -> None:
    """Raise the question where a cell in use has two readings, or two cells contradict each other."""
    by_vote: dict[str, tuple[Counter, str]] = {}
    for counter, text in sorted(used):
        by_vote.setdefault(numbers.vote(text), (counter, numbers.strip(text)))
    if numbers.OPEN not in by_vote and not {".", ","} <= set(by_vote):
        return
    (name, unit), example = by_vote.get(numbers.OPEN) or by_vote["."]
    other = "" if numbers.OPEN in by_vote else by_vote[","][1]
    raise NeedsAnswer(file, example, numbers.readings(example), f"{name}, {unit or 'no unit'}", other)


def _used_cells(gathered: Gathered) -> set[tuple[Counter, str]]:
    """The cells that rules read and that hold a separator."""
    cells: set[tuple[Counter, str]] = set()
    for raw, _ in gathered.launches():
        for counter, text in zip(raw.counters, raw.texts, strict=True):
            if not text.isdigit() and counter[0] in metrics.NUMERIC:
                cells.add((counter, text))
    return cells


def _proven_by_counts(cells: Iterable[tuple[Counter, str]]) -> frozenset[str]:
    """A sum of whole bytes or sectors has no fraction, so its only separator groups thousands."""
    found = set()
    for (name, unit), text in cells:
        printed = units.parse(unit)
        whole = printed.factor == 1.0 and printed.dimension in (units.BYTES, units.SECTORS)
        if whole and name.endswith(".sum") and numbers.is_open(text) and not numbers.strip(text).endswith("000"):
            found.add("," if "." in text else ".")
    return frozenset(found)


class _Shape:
    """What launches with the same counters and units share: where identity stands, and the plans."""

    def __init__(self, counters: tuple[Counter, ...]) -> None:
        self.counters = counters
        self.identity = [(i, name) for i, (name, _) in enumerate(counters) if name in metrics.IDENTITY]
        self.plans: dict[tuple[tuple[str, ...], bool], tuple[Plan, dict[object, dict[str, str]]]] = {}

    def plan(self, states: tuple[str, ...], integrated: bool) -> tuple[Plan, dict[object, dict[str, str]]]:
        """The plan for cells in these states and the provenance mappings made from it so far."""
        found = self.plans.get((states, integrated))
        if found is None:
            made = metrics.make_plan(self.counters, states, integrated)
            found = self.plans[states, integrated] = (made, {})
        return found


class Converter:
    """Turns the raw launches of one file into launches; plans are made once per kind of launch."""

    def __init__(self, file: str, decimal: str, decided: str) -> None:
        self._file, self._decimal, self._decided = file, decimal, decided
        self._shapes: dict[tuple[Counter, ...], _Shape] = {}
        self._shape = _Shape(())

    def launch(self, raw: RawLaunch, table: Collector) -> Launch:
        """The launch in base units, with what is missing left None."""
        shape = self._shape_of(tuple(raw.counters))
        values, states = self._numbers(raw.texts)
        facts = _facts({name: raw.texts[place] for place, name in shape.identity}, raw)
        plan, origins = shape.plan(states, facts["integrated"])
        fields: dict[str, Any] = metrics.apply(plan, values)
        return Launch(
            file=self._file,
            kernel=raw.kernel,
            kind=raw.kind,
            grid=facts["grid"],
            block=facts["block"],
            grid_size=_product(facts["grid"]),
            block_size=_product(facts["block"]),
            id=raw.id or None,
            process_id=raw.process_id or None,
            context=raw.context or None,
            stream=raw.stream or None,
            device=raw.device or None,
            device_name=facts["device_name"] or None,
            compute_capability=facts["cc"] or None,
            instances=numbers.whole(raw.instances) if raw.instances else None,
            provenance=self._provenance(plan, origins, fields, table),
            **fields,
        )

    def _shape_of(self, counters: tuple[Counter, ...]) -> _Shape:
        if counters is not self._shape.counters:
            shape = self._shapes.get(counters)
            if shape is None:
                shape = self._shapes[counters] = _Shape(counters)
            self._shape = shape
        return self._shape

    def _numbers(self, texts: Sequence[str]) -> tuple[list[float], tuple[str, ...]]:
        decimal, parse = self._decimal, numbers.parse
        values, states = [], []
        for text in texts:
            value = parse(text, decimal)
            if value is None:
                states.append(metrics.ABSENT if numbers.is_missing(text) else metrics.UNREADABLE)
            else:
                states.append(metrics.NEGATIVE if value < 0 else metrics.OK)
            values.append(value or 0.0)
        return values, tuple(states)

    def _provenance(
        self, plan: Plan, origins: dict[object, dict[str, str]], fields: dict[str, Any], table: Collector
    ) -> dict[str, str]:
        """Shared by all launches of the same table, plan and gaps."""
        key = (id(table), tuple(fields))
        found = origins.get(key)
        if found is None:
            kept = {n: t for n, t in plan.provenance.items() if n in fields or t.startswith("missing")}
            tool = next((text for name, text in _STATED.items() if table.kind.startswith(name)), "")
            closing = {"source": table.kind, "decimal": self._decided, "conditions": tool}
            found = origins[key] = kept | table.notes | closing
        return found


def _facts(named: dict[str, str], raw: RawLaunch) -> dict[str, Any]:
    """What identifies the launch, from columns first and from metrics where a page prints it as such."""
    cc = raw.cc.replace(",", ".")
    attribute = "device__attribute_compute_capability_"
    if not cc and f"{attribute}major" in named:
        major, minor = (numbers.whole(named.get(attribute + part, "")) for part in ("major", "minor"))
        cc = "" if major is None or minor is None else f"{major}.{minor}"
    integrated = named.get("device__attribute_integrated", "")
    return {
        "cc": cc,
        "integrated": integrated == "1" if integrated in ("0", "1") else cc in INTEGRATED_CC,
        "device_name": raw.device_name or _text(named.get("device__attribute_display_name", "")),
        "grid": _dims(raw.grid, named, "grid"),
        "block": _dims(raw.block, named, "block"),
    }


def _text(text: str) -> str:
    return "" if numbers.is_missing(text) else text.strip()


def _dims(column: str, named: dict[str, str], what: str) -> tuple[int, ...] | None:
    """The shape from the launch column, the three metrics of its axes, or the scalar metric."""
    found = dims(column)
    if found is not None and len(found) == 3:
        return found
    if not named:
        return found
    axes = [numbers.whole(named.get(f"launch__{what}_dim_{axis}", "")) for axis in "xyz"]
    if None not in axes:
        return tuple(axis for axis in axes if axis is not None)
    for name in (f"launch__{what}_size", f"{what.title()} Size"):
        count = numbers.whole(named.get(name, ""))
        if count is not None:
            return (count,)
    return found


@lru_cache(maxsize=4096)
def _product(shape: tuple[int, ...] | None) -> int | None:
    return None if shape is None else math.prod(shape)
