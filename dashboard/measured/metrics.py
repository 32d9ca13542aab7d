"""Which counters give which field: the ordered rules, one row per rule, and their evaluation.

For one field the first rule whose counters are all present wins. A rule counts only when the unit printed
beside each counter has the dimension it asks for, so the percentage "Memory Throughput" never passes for
the one in byte/s, and a bytes counter without a unit stays missing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from dashboard.measured import units
from dashboard.measured.units import BYTES, CLOCK, CYCLES, PERCENT, RATE, SECTOR_RATE, SECTORS, TIME

SUM, RATIO, TIMES_DURATION = "sum", "ratio", "rate x duration"
SECTOR_BYTES = 32.0


class Rule(NamedTuple):
    """`field` is `factor` times the sum of `counters` (form SUM), their quotient, or a rate times duration.

    `unless` names fields that, when already found, make the rule void; `integrated` limits the rule to GPUs
    that share the system's memory; `note` is what has to be told with the value.
    """

    field: str
    dimension: str
    counters: tuple[str, ...]
    factor: float = 1.0
    form: str = SUM
    unless: tuple[str, ...] = ()
    integrated: bool = False
    note: str = ""


_ELAPSED = ("sm__cycles_elapsed.avg", "sm__cycles_elapsed.avg.per_second")
_L2_OPS = tuple(f"lts__t_sectors_op_{op}.sum" for op in ("read", "write", "atom", "red"))
_XBAR = ("l1tex__m_xbar2l1tex_read_bytes.sum", "l1tex__m_l1tex2xbar_write_bytes.sum")
_DIRECT = ("dram_bytes", "dram_bytes_from_rate")
_ESTIMATE = "estimate for an integrated GPU, L2 misses to system memory"
_NOT_A_TOTAL = "average per launch over the invocations"

RULES = (
    Rule("duration_ns", TIME, ("gpu__time_duration.sum",)),
    Rule("duration_ns", TIME, ("Duration",)),
    Rule("duration_ns", TIME, ("gpu__time_duration.avg",)),
    Rule("duration_ns", CYCLES, _ELAPSED, 1e9, RATIO, note="cycles divided by clock"),
    Rule("duration_ns", TIME, ("trace:Duration",)),
    Rule("duration_ns", TIME, ("summary:Med",), note="median over the instances"),
    Rule("duration_ns", TIME, ("summary:Avg",), note="average over the instances, no median in the file"),
    Rule("dram_bytes", BYTES, ("dram__bytes.sum",)),
    Rule("dram_bytes", BYTES, ("dram__bytes_read.sum", "dram__bytes_write.sum")),
    Rule("dram_bytes", BYTES, ("dram__bytes_op_read.sum", "dram__bytes_op_write.sum")),
    Rule("dram_bytes", SECTORS, ("dram__sectors_read.sum", "dram__sectors_write.sum"), SECTOR_BYTES),
    Rule("dram_bytes", BYTES, ("nvprof:dram_read_bytes", "nvprof:dram_write_bytes"), note=_NOT_A_TOTAL),
    Rule(
        "dram_bytes",
        SECTORS,
        ("nvprof:dram_read_transactions", "nvprof:dram_write_transactions"),
        SECTOR_BYTES,
        note=_NOT_A_TOTAL,
    ),
    Rule(
        "dram_bytes_from_rate",
        RATE,
        ("dram__bytes.sum.per_second",),
        form=TIMES_DURATION,
        unless=("dram_bytes",),
    ),
    Rule("dram_bytes_from_rate", RATE, ("Memory Throughput",), form=TIMES_DURATION),
    *(
        Rule("dram_bytes_estimate", SECTORS, (name,), SECTOR_BYTES, SUM, _DIRECT, True, _ESTIMATE)
        for name in (
            "lts__t_sectors_aperture_sysmem_lookup_miss.sum",
            "lts__t_sectors_lookup_miss.sum",
            "lts__t_sectors_srcunit_tex_aperture_sysmem_lookup_miss.sum",
        )
    ),
    Rule("dram_read_bytes", BYTES, ("dram__bytes_read.sum",)),
    Rule("dram_read_bytes", BYTES, ("dram__bytes_op_read.sum",)),
    Rule("dram_read_bytes", SECTORS, ("dram__sectors_read.sum",), SECTOR_BYTES),
    Rule("dram_read_bytes", BYTES, ("nvprof:dram_read_bytes",), note=_NOT_A_TOTAL),
    Rule(
        "dram_read_bytes",
        SECTORS,
        ("lts__d_sectors_fill_sysmem.sum",),
        SECTOR_BYTES,
        integrated=True,
        note="estimate for an integrated GPU, sectors filled from system memory",
    ),
    Rule("dram_write_bytes", BYTES, ("dram__bytes_write.sum",)),
    Rule("dram_write_bytes", BYTES, ("dram__bytes_op_write.sum",)),
    Rule("dram_write_bytes", SECTORS, ("dram__sectors_write.sum",), SECTOR_BYTES),
    Rule("dram_write_bytes", BYTES, ("nvprof:dram_write_bytes",), note=_NOT_A_TOTAL),
    Rule("l2_bytes", BYTES, ("lts__t_bytes.sum",)),
    Rule("l2_bytes", SECTORS, ("lts__t_sectors.sum",), SECTOR_BYTES),
    Rule("l2_bytes", SECTORS, _L2_OPS, SECTOR_BYTES),
    Rule("l2_bytes", RATE, ("lts__t_bytes.sum.per_second",), form=TIMES_DURATION, note="from a rate"),
    Rule(
        "l2_bytes",
        SECTOR_RATE,
        ("lts__t_sectors.sum.per_second",),
        SECTOR_BYTES,
        TIMES_DURATION,
        note="from a rate",
    ),
    Rule("l2_bytes_sm_side", SECTORS, ("lts__t_sectors_srcunit_tex.sum",), SECTOR_BYTES),
    Rule("l2_bytes_sm_side", BYTES, _XBAR),
    Rule("l2_hit_rate_pct", PERCENT, ("lts__t_sector_hit_rate.pct",)),
    Rule("l2_hit_rate_pct", PERCENT, ("L2 Hit Rate",)),
    Rule("sm_clock_hz", CLOCK, ("sm__cycles_elapsed.avg.per_second",)),
    Rule("sm_clock_hz", CLOCK, ("SM Frequency",)),
    Rule("cycles", CYCLES, ("gpc__cycles_elapsed.max",)),
    Rule("cycles", CYCLES, ("Elapsed Cycles",)),
    Rule("cycles", CYCLES, ("sm__cycles_elapsed.max",)),
    Rule("start_ns", TIME, ("trace:Start",)),
    Rule("total_ns", TIME, ("summary:Total",)),
    Rule("avg_ns", TIME, ("summary:Avg",)),
    Rule("med_ns", TIME, ("summary:Med",)),
    Rule("min_ns", TIME, ("summary:Min",)),
    Rule("max_ns", TIME, ("summary:Max",)),
    Rule("stddev_ns", TIME, ("summary:StdDev",)),
)

# Facts about the launch that some pages print as metrics; texts or whole numbers, never scaled.
_AXES = {f"launch__{what}_dim_{axis}" for what in ("grid", "block") for axis in "xyz"}
_ATTRIBUTES = {
    f"device__attribute_{name}"
    for name in ("display_name", "integrated", "compute_capability_major", "compute_capability_minor")
}
IDENTITY = frozenset(_AXES | _ATTRIBUTES | {"launch__grid_size", "launch__block_size", "Grid Size", "Block Size"})
NUMERIC = frozenset(name for rule in RULES for name in rule.counters)
WANTED = NUMERIC | IDENTITY

# Counters that some versions print without a unit; bytes, times and clocks always need one.
_UNITLESS = frozenset({SECTORS, CYCLES, PERCENT})

OK, ABSENT, NEGATIVE, UNREADABLE = "", "n/a", "a negative number", "what is no number in this file"

Counter = tuple[str, str]


class Step(NamedTuple):
    """One field of one kind of launch: which cells, with which scales, combined how."""

    field: str
    form: str
    cells: tuple[int, ...]
    scales: tuple[float, ...]


class Plan(NamedTuple):
    """All steps for launches with the same counters, units and gaps, and where each value comes from."""

    steps: tuple[Step, ...]
    provenance: dict[str, str]


def make_plan(counters: Sequence[Counter], states: Sequence[str], integrated: bool) -> Plan:
    """The rules that apply to launches printing `counters` with cells in `states`."""
    steps: dict[str, Step] = {}
    provenance: dict[str, str] = {}
    for rule in RULES:
        void = rule.field in steps or any(name in steps for name in rule.unless)
        if void or (rule.integrated and not integrated):
            continue
        if rule.form == TIMES_DURATION and "duration_ns" not in steps:
            continue
        step = _step(rule, counters, states)
        if step is None:
            _note_gap(rule, counters, states, steps, provenance)
        else:
            steps[rule.field] = step
            provenance[rule.field] = _origin(rule, [counters[cell] for cell in step.cells])
    if "dram_bytes_estimate" in steps:
        steps["dram_bytes"] = steps["dram_bytes_estimate"]._replace(field="dram_bytes")
        provenance["dram_bytes"] = provenance["dram_bytes_estimate"]
    return Plan(tuple(steps.values()), provenance)


def _step(rule: Rule, counters: Sequence[Counter], states: Sequence[str]) -> Step | None:
    cells = [_find(name, _wanted(rule, place), counters, states) for place, name in enumerate(rule.counters)]
    found = [cell for cell in cells if cell is not None]
    if len(found) < len(cells):
        return None
    scales = [units.parse(counters[cell][1]).factor for cell in found]
    if rule.form == RATIO:
        scales[0] *= rule.factor
    else:
        scales = [rule.factor * scale for scale in scales]
    return Step(rule.field, rule.form, tuple(found), tuple(scales))


def _wanted(rule: Rule, place: int) -> str:
    return CLOCK if rule.form == RATIO and place else rule.dimension


def _find(name: str, dimension: str, counters: Sequence[Counter], states: Sequence[str]) -> int | None:
    """The first cell of this name that holds a number in a unit of this dimension."""
    for cell, (counter, unit) in enumerate(counters):
        if counter == name and states[cell] == OK and _fits(unit, dimension):
            return cell
    return None


def _fits(unit: str, dimension: str) -> bool:
    printed = units.parse(unit).dimension
    return printed == dimension or (printed == units.NONE and dimension in _UNITLESS)


def _origin(rule: Rule, found: Sequence[Counter]) -> str:
    printed = [f"{name} [{unit.strip() or 'no unit'}]" for name, unit in found]
    text = (" / " if rule.form == RATIO else " + ").join(printed)
    if rule.form == TIMES_DURATION:
        text += " x duration"
    if rule.factor == SECTOR_BYTES:
        text = f"32 B x ({text})"
    return f"{rule.note}: {text}" if rule.note else text


def _note_gap(
    rule: Rule,
    counters: Sequence[Counter],
    states: Sequence[str],
    steps: dict[str, Step],
    provenance: dict[str, str],
) -> None:
    """Say why a rule failed although one of its counters is named in the file."""
    if rule.field in provenance:
        return
    for cell, (name, unit) in enumerate(counters):
        if name not in rule.counters:
            continue
        if states[cell] != OK:
            provenance[rule.field] = f"missing: {name} reads {states[cell]}"
        elif not unit.strip() and rule.dimension not in _UNITLESS:
            provenance[rule.field] = f"missing: {name} has no unit"
        elif len(rule.counters) > 1 and _fits(unit, rule.dimension):
            provenance[rule.field] = f"missing: {name} without its counterpart is not a total"
        else:
            continue
        return


def apply(plan: Plan, numbers: Sequence[float]) -> dict[str, float]:
    """The fields of one launch in base units; `numbers` are its cells as printed."""
    values: dict[str, float] = {}
    for field, form, cells, scales in plan.steps:
        if form == RATIO:
            over, under = numbers[cells[0]] * scales[0], numbers[cells[1]] * scales[1]
            if under > 0 and math.isfinite(over / under):
                values[field] = over / under
            continue
        total = numbers[cells[0]] * scales[0]
        for place in range(1, len(cells)):
            total += numbers[cells[place]] * scales[place]
        if form == TIMES_DURATION:
            if "duration_ns" not in values:
                continue
            total *= values["duration_ns"] * 1e-9
        if math.isfinite(total):
            values[field] = total
    return values
