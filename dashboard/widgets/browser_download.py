"""A download that is made when its button is pressed, and that no redrawing of the page can lose.

Streamlit's own button for such files names a file of the last run of the page. A click that comes while the page is
drawn anew names one that is gone, and nothing happens. Here a click is an event like any other: Streamlit keeps it
until it has been answered, and a component hands the answer to the browser.
"""

import uuid
from collections.abc import Callable

import streamlit as st

_SCRIPT = """
export default function (component) {
  const { data } = component;
  if (window.simfaTaken === data.token) return;
  window.simfaTaken = data.token;
  const address = URL.createObjectURL(new Blob([data.content], { type: data.mime }));
  const link = document.createElement('a');
  link.href = address;
  link.download = data.name;
  document.body.appendChild(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
}
"""
_component = st.components.v2.component("simfa_download", js=_SCRIPT)


def download(label: str, make: Callable[[], str], name: str, mime: str, key: str) -> None:
    """A button that makes a text file and downloads it.

    No fragment of its own: Streamlit drops an event for a fragment that a rerun around it has replaced.
    """
    if st.button(label, key=key):
        _component(
            key=f"{key}-file",
            data={"content": make(), "name": name, "mime": mime, "token": uuid.uuid4().hex},
        )
