"""Stored validation studies by name, of every day and on request, and whether these very sources gave them."""

from typing import Any

from dashboard import examples
from dashboard.examples import long
from dashboard.validation.view import NotStored

Study = dict[str, Any]
EARLIER = "An earlier version of the simulator's sources gave these numbers; {command} computes them anew."
DAILY, LONG = "python -m dashboard example", "python -m dashboard example --all"


def studies() -> list[Study]:
    """Every stored study."""
    return [*examples.studies(), *long.studies()]


def has(name: str) -> bool:
    """Whether the study of that name is stored."""
    return any(study["study"] == name for study in studies())


def study(name: str) -> Study:
    """The stored study of that name. Raises NotStored with the command that stores it."""
    found = next((study for study in studies() if study["study"] == name), None)
    if found is None:
        raise NotStored(f"The study {name} is not stored here. {LONG} computes and stores it.")
    return found


def stale(name: str) -> str:
    """A sentence where other sources gave a stored study or part; empty where these did."""
    if any(study["study"] == name for study in examples.studies()):
        return "" if examples.studies_are_current() else EARLIER.format(command=DAILY)
    return "" if long.is_current(name) else EARLIER.format(command=LONG)
