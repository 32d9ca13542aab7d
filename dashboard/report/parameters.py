"""The parameters behind an answer, with labels and sources; what was changed stands first and says from what."""

import pandas as pd

from dashboard import assumptions
from presets import loader, params, units
from presets.errors import PresetError
from presets.experiment import Experiment
from presets.specs import GpuSpec, KernelSpec, LlmSpec, Spec

CHANGED = "Changed"


def table(experiment: Experiment) -> pd.DataFrame:
    """Every preset value: preset, key, value, unit, label, source, and for a changed one what the preset has."""
    values = assumptions.table(experiment)
    untouched = _untouched(experiment)
    marks = [
        _mark(key, untouched) if label == "override" else ""
        for key, label in zip(values["Key"], values["Label"], strict=True)
    ]
    marked = values.assign(**{CHANGED: marks})
    return marked.sort_values(CHANGED, key=lambda column: column == "", kind="stable", ignore_index=True)


def _mark(key: str, untouched: dict[str, object]) -> str:
    return f"changed; preset: {units.shown(key, untouched[key])}" if key in untouched else "changed"


def _untouched(experiment: Experiment) -> dict[str, object]:
    """The values that the shipped presets of these names have; none for a preset from a file."""
    found: dict[str, object] = {}
    for kind, spec in ((GpuSpec, experiment.gpu), (KernelSpec, experiment.kernel), (LlmSpec, experiment.llm)):
        try:
            found |= loader.flatten(_shipped(kind, spec, experiment))
        except PresetError:
            continue
    return found


def _shipped(kind: type[Spec], spec: Spec, experiment: Experiment) -> Spec:
    calibrated = experiment.params == "calibrated"
    names = loader.names(kind)
    # A kernel as it is built is called by its preset's name and the case: fa3-fp16-d128.
    built = calibrated and kind is KernelSpec
    name = next((name for name in names if spec.name == name or (built and spec.name.startswith(f"{name}-"))), None)
    if name is None:
        raise PresetError(f"{spec.name} is not shipped")
    preset = loader.load(kind, name)
    if calibrated and isinstance(preset, GpuSpec):
        return params.calibrated_gpu(preset)
    if calibrated and isinstance(preset, KernelSpec):
        return params.kernel_as_built(preset, experiment.llm, experiment.workload)
    return preset
