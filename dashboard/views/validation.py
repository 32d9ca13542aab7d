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


_CHANGES = {
    "label": "Launch",
    "reference": "Full model",
    "model": "Without",
    "unit": "Unit",
    "error_pct": "Change (%)",
}


def page() -> None:
    st.markdown("#### Is it true? The simulator's parts against public references")
    st.caption(
        "Errors are the model's, in % of the reference, over all points of a study. Run them anew: python -m simfa "
        "validate. More kernels, the paper's parameters and single mechanisms: --study fa3-all, fa3-ladder, "
        "fa3-unlocked."
    )
    if not examples.studies_are_current():
        st.warning("These studies were stored by other sources than the ones running here.")
    studies = examples.studies()
    st.table(pd.DataFrame([_summary(study) for study in studies]).set_index("Study"))
    for study in studies:
        _study(study)


def _summary(study: dict[str, Any]) -> dict[str, str]:
    row = {"Study": study["title"], "Points": f"{study['points']}"}
    if study["compares"] == "difference":
        return row | {"Mean error": "changes, not errors", "Worst": "see below", "Unseen by any fit": ""}
    return row | {
        "Mean error": f"{study['mape_pct']:.2f} %",
        "Worst": f"{study['worst_pct']:+.2f} %",
        "Unseen by any fit": f"{study['unseen_mape_pct']:.2f} % of {study['unseen_points']}",
    }


def _group(group: dict[str, Any], is_error: bool) -> dict[str, str]:
    found = {"Group": group["group"], "Points": f"{group['points']}"}
    found |= {"Mean error": f"{group['mape_pct']:.2f} %"} if is_error else {}
    found["Mean with sign" if is_error else "Mean change"] = f"{group['mean_pct']:+,.2f} %"
    found["Worst" if is_error else "Largest"] = f"{group['worst_pct']:+,.2f} %"
    return found | ({"Published (error against hardware)": group["published"]} if not is_error else {})


def _study(study: dict[str, Any]) -> None:
    st.subheader(study["title"], divider="gray")
    dark = st.context.theme.type == "dark"
    chart = validation.figure(study, "#FFFFFF" if dark else "#000000")
    st.plotly_chart(chart, key=study["study"], config=style.TOOLBAR)
    st.caption(f"Reference: {study['source']}. Fitted: {study['fitted']}. {study['context']}")
    if len(study["groups"]) > 1:
        rows = [_group(group, study["compares"] == "error") for group in study["groups"]]
        st.table(pd.DataFrame(rows).set_index("Group"))
    columns = _COLUMNS if study["compares"] == "error" else _CHANGES
    points = pd.DataFrame(study["all_points"])[list(columns)].rename(columns=columns)
    with st.expander(f"All {len(points)} points"):
        st.dataframe(points.round(2), hide_index=True)
    st.download_button(
        "Download CSV", points.to_csv(index=False), f"{study['study']}.csv", "text/csv", on_click="ignore"
    )


page()
