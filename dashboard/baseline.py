"""A pinned run that others are compared with: its recipe, its records by estimator, and differences with sign."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from dashboard import answers
from dashboard.catalog import ESTIMATORS, record_of
from dashboard.recipe import DEFAULTS, Recipe, choices
from presets.errors import PresetError
from presets.experiment import Experiment

Record = dict[str, Any]
TIMELINE_SM = 0
NAME = "baseline"


@dataclass(frozen=True)
class Baseline:
    """A pinned experiment and the answers there are to it."""

    recipe: Recipe
    experiment: Experiment
    records: Mapping[str, Record]

    def words(self) -> str:
        """The experiment as one line, with what was changed in its presets."""
        return self.experiment.words() + self.recipe.what_if(self.experiment)


def pin(recipe: Recipe, records: Sequence[Record]) -> Baseline:
    """A baseline of answers that are there; unanswered estimators are left out."""
    known = {record["estimator"]: record for record in records if record["latency_us"] is not None}
    return Baseline(recipe, recipe.experiment(), known)


def closed(experiment: Experiment) -> list[Record]:
    """The record of every closed form."""
    return [record_of(name, experiment) for name, entry in ESTIMATORS.items() if not entry.simulated]


def from_query(text: str) -> Baseline:
    """The baseline that a URL names: closed forms computed, a simulation if it is kept.

    Raises PresetError that says why it is no run.
    """
    if not any(key in DEFAULTS for key, _ in parse_qsl(text)):
        raise PresetError(f"'{text[:40]}' names no run; write it as llm=llama3-8b&seq=4096")
    recipe = Recipe.from_query(text, choices())
    experiment = recipe.experiment()
    records = {str(record["estimator"]): record for record in closed(experiment)}
    kept, _ = answers.look_up(answers.name_of(experiment, TIMELINE_SM))
    if kept is not None:
        records["sim-fa"] = kept["record"]
    return Baseline(recipe, experiment, records)


def against(shown: Sequence[Record], reference: str, pinned: Baseline | None) -> dict[str, Record | None]:
    """What each estimator's record is compared with: its own pinned one, or the reference's."""
    if reference == NAME and pinned is not None:
        return {record["estimator"]: pinned.records.get(record["estimator"]) for record in shown}
    base = next((record for record in shown if record["estimator"] == reference), None)
    return {record["estimator"]: None if record is base else base for record in shown}
