"""Whatever a user uploads, told apart: a saved record, a plain table of points, or a profiler export."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from dashboard.measured import matching, points, recording
from dashboard.measured.case import Case
from dashboard.measured.matching import Group
from dashboard.measured.reader import read
from dashboard.measured.recording import Record


@dataclass(frozen=True)
class Loaded:
    """One upload: kernels of an export, cases of a plain table, or a whole record."""

    name: str
    groups: list[Group] = field(default_factory=list)
    cases: list[Case] = field(default_factory=list)
    record: Record | None = None
    not_read: str = ""

    def words(self) -> str:
        """What the file turned out to hold."""
        if self.record is not None:
            stored = len(self.record.answers())
            more = f", {_count(stored, 'simulated answer')} as stored in it" if stored else ""
            return f"a saved comparison of {_count(len(self.record.cases), 'kernel')}{more}"
        if self.cases:
            return f"a table of {_count(len(self.cases), 'measured point')}"
        launches = sum(len(group.launches) for group in self.groups)
        attention = sum(group.attention for group in self.groups)
        kind = self.groups[0].launches[0].kind if self.groups else "no kernels"
        what = f"{_count(launches, 'launch', 'es')} of {_count(len(self.groups), 'kernel')}"
        return f"{kind}: {what}, {attention or 'none'} of them attention by name"


def load(
    data: bytes, name: str, decimal: str | None = None, progress: Callable[[float], None] | None = None
) -> Loaded:
    """One upload, read. Raises Refused with a sentence, or NeedsAnswer where the file is ambiguous."""
    name = printable(name)
    if recording.recognise(data):
        return Loaded(name, record=recording.read(data, name))
    if points.recognise(data):
        return Loaded(name, cases=points.read(data, name))
    launches = read(data, name, decimal, progress)
    not_read = next((text for launch in launches if (text := launch.provenance.get("not_read"))), "")
    return Loaded(name, groups=matching.groups(launches), not_read=not_read)


def _count(number: int, word: str, more: str = "s") -> str:
    return f"{number:,} {word}{'' if number == 1 else more}"


def printable(name: str) -> str:
    """An upload's name without its folders and control characters; it is only ever shown."""
    base = name.replace("\\", "/").rsplit("/", 1)[-1]
    return "".join(c for c in base if c.isprintable())[:200] or "upload"
