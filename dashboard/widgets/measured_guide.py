"""The guide of the Measured page: how to make a good file, and what the counters mean."""

import streamlit as st

from dashboard.measured import guide


def guide_section() -> None:
    """Commands, counters, and why they differ from the models."""
    st.subheader("How to make a good file", divider="gray")
    st.caption(guide.LABEL)
    st.markdown("**Nsight Compute**: bytes and time of single launches")
    st.code(guide.NCU, language=None, wrap_lines=True)
    st.markdown("**Nsight Systems**: times within the whole program")
    st.code(guide.NSYS, language=None, wrap_lines=True)
    left, right = st.columns(2, gap="large")
    left.markdown("**Why these options**\n\n" + guide.CHOICES)
    counters = "\n".join(f"- `{name}`: {text}" for name, text in guide.COUNTERS)
    right.markdown("**What each counter is**\n\n" + counters)
    left, right = st.columns(2, gap="large")
    left.markdown(guide.WHY_L2)
    right.markdown(guide.WHY_SHORT)
