"""The choice of a view on the Validation page: the paper's figures and tables first, then public measurements."""

import streamlit as st

from dashboard.validation.catalog import OVERVIEW, VIEWS
from dashboard.validation.view import View
from dashboard.widgets import url

KEY = "study"  # its name in the URL
_SECTIONS = {"overview": "Overview", "paper": "The paper's figures and tables", "public": "Public measurements"}
_START = "validation_start"


def chosen() -> View:
    """The view that the two rows of choices name; a wrong name in the URL is noted and gives the overview."""
    start = _start()
    first = "overview" if start is OVERVIEW else start.section
    section = st.segmented_control(
        "Section",
        list(_SECTIONS),
        default=first,
        key="validation_section",
        format_func=_SECTIONS.__getitem__,
        label_visibility="collapsed",
        persist_state="session",
        required=True,
    )
    return OVERVIEW if section == "overview" else _in(str(section), start)


def published(view: View) -> dict[str, url.Value]:
    """What the URL says about the view."""
    return {} if view is OVERVIEW else {KEY: view.name}


def _in(section: str, start: View) -> View:
    names = [view.name for view in VIEWS.values() if view.section == section and view is not OVERVIEW]
    name = st.pills(
        "View",
        names,
        default=start.name if start.name in names else names[0],
        key=f"validation_{section}",
        format_func=lambda name: VIEWS[name].label,
        label_visibility="collapsed",
        persist_state="session",
        required=True,
    )
    return VIEWS[str(name)]


def _start() -> View:
    """The view that the URL named when the session first came here."""
    if _START not in st.session_state:
        st.session_state[_START] = st.query_params.get(KEY, OVERVIEW.name)
    name = st.session_state[_START]
    if name not in VIEWS:
        url.missed(f"{KEY}: '{name[:40]}' is no view; here is the overview")
        st.session_state[_START] = OVERVIEW.name
    return VIEWS.get(name, OVERVIEW)
