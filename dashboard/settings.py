"""What the person who runs the server may set, by environment variables; dashboard/SHARED.md explains them.

Numbers stand in NUMBERS with default, unit and bounds. Beside them:

SIMFA_CACHE_DIR        where simulation results are kept; default `sim-fa/answers` in XDG_CACHE_HOME or ~/.cache.
                       Results are read back by pickle: name only a folder that nobody else may write to.
SIMFA_DASK_SCHEDULER   address of a Dask scheduler, as `tcp://10.0.0.1:8786`: sweeps run there; default none.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from presets.errors import PresetError
from presets.experiment import MAX_LENGTH
from presets.quantity import parse_number


@dataclass(frozen=True)
class Setting:
    """A whole number that a server may set: its default, bounds, meaning, and how it is typed."""

    name: str
    default: int
    least: int
    most: int
    meaning: str
    typed: str

    def value(self) -> int:
        """The number in the environment, or the default. Raises PresetError naming the variable."""
        text = os.environ.get(self.name)
        if text is None:
            return self.default
        try:
            number = parse_number(text, self.name.removeprefix("SIMFA_").lower(), self.name)
        except PresetError as error:
            raise PresetError(f"{error}. Write it as {self.typed}") from None
        if not isinstance(number, int):
            raise PresetError(
                f"{self.name}: '{text}' is not a whole number of {self.unit}; write it as {self.typed}"
            )
        if not self.least <= number <= self.most:
            bounds = f"{self.least:,} to {self.most:,} {self.unit}"
            raise PresetError(f"{self.name}: {text} is out of range; it may be {bounds}, as {self.typed}")
        return number

    @property
    def unit(self) -> str:
        """What is counted."""
        return next((word for ending, word in _UNITS.items() if self.name.endswith(ending)), "simulations")


_UNITS = {"_BYTES": "bytes", "_S": "seconds", "_TOKENS": "tokens", "_POINTS": "points"}
_HOUR_S = 3600
NUMBERS = {
    setting.name: setting
    for setting in (
        Setting("SIMFA_CACHE_BYTES", 10**9, 0, 2**60, "kept results take at most; 0 keeps none", "1GB or 500MiB"),
        Setting("SIMFA_SIMULATIONS", 2, 1, 256, "simulated at once, one process and core each", "4"),
        Setting("SIMFA_SIMULATED_TOKENS", MAX_LENGTH, 1, MAX_LENGTH, "longest sequence simulated", "65536"),
        Setting("SIMFA_TIMEOUT_S", 4 * _HOUR_S, 1, 10**7, "a simulation is stopped after", "600s or 600"),
        Setting("SIMFA_SWEEP_POINTS", 1000, 1, 100_000, "points a sweep may have", "200"),
        Setting("SIMFA_QUEUE", 100, 1, 10_000, "simulations that may wait, and as many sweeps", "20"),
        Setting("SIMFA_QUEUE_PER_SESSION", 4, 1, 10_000, "of them from one browser session", "2"),
        Setting(
            "SIMFA_QUEUE_PATIENCE_S", 900, 10, 10**7, "one that waits unwatched is dropped after", "900s or 900"
        ),
    )
}


def cache_folder() -> Path:
    """Where simulation results are kept between runs, sessions and processes."""
    named = os.environ.get("SIMFA_CACHE_DIR")
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sim-fa" / "answers"


def cache_bytes() -> int:
    """What the kept results may take together, bytes."""
    return NUMBERS["SIMFA_CACHE_BYTES"].value()


def simulations() -> int:
    """How many simulations run at once, each in a process of its own."""
    return NUMBERS["SIMFA_SIMULATIONS"].value()


def simulated_tokens() -> int:
    """The longest sequence that is simulated; closed forms answer every length."""
    return NUMBERS["SIMFA_SIMULATED_TOKENS"].value()


def timeout_s() -> int:
    """Seconds after which a simulation, or a point of a sweep, is stopped."""
    return NUMBERS["SIMFA_TIMEOUT_S"].value()


def sweep_points() -> int:
    """How many points a sweep may have."""
    return NUMBERS["SIMFA_SWEEP_POINTS"].value()


def queue() -> int:
    """How many simulations may wait, and how many sweeps."""
    return NUMBERS["SIMFA_QUEUE"].value()


def queue_per_session() -> int:
    """How many of the waiting simulations may be one session's."""
    return NUMBERS["SIMFA_QUEUE_PER_SESSION"].value()


def queue_patience_s() -> int:
    """Seconds after which a waiting simulation that no page shows any more is dropped."""
    return NUMBERS["SIMFA_QUEUE_PATIENCE_S"].value()


def dask_scheduler() -> str | None:
    """The address of the Dask scheduler that runs sweeps, if one is named. Raises PresetError."""
    address = os.environ.get("SIMFA_DASK_SCHEDULER")
    if address and not re.fullmatch(r"([a-z]+://)?\S+:[0-9]{1,5}|inproc://\S+", address):
        raise PresetError(f"SIMFA_DASK_SCHEDULER: '{address}' is no address; write it as tcp://10.0.0.1:8786")
    return address or None


def problems() -> list[str]:
    """A sentence for each variable whose value cannot be used."""
    found = []
    for read in (*(setting.value for setting in NUMBERS.values()), dask_scheduler):
        try:
            read()
        except PresetError as error:
            found.append(str(error))
    return found


def described() -> str:
    """Every setting on a line: variable, value in use, whether it was set, meaning. Raises PresetError."""
    lines = [
        f"{name}={setting.value()}  ({_origin(name)}) {setting.unit}: {setting.meaning}"
        for name, setting in NUMBERS.items()
    ]
    lines.append(f"SIMFA_CACHE_DIR={cache_folder()}  ({_origin('SIMFA_CACHE_DIR')}) folder of kept results")
    lines.append(f"SIMFA_DASK_SCHEDULER={dask_scheduler() or ''}  ({_origin('SIMFA_DASK_SCHEDULER')}) for sweeps")
    known = {*NUMBERS, "SIMFA_CACHE_DIR", "SIMFA_DASK_SCHEDULER"}
    unknown = sorted(name for name in os.environ if name.startswith("SIMFA_") and name not in known)
    return "\n".join([*lines, *(f"{name} is set, but no setting has that name" for name in unknown)])


def _origin(name: str) -> str:
    return "set" if os.environ.get(name) else "default"
