"""Presets: what the experiment in the sidebar assumes, each value with unit, label and source."""

from dataclasses import replace

import streamlit as st

from dashboard import assumptions
from dashboard.widgets import baseline, url
from dashboard.widgets.downloads import downloads
from dashboard.widgets.experiment import DEFAULTS, current, sidebar
from presets.errors import PresetError
from presets.experiment import Experiment

WIDTHS_PX = {"Preset": 135, "Key": 240, "Value": 105, "Unit": 90, "Label": 85}
COLUMNS = {name: st.column_config.TextColumn(width=width) for name, width in WIDTHS_PX.items()}


def page() -> None:
    experiment = sidebar() or _unchanged()  # a wrong key is looked up here
    if experiment is None:
        return
    st.markdown(f"#### What is assumed: {experiment.words()}")
    st.caption(
        "measured: read off hardware; published: stated by the source; fitted: chosen so that a model meets "
        "measurements; inferred: concluded from other facts; "
        "informed: chosen by someone who had seen the measurements it is judged by; "
        "override: changed in this session."
    )
    pinned = baseline.pinned()
    values = assumptions.table(experiment, pinned.experiment if pinned else None)
    if pinned:
        _difference(int((values["Baseline"] != "").sum()))
    labels = list(dict.fromkeys(values["Label"]))
    chosen = st.pills(
        "Show",
        labels,
        selection_mode="multi",
        default=url.several("preset_labels", labels, labels),
        key="presets_shown",
        label_visibility="collapsed",
        persist_state="session",
    )
    url.keep_several("preset_labels", chosen, labels)
    shown = values["Label"].isin(chosen)
    if pinned and st.session_state.get("presets_differing"):
        shown &= values["Baseline"] != ""
    st.dataframe(values[shown], hide_index=True, height=640, column_config=COLUMNS)
    with st.container(horizontal=True):
        downloads("presets", values.to_dict("records"))
    for spec in (experiment.gpu, experiment.kernel, experiment.llm):
        if spec.note:
            st.caption(f"{spec.title}: {spec.note}")


def _unchanged() -> Experiment | None:
    """The experiment without its what-ifs, where these are what cannot be; None where it cannot be either."""
    try:
        found = replace(current(), set="").experiment()
    except PresetError:
        return None
    st.info("Here are the presets without the changes of the sidebar.")
    return found


def _difference(count: int) -> None:
    """What differs from the pinned baseline, and a switch to see that alone."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.toggle("Only what differs from the baseline", key="presets_differing", persist_state="session")
        values = "1 value differs" if count == 1 else f"{count} values differ"
        st.caption(f"{values} from the baseline's, which stand in the column Baseline.")


page()
url.publish(DEFAULTS)
