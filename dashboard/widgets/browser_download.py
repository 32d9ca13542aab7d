"""A download that is made when its button is pressed, and that no redrawing of the page can lose.

Streamlit's own button for such files names a file of the last run of the page. A click that comes while the page is
drawn anew names one that is gone, and nothing happens. Here the click is remembered before anything is drawn, and a
component hands the file to the browser again with every redraw until the browser says that it has it.
"""

import base64
import uuid
from collections.abc import Callable
from typing import Any

import streamlit as st

_SCRIPT = """
export default function (component) {
  const { data, setTriggerValue } = component;
  const taken = (window.simfaTaken ??= new Set());  // of all buttons: several files may be on their way
  if (!taken.has(data.token)) {
    taken.add(data.token);
    const content = data.bytes ? Uint8Array.from(atob(data.content), c => c.charCodeAt(0)) : data.content;
    const address = URL.createObjectURL(new Blob([content], { type: data.mime }));
    const link = document.createElement('a');
    link.href = address;
    link.download = data.name;
    document.body.appendChild(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address), 60000);
  }
  setTriggerValue('taken', data.token);
}
"""
_component = st.components.v2.component("simfa_download", js=_SCRIPT)


def download(label: str, make: Callable[[], str | bytes], name: str, mime: str, key: str, **button: Any) -> None:
    """A button that makes a file of text or bytes and downloads it; `button` is what else `st.button` takes.

    Both callbacks run before the page does: a redraw that starts another one half-way cannot undo them.
    """
    asked = f"{key}-asked"

    def pressed() -> None:
        st.session_state[asked] = {"token": uuid.uuid4().hex, "name": name, "mime": mime}

    with st.container(width=button.get("width", "content"), gap=None):
        st.button(label, key=key, on_click=pressed, **button)
        file = st.session_state.get(asked)
        if file is None:
            return
        if "content" not in file:
            file.update(_portable(make()))
        _component(key=f"{key}-file", data=file, on_taken_change=lambda: st.session_state.pop(asked, None))


def _portable(content: str | bytes) -> dict[str, str | bool]:
    """The content as text, which is all that a component can be given."""
    if isinstance(content, bytes):
        return {"content": base64.b64encode(content).decode(), "bytes": True}
    return {"content": content, "bytes": False}
