"""A second run to lay beside an experiment: the same with some preset values changed."""

import re

from presets import arguments
from presets.errors import PresetError
from presets.experiment import Experiment, make_experiment

EXAMPLE = "tma.inflight_lines=128"


def changed(experiment: Experiment, text: str) -> Experiment | None:
    """The experiment with the KEY=VALUE pairs of `text` applied, or None for an empty text.

    Pairs are separated by blanks, commas or semicolons. Raises PresetError with what is wrong and what is allowed.
    """
    pairs = [pair for pair in re.split(r"[\s,;]+", text) if pair]
    if not pairs:
        return None
    settings = arguments.parse_settings(pairs)
    parts = {"llm": experiment.llm, "gpu": experiment.gpu, "kernel": experiment.kernel}
    given = make_experiment(**arguments.apply_settings(parts, settings), workload=experiment.workload)  # type: ignore[arg-type]
    if given == experiment:
        raise PresetError(f"{'; '.join(pairs)}: the second run would be the first; change a value")
    return given
