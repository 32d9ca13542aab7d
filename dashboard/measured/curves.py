"""Traffic of the closed forms against length for one measured workload, and the measured points beside it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from analytical import simfa_python
from dashboard.measured.case import Case
from dashboard.traffic import first_unfit_tokens
from presets.errors import PresetError
from presets.experiment import Experiment

POINTS = 160
SHORTEST, LONGEST = 512, 131_072


@dataclass(frozen=True)
class Family:
    """Measured cases that differ in length alone, and the experiment of the first of them."""

    title: str
    experiment: Experiment
    cases: tuple[Case, ...]

    @property
    def sweeps_query(self) -> bool:
        """Whether the lengths of queries and K/V grow together."""
        return self.experiment.workload.seq_q == self.experiment.workload.seq_kv


def families(cases: Iterable[Case], measured_clock: bool) -> list[Family]:
    """The cases with measured traffic, grouped by everything but length, the largest group first."""
    found: dict[Any, list[tuple[Case, Experiment]]] = {}
    for case in cases:
        if case.l2_bytes.value is None and case.dram_bytes.value is None:
            continue
        try:
            asked = case.experiment(measured_clock)
        except PresetError:
            continue
        same = asked.workload.seq_q == asked.workload.seq_kv
        key = (case.title, case.match.model_copy(update={"seq_q": None, "seq_kv": None}), same)
        found.setdefault(key, []).append((case, asked))
    made = [_family(members) for members in found.values()]
    return sorted(made, key=lambda family: -len(family.cases))


def _family(members: list[tuple[Case, Experiment]]) -> Family:
    case, asked = members[0]
    work = asked.workload
    heads = f"{asked.heads_q}" + (f":{asked.heads_kv}" if asked.heads_kv != asked.heads_q else "")
    parts = [case.title, f"{heads} heads of {asked.llm.head_dim}", f"batch {work.batch}"]
    parts += ["causal"] if work.causal else []
    return Family(", ".join(parts), asked, tuple(case for case, _ in members))


def curve(family: Family) -> pd.DataFrame:
    """Bytes by length: L2 by Eq. (2), DRAM by SimFA-python, and Eq. (3), which is GenZ's."""
    asked = family.experiment
    measured = [case.match.seq_q or 1 for case in family.cases]
    ends = min(SHORTEST, *measured), max(LONGEST, *measured)
    spaced = np.geomspace(*ends, POINTS).round().astype(np.int64)
    edge = boundary(family)  # both sides of it, so that the step is drawn upright
    named = [*measured, *(n for n in (edge - 1, edge) if ends[0] <= n <= ends[1])]
    lengths = np.unique(np.concatenate([np.maximum(spaced // 128 * 128, ends[0]), np.array(named, np.int64)]))
    changes = {"L": lengths, "S": lengths} if family.sweeps_query else {"S": lengths}
    closed = simfa_python.sweep(asked, **changes)
    columns = ("l2_bytes", "dram_bytes", "dram_ideal_bytes")
    values = {name: np.broadcast_to(getattr(closed, name), lengths.shape).astype(float) for name in columns}
    return pd.DataFrame({"length": lengths, **values})


def headline(family: Family) -> str:
    """What is seen: how far the closed form is from the measured points of each quantity, at worst."""
    closed, parts = curve(family).set_index("length"), []
    for quantity, said in (("l2_bytes", "L2 by Eq. (2)"), ("dram_bytes", "DRAM by SimFA-python")):
        errors = [
            abs(closed.loc[point["length"], quantity] / point["bytes"] - 1)
            for point in points(family)
            if point["quantity"] == quantity and point["length"] in closed.index
        ]
        parts += [f"{said} within {100 * max(errors):.2f} %"] if errors else []
    return f"{' and '.join(parts)} of what was measured: {family.title}" if parts else family.title


def points(family: Family) -> list[dict[str, Any]]:
    """The measured values of a family as rows of quantity, length, bytes, kind and label."""
    found = []
    for case in family.cases:
        length = case.match.seq_q if family.sweeps_query else case.match.seq_kv or case.match.seq_q
        for quantity in ("l2_bytes", "dram_bytes"):
            reading = getattr(case, quantity)
            if reading.value:
                found.append(
                    {
                        "quantity": quantity,
                        "length": length,
                        "bytes": reading.value,
                        "kind": reading.kind,
                        "label": case.label,
                    }
                )
    return found


def boundary(family: Family) -> int:
    """The shortest K/V for which Eq. (4) fails."""
    return first_unfit_tokens(family.experiment)
