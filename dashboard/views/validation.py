"""Validation: is it true? A view for each figure and table of the paper, then the public measurements."""

import streamlit as st

from dashboard import recipe
from dashboard.catalog import ESTIMATORS
from dashboard.figures import style
from dashboard.plain import markdown
from dashboard.validation.view import Answer, NotStored, View
from dashboard.widgets import url
from dashboard.widgets.downloads import downloads
from dashboard.widgets.experiment import DEFAULTS
from dashboard.widgets.validation import chosen, published

TABLE_PX = 400


def page() -> View:
    url.initial(DEFAULTS, recipe.choices() | {"reference": list(ESTIMATORS)})
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        st.markdown("#### Is it true?", width="content")
        view = chosen()
    try:
        _show(view, view.build("#FFFFFF" if st.context.theme.type == "dark" else "#000000"))
    except NotStored as reason:
        st.info(str(reason))
    return view


def _show(view: View, answer: Answer) -> None:
    st.markdown(f"**{markdown(answer.title)}**  \n:small[{view.label}: {markdown(view.about)}]")
    if answer.stale:
        st.warning(answer.stale)
    if answer.chart is not None and not answer.wide:
        left, right = st.columns([3, 2], gap="medium")
        with left:
            st.plotly_chart(answer.chart, key=f"chart-{view.name}", config=style.TOOLBAR)
        with right:
            _table(view, answer)
    else:
        if answer.chart is not None:
            st.plotly_chart(answer.chart, key=f"chart-{view.name}", config=style.TOOLBAR)
        _table(view, answer)
    _words(answer)
    with st.container(horizontal=True):
        downloads(f"validation_{view.name}", answer.rows)


def _table(view: View, answer: Answer) -> None:
    table = answer.table
    st.dataframe(
        table.style.format(dict(answer.formats), na_rep="–"),
        hide_index=True,
        height=min(38 + 35 * len(table), TABLE_PX),
        placeholder="–",
        key=f"table-{view.name}",
    )


def _words(answer: Answer) -> None:
    for sentence in answer.said:
        st.caption(markdown(sentence))
    st.caption(markdown(f"Reference: {answer.source}. Fitted: {answer.fitted}."))


shown = page()
url.publish(DEFAULTS, published(shown))
