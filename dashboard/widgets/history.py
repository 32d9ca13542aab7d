"""One step back for each page in the browser: what is set on a page is not a step of its own.

Streamlit adds an entry to the browser's history whenever the URL's query changes: opening a page and writing its
state into the URL would be two. Going back to another query of the same page would change nothing, as a session
reads its URL once. So a new address of the same page takes the place of the one before.
"""

import streamlit as st

_SCRIPT = """
export default function () {
  if (window.simfaHistory) return;
  window.simfaHistory = true;
  const push = history.pushState.bind(history);
  history.pushState = (state, unused, address) => {
    const same = address != null && new URL(address, location.href).pathname === location.pathname;
    if (same) history.replaceState(state, unused, address); else push(state, unused, address);
  };
}
"""
_component = st.components.v2.component("simfa_history", js=_SCRIPT)


def one_step_a_page() -> None:
    """From now on, in this browser tab."""
    _component(key="history")
