"""Measured: profiler files, or public measurements, against the estimators, with errors people can cite."""

from typing import Any

import streamlit as st

from dashboard.catalog import ESTIMATORS
from dashboard.charts import SHORT_MARKS as MARKS
from dashboard.figures import measured_traffic, parity, style
from dashboard.measured import against, comparison, curves, reading, recording, shown
from dashboard.measured.case import Case
from dashboard.measured.comparison import QUANTITIES, Comparison
from dashboard.plain import markdown
from dashboard.report import measured as report
from dashboard.widgets import baseline, browser_download, url
from dashboard.widgets.downloads import downloads
from dashboard.widgets.experiment import DEFAULTS, start
from dashboard.widgets.measured_desk import Desk, desk, gallery_cases, pick
from dashboard.widgets.measured_files import files, uploader
from dashboard.widgets.measured_guide import guide_section
from dashboard.widgets.measured_matching import matching
from dashboard.widgets.measured_simulation import simulations
from dashboard.widgets.number import number
from dashboard.widgets.take_along import take_along

USUAL = ["simfa-python", "genz", "sim-fa"]
TITLES = {quantity.key: quantity.title for quantity in QUANTITIES}


def page() -> None:
    mine = desk()
    head, right = st.columns([3, 2], gap="medium")
    with right:
        uploader(mine)
    files(mine)
    if mine.has_files():
        matching(mine)
    cases, names, key, clock = _controls(mine)
    pinned, assumed = _pinned(cases, clock)
    simulations(mine, comparison.to_simulate([*cases, *pinned], clock) if "sim-fa" in names else [])
    found = against.compare(cases, names, clock, mine.answers, pinned)
    with head:
        _heading(mine, found)
        st.caption(assumed)
    if not found.rows:
        _nothing(found)
    else:
        _answer(found, cases, names, key, clock)
        _tables(found, names, key)
        _explain(mine, found, cases, key, clock)
        _traffic(mine, cases, pinned, clock)
        _downloads(mine, found, cases, names, key, clock)
        _take_along(mine, found, cases, names, key, clock)
    guide_section()


def _pinned(cases: list[Case], clock: bool) -> tuple[list[Case], str]:
    """The cases with the pinned baseline's values, none where it changes none; and what has to be said of it."""
    found = baseline.pinned()
    if found is None:
        return [], ""
    assumed = against.assumed(found.recipe)
    if not assumed:
        return [], "The baseline has the presets' own values, so its errors are these."
    said = f"Baseline columns and hollow marks: every model with the baseline's values, {markdown(assumed)}."
    return [against.under(case, found.recipe, clock) for case in cases], said


def _heading(mine: Desk, found: Comparison) -> None:
    count = len({row["case"] for row in found.rows})
    if mine.has_files():
        kernels = f"{count} kernels" if count != 1 else "1 kernel"
        said = f"{kernels} of your files against the estimators" if count else "Your files: nothing to compare yet"
        st.markdown(f"#### {said}")
        st.caption("Files stay in this session. A link to this page does not carry them; the full record does.")
    else:
        st.markdown(f"#### {count} public measurements against the estimators")
        st.caption(
            "Shipped with their sources: FlashAttention-3 on H100, cuTile and FlashAttention-2 on GB10. None was "
            "measured by this project. Upload your own on the right."
        )


def _controls(mine: Desk) -> tuple[list[Case], list[str], str, bool]:
    """The cases, estimators, quantity and clock that the page is about."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        key = st.segmented_control(
            "Quantity",
            list(TITLES),
            default=start("measured_quantity"),
            key="measured_quantity",
            format_func=TITLES.__getitem__,
            persist_state="session",
        )
        names = st.pills(
            "Estimators",
            list(ESTIMATORS),
            selection_mode="multi",
            default=url.several("measured_models", list(ESTIMATORS), USUAL),
            key="measured_estimators",
            format_func=lambda name: ESTIMATORS[name].short,
            persist_state="session",
        )
        url.keep_several("measured_models", names or [], USUAL)
        clock = st.toggle(
            "At the measured clock",
            start("measured_clock"),
            key="measured_clock",
            help="The models run at the clock that the file states; off: at that of the GPU preset.",
            persist_state="session",
        )
        if mine.has_files():
            cases = mine.chosen()
        else:
            cases = gallery_cases(
                st.toggle(
                    "Also without a clock",
                    start("measured_unknown_clock"),
                    key="measured_unknown_clock",
                    persist_state="session",
                    help="Their source states none. They ran unlocked, from 1.4 to 1.98 GHz: compare the shape of "
                    "the curve, not the height.",
                )
            )
    return cases, [name for name in ESTIMATORS if name in (names or ["simfa-python"])], key or "latency_us", clock


def _nothing(found: Comparison) -> None:
    st.info("Choose kernels in the table, and fill in what their file does not say.")
    if found.left_out:
        st.dataframe(shown.not_compared(found.left_out), hide_index=True)


def _answer(found: Comparison, cases: list[Case], names: list[str], key: str, clock: bool) -> None:
    """Cards and reading on the left, the parity plot on the right."""
    summed = comparison.summary(found.rows)
    left, right = st.columns([2, 3], gap="medium")
    with left:
        _cards([row for row in summed if row["quantity"] == key], found)
        st.markdown(_bullets(reading.overall(found, cases, clock)))
    with right:
        what = shown.quantity(key)
        marks = _marks(names, found)
        title = parity.title(summed, marks, key)
        chart = parity.figure(found.of(key), marks, what.title, what.unit, what.scale, title, _ink())
        st.plotly_chart(chart, key="measured_parity", config=style.TOOLBAR)


def _bullets(sentences: list[str]) -> str:
    return "\n".join(f"- {markdown(sentence)}" for sentence in sentences)


def _marks(names: list[str], found: Comparison) -> dict[str, tuple[str, str, str]]:
    """Names, colours and markers, the simulator's name with its mark where it lies outside."""
    return {name: (MARKS[name][0] + comparison.mark(found.rows, name), *MARKS[name][1:]) for name in names}


def _cards(summed: list[dict[str, Any]], found: Comparison) -> None:
    if not summed:
        st.info("No file here holds this quantity. Choose another one above.")
        return
    for column, row in zip(st.columns(len(summed)), summed, strict=True):
        entry = ESTIMATORS[row["estimator"]]
        worst = row["worst_error_pct"]
        with column.container(border=True, height="stretch"):
            number(
                f":{entry.accent}[**{entry.short}**]" + comparison.mark(found.rows, entry.name),
                shown.percent(row["mape_pct"]),
                _beside(row) or (f"worst {worst:+.1f} %" if worst is not None else _absent(entry.simulated)),
                f"MAPE: mean of the absolute errors over {row['values']} of {row['of']} kernels. {entry.about}",
            )


def _beside(row: dict[str, Any]) -> str:
    """A pinned baseline's mean error, where it has one."""
    then = row.get("baseline_mape_pct")
    return f"baseline {shown.percent(then)}" if then is not None else ""


def _absent(simulated: bool) -> str:
    return "not simulated" if simulated else "no such quantity"


def _tables(found: Comparison, names: list[str], key: str) -> None:
    st.subheader(f"{TITLES[key]}, kernel by kernel", divider="gray")
    table = shown.errors(found, key, names)
    if len(table):
        st.dataframe(
            table.style.format(shown.errors_format(table), na_rep="–"),
            hide_index=True,
            placeholder="–",
            height=min(38 + 35 * len(table), 388),
            column_config={"Kernel": st.column_config.TextColumn(pinned=True, width=410)},
            key="measured_errors",
        )
    if comparison.mark(found.rows, "sim-fa"):
        st.caption(f"{comparison.OUTSIDE} of the cycle simulation: the Validation page says what it covers.")
    st.markdown("**Errors by quantity and estimator**: (estimated - measured) / measured")
    summed = shown.summary(comparison.summary(found.rows))
    st.dataframe(
        summed.style.format(shown.SUMMARY_FORMAT), hide_index=True, key="measured_summary", height="content"
    )
    if found.left_out:
        with st.expander(f"Not compared: {len(found.left_out)}, each with the reason"):
            st.dataframe(shown.not_compared(found.left_out), hide_index=True)
            with st.container(horizontal=True):
                downloads("measured_not_compared", shown.not_compared(found.left_out).to_dict("records"))


def _explain(mine: Desk, found: Comparison, cases: list[Case], key: str, clock: bool) -> None:
    st.subheader("What dominates one difference", divider="gray")
    compared = {row["case"] for row in found.rows}
    by_id = {case.id: case for case in cases if case.id in compared}
    labels = {name: case.label for name, case in by_id.items()}
    case = by_id[pick(mine, "Kernel", labels, comparison.worst(found.of(key)))]
    st.markdown(_bullets([*reading.of_case(case, clock), *against.of_case(found, case.id, key)]))
    sources = [("Latency", case.latency_us), ("L2", case.l2_bytes), ("DRAM", case.dram_bytes)]
    st.caption(markdown(" · ".join(f"{word}: {value.source}" for word, value in sources)))
    if case.reasons:
        st.caption(markdown("Workload: " + "; ".join(case.reasons)))


def _traffic(mine: Desk, cases: list[Case], pinned: list[Case], clock: bool) -> None:
    families = curves.families(cases, clock)
    if not families:
        return
    st.subheader("Traffic against length", divider="gray")
    by_id = {family.cases[0].id: family for family in families}
    family = by_id[pick(mine, "Workload", {name: family.title for name, family in by_id.items()})]
    axis = "Sequence length L = S (tokens)" if family.sweeps_query else "K/V length S (tokens)"
    then = {base.cases[0].id: base for base in curves.families(pinned, clock)}.get(family.cases[0].id)
    chart = measured_traffic.figure(
        curves.curve(family),
        curves.points(family),
        curves.boundary(family),
        curves.headline(family),
        axis,
        _ink(),
        curves.curve(then) if then else None,
    )
    st.plotly_chart(chart, key="measured_traffic", config=style.TOOLBAR)


def _downloads(mine: Desk, found: Comparison, cases: list[Case], names: list[str], key: str, clock: bool) -> None:
    st.subheader("Take it along", divider="gray")
    record = recording.make(cases, names, clock, mine.answers)
    what = shown.quantity(key)
    summed = comparison.summary(found.rows)
    marks = _marks(names, found)

    def chart() -> str:
        title = parity.title(summed, marks, key)
        made = parity.figure(found.of(key), marks, what.title, what.unit, what.scale, title)
        return str(made.to_html(include_plotlyjs=True))

    with st.container(horizontal=True):
        downloads("measured_errors", found.rows, "Errors")
        downloads("measured_summary", summed, "Summary")
        for label, data, name, mime in (
            ("Figure as HTML", chart, "measured_parity.html", "text/html"),
            ("Full record as JSON", lambda: recording.to_json(record), "measured_record.json", "application/json"),
        ):
            browser_download.download(label, data, name, mime, key=name)
    st.caption(
        "The record brings this page back: upload it, or give it to the command line. Figures have a PNG button."
    )


def _take_along(mine: Desk, found: Comparison, cases: list[Case], names: list[str], key: str, clock: bool) -> None:
    own = mine.has_files()
    take_along(
        "measured",
        "measured",
        report.subject(found, names, own),
        lambda link: report.make(found, cases, names, key, clock, link, own),
        note="It holds the tables of your files, since you ask for it; the link in it does not." if own else "",
    )


def _ink() -> str:
    """Measured things are black, or white on a dark page."""
    return "#FFFFFF" if st.context.theme.type == "dark" else "#000000"


page()
url.publish(DEFAULTS)
