"""Why?: what is behind a number, opened beside it: a closed form's equations, a simulation's stalls."""

from typing import Any

import pandas as pd
import streamlit as st

from analytical import explain
from analytical.formula import Derivation, Step, shown
from dashboard import simulated_why, standing
from dashboard.catalog import ESTIMATORS
from dashboard.widgets.downloads import downloads
from presets.experiment import Experiment

WIDTH_PX = 720
_FIRST = "dram_bytes"


def why(experiment: Experiment, estimator: str, key: str, first: str = _FIRST) -> None:
    """A Why? button that opens the derivation of any number of a closed form; nothing for other estimators."""
    if estimator not in explain.EXPLAINED:
        return
    box = st.popover("Why?", type="tertiary", key=f"why-{key}-{estimator}", on_change="rerun")
    if not box.open:  # deriving takes longer than drawing a closed button
        return
    with box, st.container(width=WIDTH_PX):
        _opened(experiment, estimator, key, first)


def why_simulated(experiment: Experiment, record: dict[str, Any], key: str) -> None:
    """A Why? button that opens what kept a simulated launch from being faster."""
    box = st.popover("Why?", type="tertiary", key=f"why-{key}-simulated", on_change="rerun")
    if not box.open:
        return
    with box, st.container(width=WIDTH_PX):
        st.markdown(f"**Latency**: {simulated_why.arithmetic(experiment, record)}")
        units, waits = simulated_why.units(experiment, record), simulated_why.waits(experiment, record)
        st.caption("How busy the units of each kind were, mean of all on the GPU: share of the run, and as time")
        st.table({row["unit"]: f"{row['busy_share']:.1%}, {row['busy_us']:,.1f} µs" for row in units})
        if waits:
            st.caption("What warpgroups waited for, as a share of the run: mean of all SMs, CTAs on one SM add up")
            st.table(_by_role(waits))
            with st.container(horizontal=True):
                downloads("simulated_waits", waits, "Waits", place=key)
        st.markdown(simulated_why.memory(record) or "A sample counts no stalls: its runs are shorter.")
        st.caption(f"{standing.reason(experiment)} Every value it used is on the Presets page, with its source.")
        with st.container(horizontal=True):
            downloads("simulated_units", units, "Units", place=key)


def _by_role(waits: list[dict[str, Any]]) -> pd.DataFrame:
    table = pd.DataFrame(waits).pivot(index="waits_for", columns="warpgroup", values="share")
    table = table.loc[table.sum(axis=1).sort_values(ascending=False).index]
    roles = list(dict.fromkeys(row["warpgroup"] for row in waits))
    return table[roles].map(lambda share: "–" if pd.isna(share) else f"{share:.1%}").rename_axis("Waiting for")


def _opened(experiment: Experiment, estimator: str, key: str, first: str) -> None:
    found = explain.derive(experiment, estimator)
    titles = found.titles()
    names = list(titles)
    number = st.selectbox(
        f"Number of {ESTIMATORS[estimator].title}",
        names,
        names.index(first) if first in names else 0,
        key=f"why-number-{key}-{estimator}",
        format_func=titles.__getitem__,
    )
    steps = found.why(number or names[0])
    _step(steps[-1])
    if len(steps) > 1:
        st.caption("Step by step")
    for step in steps[:-1]:
        _step(step)
    _sources(found, number or names[0], f"{key}-{estimator}")


def _step(step: Step) -> None:
    said = ": ".join(filter(None, (step.equation, step.title)))
    st.markdown(f"**{said}**" + (f"  \n{step.note}" if step.note else ""))
    st.markdown(f"${step.latex()}$")


def _sources(found: Derivation, number: str, place: str) -> None:
    entries = found.sources(found.why(number))
    rows = [
        {
            "Symbol": entry.symbol,
            "Value": f"{shown(entry.value)} {entry.unit}".strip(),
            "What": entry.meaning,
            "Key": entry.key,
            "Label": entry.label,
            "Source": entry.source,
        }
        for entry in entries
    ]
    st.caption("Where the values come from")
    st.dataframe(pd.DataFrame(rows), hide_index=True)
    with st.container(horizontal=True):
        downloads(f"sources_{number}", rows, place=place)
