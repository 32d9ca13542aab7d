"""Tour: the paper's main finding in two minutes, every number computed as the page is drawn."""

import pandas as pd
import streamlit as st

from dashboard import citation, tour
from dashboard.figures import style
from dashboard.tour import Step
from dashboard.widgets import url
from dashboard.widgets.downloads import downloads
from dashboard.widgets.experiment import DEFAULTS
from dashboard.widgets.number import number


@st.cache_data(show_spinner=False)
def steps() -> list[Step]:
    """The tour, computed once per start of the server."""
    return tour.steps()


def page() -> None:
    st.markdown("#### Two minutes: the traffic that capacity causes")
    st.caption(
        "The main finding of the Sim-FA paper, and what public counters say about it. Numbers are computed by this "
        "version of the code; each step opens where one can go on, in a new tab."
    )
    for place, step in enumerate(steps(), start=1):
        _step(place, step)
    _counters()
    st.caption(f"The paper: {citation.paper()}")


def _step(place: int, step: Step) -> None:
    with st.container(border=True):
        left, right = st.columns([5, 7], gap="large", vertical_alignment="center")
        with left:
            st.markdown(f"**{place}. {step.title}**")
            number(step.what, step.number)
            st.markdown(step.text)
            with st.container(horizontal=True):
                for link in step.links:
                    st.link_button(link.label, link.address)
            st.caption(step.source)
        with right:
            st.plotly_chart(step.figure, key=f"tour-{place}", config=style.TOOLBAR)


def _counters() -> None:
    rows = tour.table(tour.counters())
    with st.expander("The public counters behind steps 5 and 6, each with its source"):
        st.dataframe(pd.DataFrame(rows), hide_index=True)
        with st.container(horizontal=True):
            downloads("tour_counters", rows)


page()
url.publish(DEFAULTS)
