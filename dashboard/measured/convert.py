"""Raw launches to launches: the decimal separator of the file, then numbers, rules and provenance."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
    for (name, unit), text in used:
        if numbers.vote(text):
            example = numbers.strip(text)
            raise NeedsAnswer(file, example, numbers.readings(text), f"{name}, {unit or 'no unit'}")
    return ".", "no separators in the numbers"


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
        if (
            whole
            and name.endswith(".sum")
            and numbers.is_open(text)
            and not numbers.strip(text).endswith("000")
        ):
            found.add("," if "." in text else ".")
    return frozenset(found)


class Converter:
    """Turns the raw launches of one file into launches; plans are made once per kind of launch."""

    def __init__(self, file: str, decimal: str, decided: str) -> None:
        self._file, self._decimal, self._decided = file, decimal, decided
        self._plans: dict[object, Plan] = {}
        self._origins: dict[object, dict[str, str]] = {}

    def launch(self, raw: RawLaunch, table: Collector) -> Launch:
        """The launch in base units, with what is missing left None."""
        counters = tuple(raw.counters)
        values, states = self._numbers(raw.texts)
        facts = _facts(counters, raw)
        key = (counters, states, facts["integrated"])
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = metrics.make_plan(counters, states, facts["integrated"])
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
            provenance=self._provenance(key, plan, fields, table),
            **fields,
        )

    def _numbers(self, texts: Sequence[str]) -> tuple[list[float], tuple[str, ...]]:
        values, states = [], []
        for text in texts:
            value = numbers.parse(text, self._decimal)
            if value is None:
                states.append(metrics.ABSENT if numbers.is_missing(text) else metrics.UNREADABLE)
            else:
                states.append(metrics.NEGATIVE if value < 0 else metrics.OK)
            values.append(value or 0.0)
        return values, tuple(states)

    def _provenance(
        self, key: object, plan: Plan, fields: dict[str, Any], table: Collector
    ) -> dict[str, str]:
        """Shared by all launches of the same table, plan and gaps."""
        key = (id(table), key, tuple(fields))
        found = self._origins.get(key)
        if found is None:
            kept = {n: t for n, t in plan.provenance.items() if n in fields or t.startswith("missing")}
            tool = next((text for name, text in _STATED.items() if table.kind.startswith(name)), "")
            found = self._origins[key] = (
                kept
                | table.notes
                | {
                    "source": table.kind,
                    "decimal": self._decided,
                    "conditions": tool,
                }
            )
        return found


def _facts(counters: tuple[Counter, ...], raw: RawLaunch) -> dict[str, Any]:
    """What identifies the launch, from columns first and from metrics where a page prints it as such."""
    named = {
        name: text for (name, _), text in zip(counters, raw.texts, strict=True) if name in metrics.IDENTITY
    }
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
    axes = [numbers.whole(named.get(f"launch__{what}_dim_{axis}", "")) for axis in "xyz"]
    if None not in axes:
        return tuple(axis for axis in axes if axis is not None)
    for name in (f"launch__{what}_size", f"{what.title()} Size"):
        count = numbers.whole(named.get(name, ""))
        if count is not None:
            return (count,)
    return found


def _product(shape: tuple[int, ...] | None) -> int | None:
    if shape is None:
        return None
    size = 1
    for count in shape:
        size *= count
    return size
