"""The guide of the Measured page: how to make a good file, and what the counters mean."""

import pandas as pd
import streamlit as st

from dashboard.measured import guide


def guide_section() -> None:
    """Commands, counters, and why they differ from the models."""
    st.subheader("How to make a good file", divider="gray")
    st.caption(guide.LABEL)
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown("Nsight Compute: bytes and time of single launches")
        st.code(guide.NCU, language="bash", wrap_lines=True)
        st.markdown("Nsight Systems: times within the whole program")
        st.code(guide.NSYS, language="bash", wrap_lines=True)
    with right:
        st.markdown(guide.CHOICES)
    st.markdown("**What each counter is**")
    table = pd.DataFrame(guide.COUNTERS, columns=["Counter", "What it counts, and what it is compared with"])
    st.table(table.set_index("Counter"))
    left, right = st.columns(2, gap="medium")
    left.markdown(guide.WHY_L2)
    right.markdown(guide.WHY_SHORT)
