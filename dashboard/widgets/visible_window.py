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
  let reported = null, seen = null;
  const find = () => document.querySelector('.st-key-' + data.figure + ' .js-plotly-plot');
  const report = (range) => {
    const now = range[0] + ' ' + range[1];
    if (now === reported) return;
    reported = seen = now;
    setStateValue('range', [Number(range[0]), Number(range[1])]);
  };
  const rangeOf = (plot) => plot && plot.layout && plot.layout.xaxis && plot.layout.xaxis.range;
  const watch = (plot) => {
    plot.simfaWatched = true;
    plot.tabIndex = 0;
    plot.setAttribute('role', 'application');
    plot.setAttribute('aria-label', data.label);
    plot.on('plotly_doubleclick', () => { setTriggerValue('reset', true); });
    plot.on('plotly_relayout', () => { const range = rangeOf(plot); if (range) report(range); });
  };
  const timer = setInterval(() => {
    const plot = find(), range = rangeOf(plot);
    if (!range) return;
    if (plot.on && !plot.simfaWatched) watch(plot);
    const now = range[0] + ' ' + range[1];
    if (now === seen) report(range);
    seen = now;
  }, 150);
  const pan = (plot, share) => {  // as a person does: dragging with Shift held pans a figure whose drags zoom
    const panel = plot.querySelector('.nsewdrag'), box = panel.getBoundingClientRect();
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
    if (!plot || !free || !plain || !(event.key in shares)) return;
    event.preventDefault();
    pan(plot, shares[event.key]);
  };
  document.addEventListener('keydown', pressed);
  return () => { clearInterval(timer); document.removeEventListener('keydown', pressed); };
}
"""
_LABEL = "Timeline. Left and right arrow keys pan it by a quarter; with Shift by nearly all of what is shown."
_component = st.components.v2.component("simfa_visible_window", js=_SCRIPT)


def visible_window(figure: str, otherwise: Window, moved: Callable[[], None], reset: Callable[[], None]) -> Window:
    """The range of the x axis of the figure with key `figure`, or `otherwise` until the browser has told it.

    `moved` is called when the browser tells another one, `reset` when somebody has double-clicked the figure.
    """
    found = _component(
        key=f"{figure}_window",
        data={"figure": figure, "label": _LABEL},
        default={"range": None},
        on_range_change=moved,
        on_reset_change=reset,
    )
    return _checked(found.get("range"), otherwise)


def _checked(given: object, otherwise: Window) -> Window:
    """A browser's word, if it is a range of finite numbers."""
    if not (isinstance(given, list) and len(given) == 2 and all(isinstance(x, int | float) for x in given)):
        return otherwise
    low, high = map(float, given)
    return Window(low, high) if math.isfinite(low) and math.isfinite(high) and low < high else otherwise
