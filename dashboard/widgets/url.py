"""The experiment in the URL: read once when a session opens, kept up to date after every change.

Only known keys are read, each through the type of its default. Wrong values reach the same checks as typed ones, or
fall back to the default where a widget could not even show them; the page then says so, as for a key nobody knows.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from dashboard.plain import brief, markdown
from dashboard.recipe import Value, in_url, read
from dashboard.widgets.whole import rounded
from presets.errors import PresetError, unknown

_KEY = "initial"
_MISSED = "missed"
_MOST_MISSED = 3  # that a notice tells one by one
NOTHING = "none"  # in the URL: a multiple choice in which everything is off


def initial(
    defaults: Mapping[str, Value], choices: Mapping[str, list[str]], others: Sequence[str] = ()
) -> dict[str, Any]:
    """What each widget starts with in this session: the URL's value as it was opened, or the default.

    Widgets take it as their own default. Writing it into their state instead would race with the browser, which
    can lose the first drawing of a widget to the next one and then report the widget's bare minimum back.
    `others` are keys that a page reads for itself.
    """
    if _KEY not in st.session_state:
        kept = dict(defaults)
        for key, given in st.query_params.items():
            try:
                if key in defaults:
                    kept[key] = read(given, key, defaults[key], choices)
                elif key not in others:
                    missed(_unknown(key[:40], [*defaults, *others]))
            except PresetError as error:
                missed(brief(error))
        st.session_state[_KEY] = kept
    found: dict[str, Any] = st.session_state[_KEY]
    return found


def opened_with(key: str) -> Any:
    """What the session's URL said of a key, or its default."""
    return st.session_state[_KEY][key]


def _unknown(key: str, known: Sequence[str]) -> str:
    """That nobody knows a key, with what was meant, perhaps, while there are few: looking for it takes time."""
    few = len(st.session_state.get(_MISSED, ())) < _MOST_MISSED
    return unknown("key", key, known if few else ()).partition(" Allowed: ")[0]


def missed(what: str) -> None:
    """Keep in mind that the address asks for something that cannot be."""
    st.session_state.setdefault(_MISSED, []).append(what)


def notice() -> None:
    """What of the address the page does not show, until it is dismissed."""
    found = st.session_state.get(_MISSED)
    if not found:
        return
    more = [f"and {len(found) - _MOST_MISSED} more"] if len(found) > _MOST_MISSED else []
    said = "".join(f"\n- {markdown(what)}" for what in found[:_MOST_MISSED] + more)
    text, button = st.columns([10, 1], vertical_alignment="center")
    text.warning(f"The address asks for what is not there; the rest of it is followed:\n{said}")
    button.button("Dismiss", key="dismiss_missed", on_click=found.clear, type="tertiary")


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
    if value is None:
        return otherwise
    return rounded(value) if isinstance(value, float) and isinstance(otherwise, int) else value


def several(key: str, options: Sequence[str], usual: Sequence[str]) -> list[str]:
    """What a multiple choice starts with: those of the URL among its options, `usual` where it names none."""
    given = str(st.session_state[_KEY].get(key, ""))
    named = [name for name in given.split(",") if name in options]
    return named if named or given == NOTHING else list(usual)


def keep_several(key: str, chosen: Sequence[str], usual: Sequence[str]) -> None:
    """Remember a multiple choice for the URL; nothing where it is the usual one."""
    st.session_state[key] = "" if list(chosen) == list(usual) else ",".join(chosen) or NOTHING
