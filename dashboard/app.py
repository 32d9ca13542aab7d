"""The Streamlit app: `streamlit run dashboard/app.py` or `python -m dashboard`."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:  # streamlit puts only this file's folder on the path
    sys.path.insert(0, str(ROOT))

import streamlit as st  # noqa: E402

from dashboard import settings, state  # noqa: E402
from dashboard.widgets import baseline, experiment, history, url  # noqa: E402

# Streamlit's captions and chart labels are lighter than AA allows (3.7:1 on white); `currentColor` is the theme's.
LOOK = """
.stMainBlockContainer { padding: 4rem 2.5rem 2rem; }
[data-testid=stCaptionContainer] { color: inherit; opacity: 0.82; }
:is(a, button, canvas, .js-plotly-plot):focus-visible { outline: 2px solid currentColor; outline-offset: 1px; }
.stButton kbd { color: inherit; opacity: 0.82; }
.js-plotly-plot :is([class$=tick] text, [class*=title] text, .legendtext, .annotation-text, .bartext-outside) {
  fill: currentColor !important; fill-opacity: 0.82;
}
"""
st.set_page_config(page_title="Sim-FA", layout="wide", initial_sidebar_state="expanded")
st.html(f"<style>{LOOK}</style>")
for problem in (problems := settings.problems()):
    st.error(f"This server is not set up: {problem}")
if problems:
    st.stop()
state.board()  # starts the worker processes while the first page is drawn
# Not a folder called pages/: Streamlit would serve that one by itself, past this file.
PAGES = [
    st.Page("views/compare.py", title="Compare", default=True),
    st.Page("views/regimes.py", title="Regimes"),
    st.Page("views/timeline.py", title="Timeline"),
    st.Page("views/sweep.py", title="Sweep"),
    st.Page("views/measured.py", title="Measured"),
    st.Page("views/validation.py", title="Validation"),
    st.Page("views/presets.py", title="Presets"),
    st.Page("views/tour.py", title="Tour"),
]
experiment.opened()
page = st.navigation(PAGES, position="top")
baseline.banner(sweeps=page.title != "Sweep")
notices = st.container()  # always there, so that nothing below is drawn anew when they come or go
page.run()
with notices:
    url.notice()  # pages find more of it
history.one_step_a_page()
