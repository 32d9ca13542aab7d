"""Presets: what the experiment in the sidebar assumes, each value with unit, label and source."""

import streamlit as st

from dashboard import assumptions
from dashboard.catalog import ESTIMATORS
from dashboard.widgets import url
from dashboard.widgets.downloads import downloads
from dashboard.widgets.experiment import DEFAULTS, sidebar


def page() -> None:
    experiment = sidebar(list(ESTIMATORS))
    if experiment is None:
        return
    st.markdown(f"#### What is assumed: {experiment.words()}")
    st.caption(
        "measured: read off hardware; published: stated by the source; fitted: chosen so that a model meets "
        "measurements; inferred: concluded from other facts; "
        "informed: chosen by someone who had seen the measurements it is judged by; "
        "override: changed in this session."
    )
    values = assumptions.table(experiment)
    labels = list(dict.fromkeys(values["Label"]))
    chosen = st.pills("Show", labels, selection_mode="multi", default=labels, label_visibility="collapsed")
    st.dataframe(values[values["Label"].isin(chosen)], hide_index=True, height=640)
    with st.container(horizontal=True):
        downloads("presets", values.to_dict("records"))
    for spec in (experiment.gpu, experiment.kernel, experiment.llm):
        if spec.note:
            st.caption(f"{spec.title}: {spec.note}")


page()
url.publish(DEFAULTS)
