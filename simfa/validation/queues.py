"""How many cycles a launch takes with in-order reservations, with bounded queues, and with command-level DRAM.

Bounded queues are the reference: reservations are the fast mode, and this says what they leave out.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from presets import loader
from presets.experiment import Experiment
from simfa import simulate
from simfa.coverage import check
from simfa.validation.study import Point, Study

MODELS = {
    "reservations": {"l2_timing.queues": "reservations", "dram.channel_model": "in-order"},
    "bounded": {"l2_timing.queues": "bounded", "dram.channel_model": "in-order"},
    "commands": {"l2_timing.queues": "bounded", "dram.channel_model": "commands"},
}
TITLES = {
    "reservations": "in-order reservations",
    "bounded": "bounded queues, in-order DRAM channels",
    "commands": "bounded queues, command-level DRAM",
}
LLMS = ("llama3-8b", "llama3-70b", "llama3.1-405b")
LENGTHS = (512, 1024, 2048, 4096, 6144)  # section 5.3 of the paper


@dataclass(frozen=True)
class Row:
    """One launch: the record of each model, by its name in MODELS."""

    llm: str
    seq_q: int
    results: dict[str, dict[str, Any]]

    def cycles(self, model: str) -> int:
        """Cycles of the launch under one model."""
        return int(self.results[model]["cycles"])

    def difference_pct(self, model: str) -> float:
        """How much longer a model takes than reservations, %."""
        return (self.cycles(model) / self.cycles("reservations") - 1) * 100

    def record(self) -> dict[str, Any]:
        """Plain values: cycles, differences, and the host seconds of each model."""
        plain: dict[str, Any] = {"llm": self.llm or None, "seq_q": self.seq_q}
        plain |= {f"{model}_cycles": self.cycles(model) for model in self.results}
        plain |= {f"{model}_difference_pct": self.difference_pct(model) for model in list(self.results)[1:]}
        plain |= {f"{model}_wall_s": self.results[model]["wall_s"] for model in self.results}
        return plain | {"line_requests": self.results["reservations"]["line_requests"]}


def compare(experiments: Iterable[Experiment], seed: int = 0) -> Iterator[Row]:
    """Each launch under every model, as soon as it is done. NotModelled where the preset lacks what one needs."""
    for experiment in experiments:
        check(experiment)
        results = {
            model: dict(simulate.run(under(experiment, settings), seed).result.extra)
            for model, settings in MODELS.items()
        }
        yield Row(experiment.llm.name, experiment.workload.seq_q, results)


def under(experiment: Experiment, settings: dict[str, str]) -> Experiment:
    """The same launch on the same GPU with another model of its memory."""
    return experiment.model_copy(update={"gpu": loader.override(experiment.gpu, settings)})


def study(rows: Iterable[Row]) -> Study:
    """Reservations as the model of what bounded queues with command-level DRAM take."""
    points = [
        Point(f"{row.llm}, L={row.seq_q:,}", row.cycles("commands"), row.cycles("reservations"), "cycles",
              series=row.llm, x=row.seq_q)
        for row in rows
    ]  # fmt: skip
    title = "Reservations against bounded queues with command-level DRAM"
    return Study("queues", title, "this simulator's own finest model", "nothing", points, x_title="Tokens")
