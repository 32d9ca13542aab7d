"""Changed preset values as rows in the sidebar: picker, value, what the preset has, and a reset each."""

import streamlit as st

from dashboard import whatif
from dashboard.recipe import Recipe


def rows(asked: Recipe, text: str) -> None:
    """A searchable picker over every preset value, and a row for each one that is changed."""
    known = whatif.editables(asked)
    changed = whatif.changes(text)
    left = [key for key in known if key not in changed]
    st.selectbox(
        "Change a preset value",
        left,
        index=None,
        key="whatif_pick",
        placeholder="Search: l2, clock, tile ...",
        format_func=lambda key: f"{key}: {known[key].shown}" if key in known else key,
        on_change=_pick,
        args=(known,),
    )
    for key in changed:
        if key in known:
            _row(asked, known[key], changed)


def _row(asked: Recipe, editable: whatif.Editable, changed: dict[str, str]) -> None:
    key, value = editable.key, changed[editable.key]
    marked = f":orange[**{key}**]" if whatif.is_changed(editable, value) else key
    with st.container(horizontal=True, vertical_alignment="bottom"):
        # The value is part of the widget's name: a pasted or reset one makes a new widget that starts with it.
        widget = f"whatif-{key}={value}"
        st.text_input(marked, value, key=widget, on_change=_edit, args=(key, widget), help=editable.meaning or None)
        st.button("Reset", key=f"whatif-reset-{key}", on_click=_write, args=(key, None), width="content")
    wrong = whatif.problem(asked, changed, key)
    if wrong:
        st.caption(f":red[{wrong}]")
    st.caption(f"Preset: {editable.shown} ({editable.bounds}). {editable.origin}")


def _pick(known: dict[str, whatif.Editable]) -> None:
    key = st.session_state["whatif_pick"]
    st.session_state["whatif_pick"] = None
    if key is not None:
        _write(key, known[key].typed or "1")


def _edit(key: str, widget: str) -> None:
    _write(key, st.session_state[widget].strip() or None)


def _write(key: str, value: str | None) -> None:
    st.session_state["set"] = whatif.with_value(str(st.session_state.get("set") or ""), key, value)
