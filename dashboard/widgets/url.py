"""The experiment in the URL: read once when a session opens, kept up to date after every change.

Only known keys are read, each through the type of its default; anything else in a URL is ignored. Wrong values
reach the same checks as typed ones, or fall back to the default where a widget could not even show them.
"""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from dashboard.recipe import Value, from_url, in_url

_KEY = "initial"


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
    values = {key: st.session_state.get(key, default) for key, default in defaults.items()}
    changed = {key: value for key, value in values.items() if value != defaults[key]}
    changed |= own or {}
    wanted = {key: in_url(value) for key, value in changed.items()}
    if dict(st.query_params) != wanted:
        st.query_params.from_dict(wanted)
