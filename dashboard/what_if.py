"""An experiment with some preset values changed: in place of it, or as a second run to lay beside it."""

import re
from collections.abc import Mapping

from presets import arguments
from presets.errors import PresetError
from presets.experiment import Experiment, make_experiment

EXAMPLE = "tma.inflight_lines=128"


def applied(experiment: Experiment, settings: Mapping[str, str]) -> Experiment:
    """The experiment, with its parameter set, after these changes of preset values. Raises PresetError."""
    parts = {"llm": experiment.llm, "gpu": experiment.gpu, "kernel": experiment.kernel}
    changed_parts = arguments.apply_settings(parts, settings)
    return make_experiment(**changed_parts, workload=experiment.workload, parameter_set=experiment.params)  # type: ignore[arg-type]


def changed(experiment: Experiment, text: str) -> Experiment | None:
    """The experiment with the KEY=VALUE pairs of `text` applied, or None for an empty text.

    Pairs are separated by blanks, commas or semicolons; a unit may stand apart from its number. Raises PresetError
    with what is wrong and what is allowed.
    """
    pairs: list[str] = []
    for word in filter(None, re.split(r"[\s,;]+", text)):
        if "=" not in word and pairs:
            pairs[-1] += f" {word}"
        else:
            pairs.append(word)
    if not pairs:
        return None
    given = applied(experiment, arguments.parse_settings(pairs))
    if given == experiment:
        raise PresetError(f"{'; '.join(pairs)}: the second run would be the first; change a value")
    return given
