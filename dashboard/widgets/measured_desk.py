"""What one browser session keeps of the Measured page: its files, edits, choices and simulated answers.

Everything lives in this session's own state and in memory; nothing is cached across sessions or written to disk.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from dashboard.measured import edits, gallery, matching
from dashboard.measured.case import Case
from dashboard.measured.errors import NeedsAnswer
from dashboard.measured.intake import Loaded
from dashboard.measured.matching import Group
from dashboard.widgets.experiment import start

_KEY = "measured_desk"
LISTED = 200  # kernels shown in the matching table at once; the filter finds the others


@dataclass
class Entry:
    """One uploaded file: what it holds, or why it was refused, or what has to be asked."""

    name: str
    digest: str
    loaded: Loaded | None = None
    refusal: str = ""
    question: NeedsAnswer | None = None
    data: bytes = b""  # kept only while a question is open


@dataclass
class Desk:
    """The state of the page in one session."""

    entries: list[Entry] = field(default_factory=list)
    generation: int = 0
    warm_up: int = matching.WARM_UP
    edits: dict[str, dict[str, Any]] = field(default_factory=dict)
    answers: dict[str, dict[str, Any]] = field(default_factory=dict)
    waiting: list[str] = field(default_factory=list)
    asked: set[str] = field(default_factory=set)  # of the waiting, those already handed to the queue
    failed: dict[str, str] = field(default_factory=dict)
    shown: dict[str, Any] = field(default_factory=dict)  # the matching table as first drawn, by its key
    cases: dict[tuple[str, int], Case] = field(default_factory=dict)
    picked: dict[str, str] = field(default_factory=dict)

    def put(self, entry: Entry) -> None:
        """Keep a file, in place of an earlier one with the same name or content."""
        self.entries = [old for old in self.entries if entry.digest != old.digest and entry.name != old.name]
        self.entries.append(entry)
        record = entry.loaded.record if entry.loaded else None
        if record is not None:
            self.answers |= record.answers()

    def remove(self, entry: Entry) -> None:
        """Forget a file."""
        self.entries = [old for old in self.entries if old is not entry]
        if not self.entries:
            self.edits, self.cases, self.shown = {}, {}, {}

    def groups(self) -> list[Group]:
        """All kernels of all profiler exports, attention first."""
        found = [group for entry in self.entries if entry.loaded for group in entry.loaded.groups]
        return sorted(found, key=lambda group: (not group.attention, -group.total_us))

    def ready(self) -> list[Case]:
        """The cases that came as such: rows of plain tables, and of saved records."""
        found: list[Case] = []
        for entry in self.entries:
            if entry.loaded is not None:
                found += entry.loaded.cases
                found += entry.loaded.record.cases if entry.loaded.record else ()
        return found

    def case(self, group: Group) -> Case:
        """A kernel's case, made once per choice of warm-up."""
        key = (group.id, self.warm_up)
        if key not in self.cases:
            self.cases[key] = matching.case(group, self.warm_up)
        return self.cases[key]

    def uses(self, case_id: str, proposed: bool) -> bool:
        """Whether a person, or else the proposal, takes the case into the comparison."""
        return bool(self.edits.get(case_id, {}).get(edits.USE, proposed))

    def proposed(self) -> set[str]:
        """The kernels compared unless a person says otherwise: attention by name, the LISTED longest of them."""
        return {group.id for group in [group for group in self.groups() if group.attention][:LISTED]}

    def chosen(self) -> list[Case]:
        """The cases to compare, with a person's edits."""
        proposed = self.proposed()
        found = [case for case in self.ready() if self.uses(case.id, True)]
        found += [self.case(group) for group in self.groups() if self.uses(group.id, group.id in proposed)]
        return [edits.edited(case, self.edits.get(case.id, {})) for case in found]

    def has_files(self) -> bool:
        """Whether any file was read; otherwise the page shows the gallery."""
        return any(entry.loaded for entry in self.entries)


def desk() -> Desk:
    """This session's desk."""
    if _KEY not in st.session_state:
        st.session_state[_KEY] = Desk()
    kept: Desk = st.session_state[_KEY]
    return kept


def pick(desk: Desk, label: str, titles: dict[str, str], proposed: str | None = None) -> str:
    """A choice among cases by their titles, remembered by id: a browser keeps the title it once showed."""
    names = list(titles)
    linked = "" if desk.has_files() else str(start(f"measured_{label.lower()}"))  # ids of files are in no URL
    wanted = desk.picked.get(label, linked if linked in names else proposed)
    identity = repr((sorted(titles.items()), wanted))
    key = f"measured_pick_{label}_{digest(identity.encode('utf-8', 'replace'))}"
    usual = proposed if proposed in names else names[0]
    first = names.index(wanted) if wanted in names else 0
    chosen = str(st.selectbox(label, names, first, key=key, format_func=titles.__getitem__))
    if chosen != names[first]:
        desk.picked[label] = chosen
    st.session_state[f"measured_{label.lower()}"] = "" if desk.has_files() or chosen == usual else chosen
    return chosen


def digest(data: bytes) -> str:
    """A name for an upload's content."""
    return hashlib.sha256(data).hexdigest()[:16]


def gallery_cases(with_unknown_clock: bool) -> list[Case]:
    """The shipped public measurements; those that state their clock, or all of them."""
    return [case for case in gallery.cases() if with_unknown_clock or case.clock_hz is not None]
