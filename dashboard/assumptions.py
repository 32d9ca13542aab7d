"""What an experiment assumes: every preset value with its unit, label and source, as a table."""

from collections.abc import Iterator

import pandas as pd

from presets.experiment import Experiment
from presets.loader import flatten
from presets.quantity import unit_of
from presets.specs import Spec
from presets.units import UNITS

_ABSENT = "absent"
_RATES = {"_flop_per_cycle": "FLOP/cycle", "_op_per_cycle": "op/cycle"}


def table(experiment: Experiment, pinned: Experiment | None = None) -> pd.DataFrame:
    """Columns: preset, key, value, unit, label, source; GPU first, then kernel and model.

    With a `pinned` experiment the column `Baseline` holds its value wherever that differs.
    """
    found = pd.DataFrame([row for spec in _specs(experiment) for row in _rows(spec)])
    if pinned is None:
        return found
    then = {row["Key"]: row["Value"] for spec in _specs(pinned) for row in _rows(spec)}
    known = dict(zip(found["Key"], found["Value"], strict=True))
    changed = [then.get(key, _ABSENT) if then.get(key, _ABSENT) != value else "" for key, value in known.items()]
    found.insert(list(found.columns).index("Value") + 1, "Baseline", changed)
    missing = [row for spec in _specs(pinned) for row in _rows(spec) if row["Key"] not in known]
    only = pd.DataFrame([row | {"Value": _ABSENT, "Baseline": row["Value"]} for row in missing])
    return pd.concat([found, only], ignore_index=True)


def _specs(experiment: Experiment) -> tuple[Spec, ...]:
    return experiment.gpu, experiment.kernel, experiment.llm


def _rows(spec: Spec) -> Iterator[dict[str, str]]:
    for key, value in flatten(spec).items():
        origin = spec.provenance.get(key)
        yield {
            "Preset": spec.title,
            "Key": key,
            "Value": _shown(value),
            "Unit": _unit(key),
            "Label": origin.label if origin else "",
            "Source": origin.source if origin else "",
        }


def _unit(key: str) -> str:
    rate = next((unit for ending, unit in _RATES.items() if key.endswith(ending)), "")
    return rate or UNITS.get(unit_of(key), "")


def _shown(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, int) or (value.is_integer() and abs(value) < 1e12):
        return f"{int(value):,}"
    return f"{value:g}"
