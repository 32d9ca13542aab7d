"""At the end of a page with an answer: its report as one file, and what to cite."""

from collections.abc import Callable, Mapping
from urllib.parse import urlencode

import streamlit as st

from dashboard import citation
from dashboard.report import render
from dashboard.report.document import Link, Report
from dashboard.widgets import browser_download, url
from dashboard.widgets.experiment import DEFAULTS

_WHAT = f"One HTML file ({render.size_note()}) with figures, tables, parameters, versions and the link."


def take_along(
    page: str,
    name: str,
    subject: str,
    make: Callable[[Link], Report],
    own: Mapping[str, url.Value] | None = None,
    note: str = "",
) -> None:
    """The report button and the citation line of a page.

    `page` is its path, `name` the file's without ending, `subject` what the citation says was computed; `make` is
    called when the button is pressed, with the page's state as a link; `own` is what the page adds to the URL.
    """
    link = here(page, own)
    st.markdown("##### Report and citation")
    with st.container(horizontal=True, vertical_alignment="center"):
        browser_download.download(
            "Download the report",
            lambda: render.html(make(link)),
            f"{name}.html",
            "text/html",
            key=f"report-{page or 'compare'}",
        )
        st.caption(f"{_WHAT} It opens without a network. {note}".strip())
    st.code(citation.line(subject), language=None, wrap_lines=True)
    with st.expander("BibTeX"):
        st.code(citation.bibtex(subject), language=None, wrap_lines=True)


def here(page: str, own: Mapping[str, url.Value] | None = None) -> Link:
    """The page's state with the address that the browser opened it by."""
    return Link(page, urlencode(url.current(DEFAULTS, own)), _address(page))


def _address(page: str) -> str:
    """The server's address without the page's path; empty where nothing is known of it."""
    opened = st.context.url or ""
    return opened.rstrip("/").removesuffix(f"/{page}" if page else "").rstrip("/")
