"""A big number: whose it is above, what stands beside it below."""

import streamlit as st

from dashboard.plain import markdown


def number(title: str, value: str, beside: str = "", about: str = "") -> None:
    """One number of an answer. `title` and `about` are Markdown, the others plain text.

    st.metric looks much the same, but a browser that opens the page for the first time gets its program together
    with that of the figures, which is 5 MB: its numbers then stand 1 to 2 s later than Markdown does.
    """
    with st.container(gap="xxsmall"):
        st.markdown(title, help=about or None)
        st.markdown(f"### {markdown(value)}", anchors=False)
        if beside:
            st.caption(markdown(beside))
