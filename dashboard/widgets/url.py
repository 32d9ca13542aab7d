"""The experiment in the URL: read once when a session opens, kept up to date after every change.

Only known keys are read, each through the type of its default; anything else in a URL is ignored. Wrong values
reach the same checks as typed ones, or fall back to the default where a widget could not even show them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from dashboard.recipe import Value, from_url, in_url

_KEY = "initial"
NOTHING = "none"  # in the URL: a multiple choice in which everything is off


def initial(defaults: Mapping[str, Value], choices: Mapping[str, list[str]]) -> dict[str, Any]:
    """What each widget starts with in this session: the URL's value as it was opened, or the default.

    Widgets take it as their own default. Writing it into their state instead would race with the browser, which
    can lose the first drawing of a widget to the next one and then report the widget's bare minimum back.
    """
    if _KEY not in st.session_state:
        given = {key: st.query_params[key] for key in defaults if key in st.query_params}
        st.session_state[_KEY] = {
            key: from_url(given[key], key, default, choices) if key in given else default
            for key, default in defaults.items()
        }
    kept: dict[str, Any] = st.session_state[_KEY]
    return kept


def publish(defaults: Mapping[str, Value], own: Mapping[str, Value] | None = None) -> None:
    """Write what differs from `defaults` into the URL, and what a page has of its own."""
    wanted = current(defaults, own)
    if dict(st.query_params) != wanted:
        st.query_params.from_dict(wanted)


def current(defaults: Mapping[str, Value], own: Mapping[str, Value] | None = None) -> dict[str, str]:
    """The state as the URL has it: what was set, or else what the session was opened with."""
    opened = st.session_state.get(_KEY, {})
    values = {key: _set(key, opened.get(key, default)) for key, default in defaults.items()}
    changed = {key: value for key, value in values.items() if value != defaults[key]}
    return {key: in_url(value) for key, value in (changed | dict(own or {})).items()}


def _set(key: str, otherwise: Value) -> Value:
    """What a person has set; a control of another page, or one with nothing chosen, says nothing."""
    value = st.session_state.get(key)
    return otherwise if value is None else value


def several(key: str, options: Sequence[str], usual: Sequence[str]) -> list[str]:
    """What a multiple choice starts with: those of the URL among its options, `usual` where it names none."""
    given = str(st.session_state[_KEY].get(key, ""))
    named = [name for name in given.split(",") if name in options]
    return named if named or given == NOTHING else list(usual)


def keep_several(key: str, chosen: Sequence[str], usual: Sequence[str]) -> None:
    """Remember a multiple choice for the URL; nothing where it is the usual one."""
    st.session_state[key] = "" if list(chosen) == list(usual) else ",".join(chosen) or NOTHING
