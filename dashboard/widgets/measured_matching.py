"""The kernels of the uploaded files: filter, choice, and the workload behind each, editable and remembered."""

from __future__ import annotations

import hashlib
from typing import Any

import pandas as pd
import streamlit as st

from dashboard.measured import edits
from dashboard.measured.case import MASKS, NEEDED, Case, dtypes
from dashboard.widgets.measured_desk import LISTED, Desk
from dashboard.widgets.whole import whole_number
from presets import loader
from presets.experiment import MAX_LENGTH
from presets.specs import GpuSpec, KernelSpec

_READ_ONLY = (
    "title",
    "latency_us",
    "spread_pct",
    "l2_mb",
    "dram_mb",
    "clock_mhz",
    "launches",
    "file",
    "kernel_name",
    "reasons",
)


def matching(desk: Desk) -> None:
    """Filter, table and what is still missing; leaves the edits on the desk."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        wanted = st.text_input("Filter kernels", key="measured_filter", placeholder="part of a name or file")
        only = st.toggle(
            "Attention only", True, key="measured_attention", help="By name: flash, fmha, attn, sdpa, cuTile."
        )
        desk.warm_up = whole_number(
            "Warm-up launches",
            0,
            1000,
            desk.warm_up,
            key="measured_warm_up",
            width=170,
            help="Left out at the start of each kernel; the median is over the rest, and one always stays.",
        )
    cases = _listed(desk, wanted.strip().lower(), only)
    if not cases:
        st.info("No kernel of this name. Empty the filter or switch off “Attention only” to see every kernel.")
        return
    _table(desk, cases)
    _fill_in(desk)


def _listed(desk: Desk, wanted: str, only: bool) -> list[Case]:
    """The cases of the table, as proposed: at most LISTED of them."""
    found = list(desk.ready())
    groups = desk.groups()
    if only and any(group.attention for group in groups):
        groups = [group for group in groups if desk.uses(group.id, group.attention)]
    matching_text = [case for case in found if wanted in f"{case.title} {case.kernel_name} {case.file}".lower()]
    named = [group for group in groups if wanted in f"{group.kernel} {group.file}".lower()]
    total = len(matching_text) + len(named)
    if total > LISTED:
        st.caption(
            f"The first {LISTED} of {total:,} kernels, longest first; those are compared. Filter to choose others."
        )
    room = max(0, LISTED - len(matching_text))
    return (matching_text + [desk.case(group) for group in named[:room]])[:LISTED]


def _table(desk: Desk, cases: list[Case]) -> None:
    """The editor. It always starts from the same frame under the same key, so that edits are never lost."""
    ids = "|".join(case.id for case in cases)
    key = "measured_table_" + hashlib.sha256(f"{ids}|{desk.warm_up}|{desk.generation}".encode()).hexdigest()[:12]
    if key not in desk.shown or key not in st.session_state:
        current = [edits.edited(case, desk.edits.get(case.id, {})) for case in cases]
        proposed, ready = desk.proposed(), {case.id for case in desk.ready()}
        chosen = [case.id for case in cases if desk.uses(case.id, case.id in proposed or case.id in ready)]
        desk.shown = {key: edits.frame(current, chosen)}
    before: pd.DataFrame = desk.shown[key]
    after = st.data_editor(
        before,
        key=key,
        hide_index=True,
        disabled=list(_READ_ONLY),
        column_config=_columns(),
        height=min(38 + 35 * len(cases), 320),
        placeholder="",
    )
    desk.edits = edits.merged(desk.edits, edits.changes(before, after))


def _columns() -> dict[str, Any]:
    column = st.column_config
    whole: dict[str, Any] = {"min_value": 1, "max_value": MAX_LENGTH, "step": 1, "width": 92}
    return {
        "use": column.CheckboxColumn("Use", width=70),
        "title": column.TextColumn("Kernel", width=210),
        "gpu": column.SelectboxColumn("GPU", options=["", *loader.names(GpuSpec)], width=92),
        "seq_q": column.NumberColumn("L (tokens)", **whole),
        "seq_kv": column.NumberColumn("S (tokens)", help="K/V length; blank: as L", **whole),
        "heads_q": column.NumberColumn("Q heads", **whole),
        "heads_kv": column.NumberColumn("KV heads", help="blank: as Q heads", **whole),
        "head_dim": column.NumberColumn("Head dim", **whole),
        "batch": column.NumberColumn("Batch", help="blank: 1", **whole),
        "mask": column.SelectboxColumn("Mask", options=["", *MASKS], help="blank: none", width=82),
        "dtype": column.SelectboxColumn("Dtype", options=["", *dtypes()], help="blank: fp16", width=74),
        "kernel": column.SelectboxColumn(
            "Kernel preset", options=["", *loader.names(KernelSpec)], help="blank: the GPU's own", width=130
        ),
        "settings": column.TextColumn("Changed presets", help="KEY=VALUE; KEY=VALUE, as --set", width=170),
        "latency_us": column.NumberColumn("Latency (µs)", format="%.2f"),
        "spread_pct": column.NumberColumn("Spread (%)", help="(longest - shortest) / median", format="%.1f"),
        "l2_mb": column.NumberColumn("L2 (MB)", format="%.2f"),
        "dram_mb": column.NumberColumn("DRAM (MB)", format="%.2f"),
        "clock_mhz": column.NumberColumn("Clock (MHz)", format="%.0f"),
        "launches": column.NumberColumn("Launches"),
        "file": column.TextColumn("File"),
        "kernel_name": column.TextColumn("Full kernel name", width=320),
        "reasons": column.TextColumn("Why this workload", width=420),
    }


def _fill_in(desk: Desk) -> None:
    """One entry per thing that chosen kernels still miss; it goes to all of them at once."""
    chosen = desk.chosen()
    gaps = edits.missing(chosen)
    if not gaps:
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        for field, count in gaps.items():
            label = f"{NEEDED[field][0].upper()}{NEEDED[field][1:]} ({count} without)"
            key = f"measured_fill_{field}"
            if field == "gpu":
                value: Any = st.selectbox(label, loader.names(GpuSpec), None, key=key, width=190)
            else:
                value = whole_number(label, 1, MAX_LENGTH, None, key=key, width=190)
            if value is not None:
                lacking = [case.id for case in chosen if edits.lacks(case, field)]
                desk.edits = edits.merged(desk.edits, {case: {field: value} for case in lacking})
                desk.generation += 1  # the table is drawn anew with the values in it
                st.rerun()
    st.caption("Not in the files: fill it in once here, or per kernel in the table. Nothing is guessed.")
