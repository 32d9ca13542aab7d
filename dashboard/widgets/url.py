"""The experiment in the URL: read once when a session opens, kept up to date after every change.

Only known keys are read, each through the type of its default; anything else in a URL is ignored. Wrong values
reach the same checks as typed ones, or fall back to the default where a widget could not even show them.
"""

from collections.abc import Mapping

import streamlit as st

Value = str | int | bool


def restore(defaults: Mapping[str, Value], choices: Mapping[str, list[str]], largest: Mapping[str, int]) -> None:
    """Fill the session's widget state from the URL, or from `defaults`, the first time it is asked for."""
    for key, default in defaults.items():
        if key not in st.session_state:
            given = st.query_params.get(key)
            st.session_state[key] = default if given is None else _parse(given, key, default, choices, largest)


def publish(defaults: Mapping[str, Value]) -> None:
    """Write what differs from `defaults` into the URL."""
    changed = {key: st.session_state[key] for key, default in defaults.items() if st.session_state[key] != default}
    wanted = {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in changed.items()}
    if dict(st.query_params) != wanted:
        st.query_params.from_dict(wanted)


def _parse(
    given: str, key: str, default: Value, choices: Mapping[str, list[str]], largest: Mapping[str, int]
) -> Value:
    if isinstance(default, bool):
        return given.lower() in ("true", "1", "yes")
    if isinstance(default, int):
        return int(given) if given.isascii() and given.isdigit() and 1 <= int(given) <= largest[key] else default
    if key in choices and given not in choices[key]:
        return default
    return given[:2000]
