"""Validation: the simulator's parts against public references, all points, with what was fitted."""

from typing import Any

import pandas as pd
import streamlit as st

from dashboard import examples
from dashboard.figures import style, validation

_COLUMNS = {
    "label": "Point",
    "reference": "Reference",
    "model": "Model",
    "unit": "Unit",
    "error_pct": "Error (%)",
    "fitted": "Seen by a fit",
}


def page() -> None:
    st.markdown("#### Is it true? The simulator's parts against public references")
    st.caption(
        "Errors are the model's, in % of the reference, over all points of a study. The end-to-end latency of "
        "FlashAttention-3 is not among them yet: it is not validated. Run them anew: python -m simfa validate."
    )
    if not examples.studies_are_current():
        st.warning("These studies were stored by other sources than the ones running here.")
    studies = examples.studies()
    st.table(pd.DataFrame([_summary(study) for study in studies]).set_index("Study"))
    for study in studies:
        _study(study)


def _summary(study: dict[str, Any]) -> dict[str, str]:
    return {
        "Study": study["title"],
        "Points": f"{study['points']}",
        "Mean error": f"{study['mape_pct']:.2f} %",
        "Worst": f"{study['worst_pct']:+.2f} %",
        "Unseen by any fit": f"{study['unseen_mape_pct']:.2f} % of {study['unseen_points']}",
    }


def _study(study: dict[str, Any]) -> None:
    st.subheader(study["title"], divider="gray")
    dark = st.context.theme.type == "dark"
    chart = validation.figure(study, "#FFFFFF" if dark else "#000000")
    st.plotly_chart(chart, key=study["study"], config=style.TOOLBAR)
    st.caption(f"Reference: {study['source']}. Fitted: {study['fitted']}. {study['context']}")
    points = pd.DataFrame(study["all_points"])[list(_COLUMNS)].rename(columns=_COLUMNS)
    with st.expander(f"All {len(points)} points"):
        st.dataframe(points.round(2), hide_index=True)
    st.download_button(
        "Download CSV", points.to_csv(index=False), f"{study['study']}.csv", "text/csv", on_click="ignore"
    )


page()
