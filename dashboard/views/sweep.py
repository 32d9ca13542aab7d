"""Sweep: one estimator over up to three parameters, and what the answers depend on most."""

import streamlit as st

from dashboard import standing
from dashboard.catalog import ESTIMATORS
from dashboard.figures import style
from dashboard.figures import sweep as figures
from dashboard.plain import markdown
from dashboard.report import sweep as report
from dashboard.sweep import analysis, headlines, plan, views
from dashboard.sweep.analysis import Metric
from dashboard.sweep.evaluate import WAITING, Row
from dashboard.widgets import baseline, url
from dashboard.widgets.downloads import downloads
from dashboard.widgets.experiment import DEFAULTS, TABS, current, heading, sidebar, start
from dashboard.widgets.sweep import Asked, chosen_views, controls, fixed_value, kept_results, rows
from dashboard.widgets.sweep_baseline import as_difference, pin_point
from dashboard.widgets.take_along import take_along

SHOWN = ("latency_us", "tflops", "dram_bytes", "l2_bytes", "tensor_core_utilization")

SHOWN_ROWS = 8
WIDTHS_PX = {"State": 88, "Why": 340}  # else States that come later are cut, and one reason takes all there is
COLUMNS = {name: st.column_config.TextColumn(width=width) for name, width in WIDTHS_PX.items()}


def page() -> None:
    experiment = sidebar()
    if experiment is None:
        return
    heading(experiment)
    asked = controls(current())
    if asked is None:
        return
    found = rows(asked)
    base = baseline.record(asked.estimator)
    if why_not := headlines.unanswered(found):
        st.caption(markdown(why_not))
    if asked.plan.mode == plan.SENSITIVITY:
        _sensitivities(asked, found, base)
    else:
        _pictures(asked, found, base)
    _table(asked, found, base)
    kept_results()
    _take_along(asked, found)


def _take_along(asked: Asked, found: list[Row]) -> None:
    pinned, (pareto, fixed) = baseline.pinned(), chosen_views(asked)
    made = asked.plan, found, asked.estimator, asked.metric, pinned
    take_along(
        "sweep",
        f"sweep_{asked.estimator}",
        report.subject(asked.plan, found, asked.estimator),
        lambda link: report.make(*made, link, pareto, fixed),
    )


def _pictures(asked: Asked, found: list[Row], base: Row | None) -> None:
    metric = as_difference(asked.metric, base, found)
    lines, heat, pareto = st.tabs(TABS, default=start("sweep_tab"), key="sweep_tab", on_change="rerun")
    with lines:
        _lines(asked, metric, found, base)
    with heat:
        _heat(asked, metric, found)
    with pareto:
        _pareto(asked, found, base)


def _lines(asked: Asked, metric: Metric, found: list[Row], base: Row | None) -> None:
    groups = views.groups(asked.plan, found, metric)
    if not groups:
        waiting = any(row["state"] == WAITING for row in found)
        st.info(
            "Nothing is simulated yet; points appear here as they come in."
            if waiting
            else "No point has an answer."
        )
        return
    height = analysis.value(base, metric) if base else None
    chart = figures.lines(
        groups,
        views.axis_title(asked.plan.axes[0].key),
        metric.label,
        headlines.lines(asked.plan, found, metric),
        height,
        views.places(asked.plan, found),
    )
    st.plotly_chart(chart, key="sweep_lines", config=style.TOOLBAR)


def _heat(asked: Asked, metric: Metric, found: list[Row]) -> None:
    axes = asked.plan.axes
    if len(axes) < 2 or asked.plan.mode != plan.GRID:
        st.info("A heat map needs a grid of two or three parameters.")
        return
    fixed = {}
    if len(axes) == 3:
        key = axes[2].key
        options = list(dict.fromkeys(row[key] for row in found))
        fixed = {key: fixed_value(key, options)}
    columns, lines, cells = views.cells(asked.plan, found, metric, axes[0], axes[1], fixed)
    titles = (axes[0].key, axes[1].key, metric.label)
    title = headlines.lines(asked.plan, [row for row in found if fixed.items() <= row.items()], metric)
    kind = figures.VALUES if metric.base is None else figures.MULTIPLES if metric.multiple else figures.PERCENT
    chart = figures.heat(columns, lines, cells, titles, title, kind)
    st.plotly_chart(chart, key="sweep_heat", config=style.TOOLBAR)


def _pareto(asked: Asked, found: list[Row], base: Row | None) -> None:
    options = [*analysis.METRICS, *headlines.numeric_axes(asked.plan, found)]
    first, second = (
        column.selectbox(
            label, options, _index(options, key), key=key, format_func=views.title, persist_state="session"
        )
        for column, label, key in zip(
            st.columns(2), ("Horizontal", "Vertical"), ("pareto_x", "pareto_y"), strict=True
        )
    )
    points, front, titles = views.pareto(asked.plan, found, str(first), str(second))
    title = headlines.pareto(len(front), len(points), len(found))
    chart = figures.pareto(points, front, titles, title, views.place(base, str(first), str(second)))
    st.plotly_chart(chart, key="sweep_pareto", config=style.TOOLBAR)


def _index(options: list[str], key: str) -> int:
    """Where a side of the Pareto view starts: as the URL says, if that is one of them."""
    return options.index(start(key) if start(key) in options else str(DEFAULTS[key]))


def _sensitivities(asked: Asked, found: list[Row], base: Row | None) -> None:
    bars, still = analysis.tornado(found, asked.metric)
    if bars:
        chart = figures.tornado(
            headlines.bars(bars),
            f"Change of {asked.metric.title.lower()} in percent",
            headlines.tornado(bars, asked.metric, asked.plan.change_pct),
            analysis.value(base, asked.metric.against(found[0])) if base else None,
        )
        st.plotly_chart(chart, key="sweep_tornado", config=style.TOOLBAR)
    elif found and found[0]["state"] == "done":
        st.info(f"None of these values moves the {asked.metric.title.lower()}.")
    if still:
        with st.expander(f"{len(still)} values without effect"):
            st.caption(", ".join(still))


def _table(asked: Asked, found: list[Row], base: Row | None) -> None:
    metrics = [analysis.METRICS[key] for key in SHOWN]
    if base is None and baseline.pinned() is not None:
        st.caption(
            f"The baseline has no answer by {ESTIMATORS[asked.estimator].title}; run it on the Compare page."
        )
    shown = views.table(asked.plan, found, metrics, base)
    event = st.dataframe(
        shown,
        hide_index=True,
        height="content" if len(found) <= SHOWN_ROWS else 320,
        column_config=COLUMNS,
        key="sweep_table",
        on_select="rerun",
        selection_mode="single-row",
    )
    if ESTIMATORS[asked.estimator].simulated:
        st.caption(standing.count(point.experiment for point in asked.plan.points))
    with st.container(horizontal=True, vertical_alignment="center"):
        pin_point(asked, found, event.selection["rows"])
        downloads(f"sweep_{asked.estimator}", found)


page()
url.publish(DEFAULTS)
