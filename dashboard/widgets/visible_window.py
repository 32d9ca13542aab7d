"""The cycles that a figure shows at the moment: what a person has zoomed and panned to in the browser.

Streamlit tells a page of selections in a figure but not of its zoom. This component hears the figure's own events,
and reads its public axis range a few times a second besides: a figure that is put in place of another has none yet.
It also makes the figure reachable by keyboard: with nothing else in focus, or the figure itself, arrow keys pan it.
"""

import math
from collections.abc import Callable

import streamlit as st

from dashboard.window import Window

_SCRIPT = """
export default function (component) {
  const { data, setStateValue, setTriggerValue } = component;
  let reported = null, of = null, seen = null, last = null, calm = null, waiting = 0;
  // Not one that is hidden while another is put in its place.
  const find = () => [...document.querySelectorAll('.st-key-' + data.figure + ' .js-plotly-plot')]
    .find((plot) => plot.offsetWidth > 0);
  const report = (plot, range) => {
    const now = range[0] + ' ' + range[1], drawn = plot.layout.meta.window, mark = drawn[0] + ' ' + drawn[1];
    seen = now;
    if (now === (of === mark ? reported : mark)) return;  // until told otherwise, the page takes it for as drawn
    reported = now;
    of = mark;
    setStateValue('range', { shown: [Number(range[0]), Number(range[1])], drawn });
  };
  const rangeOf = (plot) => plot && plot.layout && plot.layout.xaxis && plot.layout.xaxis.range;
  const watch = (plot) => {
    plot.simfaWatched = true;
    plot.tabIndex = 0;
    plot.setAttribute('role', 'application');
    plot.setAttribute('aria-label', data.label);
    plot.on('plotly_doubleclick', () => { setTriggerValue('reset', true); });
    plot.on('plotly_relayout', () => { const range = rangeOf(plot); if (range) report(plot, range); });
  };
  const running = () => document.querySelector('[data-testid=stApp]')?.dataset.testScriptState === 'running';
  const timer = setInterval(() => {
    const plot = find(), range = rangeOf(plot);
    calm = range && plot === last && !running() ? plot : null;
    last = plot;
    if (!range) return;
    if (waiting && calm) pan();
    if (plot.on && !plot.simfaWatched) watch(plot);
    const now = range[0] + ' ' + range[1];
    if (now === seen) report(plot, range);
    seen = now;
  }, 150);
  // As a person does: dragging with Shift held pans a figure whose drags zoom. Not a figure that is still being put
  // in: Streamlit would draw it as it was before and after the pan in turns, for ever. Until then, presses add up.
  const pan = () => {
    const panel = calm.querySelector('.nsewdrag'), box = panel && panel.getBoundingClientRect();
    if (!box || !box.width) return;
    const [start, end] = rangeOf(calm).map(Number), [low, high] = calm.layout.meta.ends, width = end - start;
    const wanted = start + Math.max(-1, Math.min(1, waiting)) * width;
    const share = (Math.max(Math.min(wanted, high - width), low) - start) / width;
    waiting = 0;
    if (Math.abs(share) * box.width < 1) return;  // at an end of the run, or beyond it already
    calm = null;
    const y = box.top + box.height / 2, from = box.left + box.width / 2, to = from - share * box.width;
    const send = (target, type, x) => target.dispatchEvent(new MouseEvent(type, {
      bubbles: true, cancelable: true, view: window, clientX: x, clientY: y, button: 0, buttons: 1, shiftKey: true,
    }));
    send(panel, 'mousedown', from);
    const cover = document.querySelector('.dragcover') || document;
    send(cover, 'mousemove', to);
    send(cover, 'mouseup', to);
  };
  const shares = { ArrowLeft: -0.25, ArrowRight: 0.25 };
  const pressed = (event) => {
    const focus = document.activeElement, plot = find();
    const free = !focus || focus === document.body || (plot && plot.contains(focus));
    const plain = !(event.shiftKey || event.altKey || event.ctrlKey || event.metaKey);
    if (!free || !plain || !(event.key in shares)) return;
    event.preventDefault();
    waiting += shares[event.key];
    if (calm && calm === plot && !running()) pan();
  };
  document.addEventListener('keydown', pressed);
  return () => { clearInterval(timer); document.removeEventListener('keydown', pressed); };
}
"""
_LABEL = "Timeline. Left and right arrow keys pan it by a quarter; with Shift by nearly all of what is shown."
_component = st.components.v2.component("simfa_visible_window", js=_SCRIPT)


def visible_window(figure: str, drawn: Window, moved: Callable[[], None], reset: Callable[[], None]) -> Window:
    """The range of the x axis of the figure with key `figure`, or the one it was `drawn` with.

    `moved` is called when the browser tells another one, `reset` when somebody has double-clicked the figure. The
    browser tells it of one drawing, named by that one's window in its layout's `meta`. What it says of a drawing
    that has since been replaced is late: followed, it would replace the new one, of which the next word comes late.
    """
    found = _component(
        key=f"{figure}_window",
        data={"figure": figure, "label": _LABEL},
        default={"range": None},
        on_range_change=moved,
        on_reset_change=reset,
    )
    told = found.get("range")
    if not isinstance(told, dict) or _window(told.get("drawn")) != drawn:
        return drawn
    return _window(told.get("shown")) or drawn


def _window(given: object) -> Window | None:
    """A browser's word, if it is a range of finite numbers."""
    if not (isinstance(given, list) and len(given) == 2 and all(isinstance(x, int | float) for x in given)):
        return None
    low, high = map(float, given)
    return Window(low, high) if math.isfinite(low) and math.isfinite(high) and low < high else None
