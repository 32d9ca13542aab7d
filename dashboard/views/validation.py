"""Validation: is it true? A view for each figure and table of the paper, then the public measurements."""

import streamlit as st

from dashboard.figures import style
from dashboard.figures.style import INK
from dashboard.plain import markdown
from dashboard.report import validation as report
from dashboard.validation.catalog import OVERVIEW
from dashboard.validation.view import Answer, NotStored, View
from dashboard.widgets import url
from dashboard.widgets.downloads import downloads
from dashboard.widgets.experiment import DEFAULTS, unseen
from dashboard.widgets.take_along import take_along
from dashboard.widgets.validation import chosen, published
from simfa import coverage

TABLE_PX, ROW_PX, HEAD_PX = 440, 30, 36
FEW_COLUMNS = 4


def page() -> View:
    with st.container(gap="small"):
        view = chosen()
        try:
            answer = view.build("#FFFFFF" if st.context.theme.type == "dark" else "#000000")
        except NotStored as reason:
            st.markdown(f"**{view.label}: {view.about}**")
            st.info(str(reason))
            return view
        _show(view, answer)
    take_along(
        "validation",
        "validation",
        report.subject(view),
        lambda link: report.make([(view, view.build(INK))], link),
        published(view),
    )
    return view


def _show(view: View, answer: Answer) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"##### {markdown(answer.title)}", width="stretch")
        with st.popover("Download the data"):
            downloads(f"validation_{view.name}", answer.rows)
    said = f"{view.label}: {markdown(view.about)}"
    st.caption(f"{said}. :orange[{markdown(answer.stale)}]" if answer.stale else said)
    if answer.chart is None:
        _table(view, answer)
        _words(view, answer)
    elif answer.wide:
        _chart(view, answer)
        _words(view, answer)
        _table(view, answer)
    else:
        left, right = st.columns([1, 1] if len(answer.table.columns) > FEW_COLUMNS else [5, 4], gap="medium")
        with left:
            _chart(view, answer)
        with right:
            _table(view, answer)
        _words(view, answer)


def _chart(view: View, answer: Answer) -> None:
    st.plotly_chart(answer.chart, key=f"chart-{view.name}", config=style.TOOLBAR)


def _table(view: View, answer: Answer) -> None:
    table = answer.table
    st.dataframe(
        table.style.format(dict(answer.formats), na_rep="–"),
        hide_index=True,
        height="content" if HEAD_PX + ROW_PX * len(table) <= TABLE_PX else TABLE_PX,
        row_height=ROW_PX,
        placeholder="–",
        key=f"table-{view.name}",
    )


def _words(view: View, answer: Answer) -> None:
    sentences = [*answer.said, f"Reference: {answer.source}. Fitted: {answer.fitted}."]
    if view is OVERVIEW:
        experiment = unseen()
        if experiment is not None:
            sentences.append(
                f"The other pages' experiment ({experiment.words()}): {coverage.standing(experiment)}."
            )
    st.caption("  \n".join(map(markdown, sentences)))


shown = page()
url.publish(DEFAULTS, published(shown))
