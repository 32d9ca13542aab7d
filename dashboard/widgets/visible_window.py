"""The cycles that a figure shows at the moment: what a person has zoomed and panned to in the browser.

Streamlit tells a page of selections in a figure but not of its zoom. This component reads the figure's public axis
range a few times a second and reports a range that has come to rest.
"""

import math
from collections.abc import Callable

import streamlit as st

from dashboard.window import Window

_SCRIPT = """
export default function (component) {
  const { data, setStateValue, setTriggerValue } = component;
  let reported = null, seen = null;
  const timer = setInterval(() => {
    const plot = document.querySelector('.st-key-' + data.figure + ' .js-plotly-plot');
    const range = plot && plot.layout && plot.layout.xaxis && plot.layout.xaxis.range;
    if (!range) return;
    if (plot.on && !plot.simfaWatched) {
      plot.simfaWatched = true;
      plot.on('plotly_doubleclick', () => { setTriggerValue('reset', true); });
    }
    const now = range[0] + ' ' + range[1];
    if (now === seen && now !== reported) {
      reported = now;
      setStateValue('range', [Number(range[0]), Number(range[1])]);
    }
    seen = now;
  }, 150);
  return () => clearInterval(timer);
}
"""
_component = st.components.v2.component("simfa_visible_window", js=_SCRIPT)


def visible_window(figure: str, otherwise: Window, moved: Callable[[], None], reset: Callable[[], None]) -> Window:
    """The range of the x axis of the figure with key `figure`, or `otherwise` until the browser has told it.

    `moved` is called when the browser tells another one, `reset` when somebody has double-clicked the figure.
    """
    found = _component(
        key=f"{figure}_window",
        data={"figure": figure},
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
