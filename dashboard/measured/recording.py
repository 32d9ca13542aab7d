"""The full record of a comparison as JSON: cases, choices and the simulator's answers, and back to the same page.

What is read back is checked like any upload: unknown keys, wrong types and numbers out of range are refused, and
presets are taken by shipped name only. Closed forms are computed anew; simulated answers count only where they are
of this version of the simulator.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, ValidationError

from dashboard.catalog import ESTIMATORS
from dashboard.measured import comparison, reading
from dashboard.measured.case import Case, Line
from dashboard.measured.comparison import Comparison
from dashboard.measured.errors import Refused
from presets.specs import Section
from simfa.coverage import model_digest

FORMAT = "sim-fa measured comparison"
VERSION = 1
LIMIT_BYTES = 64 * 2**20

Amount = Annotated[float, Field(ge=0)]


class Simulated(Section):
    """What the comparison needs of a simulator's record; the rest of the record is not kept."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True, allow_inf_nan=False)

    latency_us: Amount
    l2_bytes: Amount
    l2_bytes_coalesced: Amount
    dram_bytes: Amount
    dram_read_bytes: Amount
    dram_write_bytes: Amount
    regime: Line | None = None
    bottleneck: Line | None = None
    waves: int | None = None
    cycles: int | None = None


class Record(Section):
    """Everything that decides what the page shows."""

    format: Literal["sim-fa measured comparison"]
    version: Literal[1]
    simulator: Line = ""
    measured_clock: bool
    estimators: tuple[Literal["simfa-python", "genz", "sim-fa", "simfa-launch-order", "llm-viewer"], ...]
    cases: Annotated[tuple[Case, ...], Field(max_length=100_000)]
    simulated: dict[Line, Simulated] = Field(default_factory=dict)

    def answers(self) -> dict[str, dict[str, Any]]:
        """The simulator's answers of this version, as the comparison takes them; none of another version."""
        if self.simulator != model_digest():
            return {}
        return {key: answer.model_dump() for key, answer in self.simulated.items()}


def make(
    cases: Sequence[Case], estimators: Sequence[str], measured_clock: bool, answers: comparison.Answers
) -> Record:
    """The record of a page; of `answers` only those that its cases use."""
    keys = [comparison.simulation_key(asked) for asked in comparison.to_simulate(cases, measured_clock)]
    return Record(
        format="sim-fa measured comparison",
        version=1,
        simulator=model_digest(),
        measured_clock=measured_clock,
        estimators=tuple(name for name in ESTIMATORS if name in estimators),  # type: ignore[misc]
        cases=tuple(cases),
        simulated={key: Simulated.model_validate(dict(answers[key])) for key in keys if key in answers},
    )


def compared(record: Record) -> Comparison:
    """The comparison that a record describes."""
    return comparison.compare(record.cases, record.estimators, record.measured_clock, record.answers())


def report(record: Record) -> dict[str, Any]:
    """Record, rows, summary and reading together, as plain JSON values."""
    found = compared(record)
    return record.model_dump(mode="json") | {
        "rows": found.rows,
        "summary": comparison.summary(found.rows),
        "reading": reading.overall(found, record.cases, record.measured_clock),
        "not_compared": [{"case": case.id, "label": case.label, "reason": why} for case, why in found.left_out],
    }


def to_json(record: Record) -> str:
    """The full record as text; `read` takes it back."""
    return json.dumps(report(record), indent=1, allow_nan=False) + "\n"


def recognise(data: bytes) -> bool:
    """Whether an upload claims to be such a record."""
    return data[:2000].lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"{") and FORMAT.encode() in data[:2000]


def read(data: bytes, name: str) -> Record:
    """A record from its JSON. Raises Refused with one sentence."""
    if len(data) > LIMIT_BYTES:
        raise Refused(f"{name}: larger than the limit of {LIMIT_BYTES // 2**20} MiB for a record.")
    try:
        tree: Mapping[str, Any] = json.loads(data)
        kept = {key: value for key, value in tree.items() if key in Record.model_fields}
        return Record.model_validate_json(json.dumps(kept, allow_nan=False))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise Refused(
            f"{name}: not a usable record: {where}: {first['msg'][0].lower()}{first['msg'][1:]}."
        ) from None
    except (ValueError, RecursionError, AttributeError):
        raise Refused(f"{name}: not a usable record: broken JSON; save the record again.") from None
