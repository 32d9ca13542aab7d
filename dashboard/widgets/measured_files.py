"""Upload, progress, refusals and questions of the Measured page; each in a calm sentence."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from dashboard.measured import intake, points
from dashboard.measured.errors import MeasuredError, NeedsAnswer
from dashboard.plain import markdown
from dashboard.widgets import browser_download
from dashboard.widgets.measured_desk import Desk, Entry, digest

HELP = (
    "CSV exports of Nsight Compute, Nsight Systems or nvprof, plain, gzipped or zipped; the plain table of the "
    "template; or a record saved from this page. Files stay in the memory of this session and are seen by no other."
)
_DECIMALS = {".": "Point, as in 1,234.5", ",": "Comma, as in 1.234,5"}


def uploader(desk: Desk) -> None:
    """The uploader, and the template of a plain table."""
    left, right = st.columns([5, 2], vertical_alignment="bottom")
    with left:
        given = st.file_uploader(
            "Measured files",
            accept_multiple_files=True,
            key=f"measured_upload_{desk.generation}",
            help=HELP,
        )
    with right:
        browser_download.download(
            "Table template",
            lambda: points.TEMPLATE,
            "measured_points.csv",
            "text/csv",
            key="measured_template",
            help="A plain table: llm or shape, gpu, seq, latency_us, l2_bytes, dram_bytes.",
            width="stretch",
        )
    if given:
        _take_in(desk, [(file.name, file.getvalue()) for file in given])
        desk.generation += 1  # the uploader starts empty again; the files stand in the list below
        st.rerun()


def files(desk: Desk) -> None:
    """One line per file with what it holds, why it was refused, or what to answer."""
    for entry in list(desk.entries):
        _line(desk, entry)


def _take_in(desk: Desk, given: list[tuple[str, bytes]]) -> None:
    bar = st.progress(0.0, text="Reading")
    for number, (name, data) in enumerate(given):
        shown = markdown(intake.printable(name))

        def tick(share: float, number: int = number, shown: str = shown) -> None:
            bar.progress(min((number + share) / len(given), 1.0), text=f"Reading {shown}: {share:.0%}")

        tick(0.0)
        desk.put(_read(name, data, None, tick))
    bar.empty()


def _read(name: str, data: bytes, decimal: str | None, tick: Callable[[float], None] | None) -> Entry:
    entry = Entry(intake.printable(name), digest(data))
    try:
        entry.loaded = intake.load(data, name, decimal, tick)
    except NeedsAnswer as question:
        entry.question, entry.data = question, data
    except MeasuredError as refusal:
        entry.refusal = str(refusal)
    return entry


def _line(desk: Desk, entry: Entry) -> None:
    if entry.question is not None:
        _ask(desk, entry)
        return
    text, button = st.columns([11, 1], vertical_alignment="center")
    if entry.refusal:
        text.warning("  \n".join(markdown(line) for line in f"Not read. {entry.refusal}".splitlines()))
    elif entry.loaded is not None:
        more = f" Not read: {entry.loaded.not_read}" if entry.loaded.not_read else ""
        text.markdown(f"**{markdown(entry.name)}**: {markdown(entry.loaded.words() + more)}")
    if button.button("Remove", key=f"measured_remove_{entry.digest}", type="tertiary"):
        desk.remove(entry)
        st.rerun()


def _ask(desk: Desk, entry: Entry) -> None:
    """The question of an ambiguous file; answering reads it again."""
    question = entry.question
    assert question is not None
    with st.container(border=True):
        st.markdown(f"**{markdown(entry.name)}**: which decimal separator do its numbers have?")
        st.markdown(f"{markdown(_readings(question))} Nothing else in the file decides, so nothing is guessed.")
        with st.container(horizontal=True):
            for mark, words in _DECIMALS.items():
                if st.button(words, key=f"measured_decimal_{ord(mark)}_{entry.digest}"):
                    desk.put(_read(entry.name, entry.data, mark, None))
                    st.rerun()
            if st.button("Remove", key=f"measured_remove_{entry.digest}", type="tertiary"):
                desk.remove(entry)
                st.rerun()


def _readings(question: NeedsAnswer) -> str:
    said = {".": "with a decimal point", ",": "with a decimal comma"}
    parts = [f"{value:,.10g} {said[mark]}" for mark, value in question.readings.items()]
    return f"“{question.example}” ({question.counter}) is {' and '.join(parts)}."
