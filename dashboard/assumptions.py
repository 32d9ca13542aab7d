"""What an experiment assumes: every preset value with its unit, label and source, as a table."""

from collections.abc import Iterator

import pandas as pd

from presets.experiment import Experiment
from presets.loader import flatten
from presets.quantity import unit_of
from presets.specs import Spec

_UNITS = {
    "bytes": "B",
    "bytes_per_s": "B/s",
    "bytes_per_cycle": "B/cycle",
    "hz": "Hz",
    "cycles": "cycles",
    "s": "s",
}


def table(experiment: Experiment) -> pd.DataFrame:
    """Columns: preset, key, value, unit, label, source; GPU first, then kernel and model."""
    specs: tuple[Spec, ...] = (experiment.gpu, experiment.kernel, experiment.llm)
    return pd.DataFrame([row for spec in specs for row in _rows(spec)])


def _rows(spec: Spec) -> Iterator[dict[str, str]]:
    for key, value in flatten(spec).items():
        origin = spec.provenance.get(key)
        yield {
            "Preset": spec.title,
            "Key": key,
            "Value": _shown(value),
            "Unit": _UNITS.get(unit_of(key), ""),
            "Label": origin.label if origin else "",
            "Source": origin.source if origin else "",
        }


def _shown(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, int) or (value.is_integer() and abs(value) < 1e12):
        return f"{int(value):,}"
    return f"{value:g}"
