"""Controls of the Timeline page: which SM, what to lay beside it, what is aligned, which cycles are shown."""

from typing import Any, NamedTuple

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dashboard import align, what_if
from dashboard.plain import brief
from dashboard.recipe import LARGEST
from dashboard.widgets import baseline, url
from dashboard.widgets.experiment import VIEWS, start
from dashboard.widgets.whole import whole_number
from dashboard.window import Window
from presets.errors import PresetError
from presets.experiment import Experiment

_VIEW, _VISIBLE, _PAGED = "timeline_drawn_view", "timeline_visible", "timeline_paged"
_OPENED, _FIRST, _BOX = "timeline_opened", "timeline_first_view", "timeline_box"
_MOVED, _RESET, _REDRAWN, _WHOLE = "timeline_moved", "timeline_reset", "timeline_redrawn", "timeline_whole"
_KEPT: dict[str, Any] = {"persist_state": "session"}


class Choice(NamedTuple):
    """What the controls say: an SM, a second run (None: none), the place at cycle zero.

    `to_baseline`: the second run is the pinned one, and differences are the first run's to it.
    """

    sm: int
    second: Experiment | None
    second_name: str
    to_baseline: bool
    place: str
    nth_cta: int
    nth_tile: int


def choice(experiment: Experiment) -> tuple[Choice, DeltaGenerator]:
    """One row of controls and its end, for more; a second run that cannot be read is answered in one sentence."""
    row = st.container(horizontal=True, vertical_alignment="bottom")
    with row:
        sms = experiment.gpu.sm.count
        _note_sm(sms, experiment.gpu.title)
        sm = whole_number(
            "SM",
            0,
            sms - 1,
            min(int(start("sm")), sms - 1),
            key="sm",
            width=110,
            help=f"{experiment.gpu.title} has SMs 0 to {sms - 1}. Another SM is another run of the simulator.",
            **_KEPT,
        )
        text = st.text_input(
            "Second run: what if",
            start("second"),
            key="second",
            width=240,
            placeholder=what_if.EXAMPLE,
            help="KEY=VALUE, several separated by blanks, as --set on the command line. Empty: the pinned "
            "baseline, or one run only.",
            **_KEPT,
        )
        place, nth_cta, nth_tile = _alignment()
    name, pinned = " ".join((text or "").split()), baseline.pinned()
    to_baseline = not name and pinned is not None and pinned.experiment != experiment
    try:
        second = pinned.experiment if pinned and to_baseline else what_if.changed(experiment, name)
    except PresetError as error:
        st.error(f"No second run: {brief(error)}")
        second = None
    second_name = "Baseline" if to_baseline else name
    return Choice(sm, second, second_name, to_baseline, place, nth_cta, nth_tile), row


def _note_sm(sms: int, gpu: str) -> None:
    """Say once that the URL's SM is none of this GPU; the last one is shown in its place."""
    if start("sm") >= sms and "sm" not in st.session_state:
        url.missed(f"sm: {start('sm')} is shown as {sms - 1}: {gpu} has SMs 0 to {sms - 1}")


def _alignment() -> tuple[str, int, int]:
    places = list(align.PLACES)
    index = places.index(start("align")) if start("align") in places else 0
    place = st.selectbox(
        "Cycle zero at",
        places,
        index,
        key="align",
        width=190,
        format_func=align.PLACES.__getitem__,
        help="Two runs are drawn on one scale, each with this place at cycle zero.",
        **_KEPT,
    )
    nth_cta = nth_tile = 1
    if place != align.START:
        nth_cta = _nth("CTA", "nth_cta")
    if place == align.TILE:
        nth_tile = _nth("K/V tile", "nth_tile")
    return str(place), nth_cta, nth_tile


def _nth(label: str, key: str) -> int:
    return whole_number(label, 1, LARGEST[key], int(start(key)), key=key, width=100, **_KEPT)


def view() -> tuple[float | None, int]:
    """The part of the run to show (None: all of it), and how often somebody has asked for one."""
    if "timeline_views" not in st.session_state:
        st.session_state["timeline_views"] = 0

    def asked() -> None:
        st.session_state["timeline_views"] += 1

    chosen = st.segmented_control(
        "Show",
        list(VIEWS),
        default=start("timeline_view"),
        required=True,
        key="timeline_view",
        on_change=asked,
        label_visibility="collapsed",
        **_KEPT,
    )
    return VIEWS[chosen or "Start"], int(st.session_state["timeline_views"])


def pager() -> None:
    """Buttons, and Shift with an arrow key, that move the visible window."""
    for label, key, pages in (("Earlier", "Shift+Left", -1), ("Later", "Shift+Right", 1)):
        st.button(label, key=f"timeline_{label.lower()}", shortcut=key, on_click=_page, args=(pages,))


def _page(pages: int) -> None:
    before = st.session_state.get(_VIEW)
    if before is not None:
        whole: Window = st.session_state[_WHOLE]
        st.session_state[_PAGED] = st.session_state.get(_VISIBLE, before[2]).paged(pages).within(whole)
        st.session_state[_REDRAWN] = True


def kept_view(revision: str, drawn: object, first_view: Window, whole: Window, stale: bool = False) -> Window:
    """The cycles to draw: `first_view` of a new `revision`, else what was visible when `drawn` last changed.

    `whole` is the run, or all runs together: Earlier and Later stay within it.

    A window that the URL names is shown in place of the first view of the first run that is not `stale`.

    Streamlit puts a new figure in place of one whose data changed, and zoom with it. So a figure with other data
    starts where its predecessor was looking, and one with the same data is not touched.
    """
    before, paged = st.session_state.get(_VIEW), st.session_state.pop(_PAGED, None)
    if paged is not None:
        kept = st.session_state[_VISIBLE] = paged
    elif before is None or before[0] != revision:
        st.session_state.pop(_VISIBLE, None)
        kept = first_view if stale else _linked("window", once=True) or first_view
    else:
        kept = before[2] if before[1] == drawn else st.session_state.get(_VISIBLE, before[2])
    st.session_state[_VIEW] = (revision, drawn, kept)
    st.session_state[_FIRST] = first_view
    st.session_state[_WHOLE] = whole._replace(start_cycle=min(first_view.start_cycle, whole.start_cycle))
    return kept


def moved() -> None:
    """Note that somebody has zoomed or panned."""
    st.session_state[_MOVED] = True


def was_moved() -> bool:
    """Whether somebody has since this was last asked."""
    return bool(st.session_state.pop(_MOVED, False))


def draw_there(window: Window) -> None:
    """Draw the figure anew for a window: with all spans of it, of a run too long to be drawn whole."""
    st.session_state[_PAGED], st.session_state[_REDRAWN] = window, True
    st.rerun()


def was_reset() -> None:
    """Note that somebody has double-clicked the figure."""
    st.session_state[_RESET] = True


def start_again() -> None:
    """After a double-click: back to the view asked for, where the figure has since been drawn for another."""
    if st.session_state.pop(_RESET, False) and st.session_state.pop(_REDRAWN, False):
        del st.session_state[_VIEW]
        st.session_state.pop(_VISIBLE, None)
        st.rerun()


def remember_visible(window: Window) -> None:
    """Keep what the browser shows, for the next figure."""
    st.session_state[_VISIBLE] = window


def linked_box() -> Window | None:
    """The selected window that the URL named, until somebody selects or deselects in the figure."""
    return _linked("box")


def selecting() -> None:
    """Somebody selected or deselected in the figure: what the URL said is over."""
    _opened()["box"] = ""


def remember_box(box: Window | None) -> None:
    """Keep the selected window for the URL."""
    st.session_state[_BOX] = box


def published() -> dict[str, str]:
    """The page's own part of the URL: the visible window where it is not the first view, and the selected one."""
    first, visible = st.session_state.get(_FIRST), st.session_state.get(_VISIBLE)
    shown = visible or (st.session_state[_VIEW][2] if _VIEW in st.session_state else None)
    moved = shown is not None and first is not None and shown.text() != first.text()
    found = {"window": shown if moved else None, "box": st.session_state.get(_BOX)}
    return {key: window.text() for key, window in found.items() if window is not None} | _waiting()


def _waiting() -> dict[str, str]:
    """A window of the URL that no run has been drawn for yet."""
    return {key: text for key, text in _opened().items() if key == "window" and text}


def _linked(key: str, once: bool = False) -> Window | None:
    opened = _opened()
    found = Window.parse(opened[key])
    if once:
        opened[key] = ""
    return found


def _opened() -> dict[str, str]:
    """The page's own part of the URL as it was opened."""
    if _OPENED not in st.session_state:
        given = {key: st.query_params.get(key, "") for key in ("window", "box")}
        for key, text in given.items():
            if text and Window.parse(text) is None:
                url.missed(f"{key}: '{text[:40]}' is no range of cycles, written as 0..20000")
                given[key] = ""
        st.session_state[_OPENED] = given
    kept: dict[str, str] = st.session_state[_OPENED]
    return kept
