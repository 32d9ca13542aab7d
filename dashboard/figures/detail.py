"""As many spans as a screen can show: of a long run only those near the view, and short ones drawn together.

A bar costs the browser some 0.1 ms each time it redraws, in view or not. So of a run of tens of thousands of spans
those around the view are drawn; neighbours of one row and activity, narrower than two pixels, become one bar,
as dense as the share of its time that they fill.
"""

import numpy as np
import pandas as pd

FEW = 6_000  # runs of no more spans are drawn whole
PIXELS = 1_000  # of a view
_NARROW, _GAP = 2, 3  # pixels: shorter spans are joined across shorter gaps
_MARGIN = 0.5  # of the view's length, on either side, for panning
_FINER = 2  # a view this much shorter than the drawn one shows more than was drawn


def of(spans: pd.DataFrame, start_cycle: float, end_cycle: float) -> pd.DataFrame:
    """The spans to draw for a view, with the `share` of its time that each fills: 1 where it stands for itself."""
    if len(spans) <= FEW:
        return spans.assign(share=np.float32(1))
    length = end_cycle - start_cycle
    low, high = start_cycle - _MARGIN * length, end_cycle + _MARGIN * length
    near = spans[(spans["end_cycle"] >= low) & (spans["start_cycle"] <= high)]
    pixel = length / PIXELS
    narrow = (near["end_cycle"] - near["start_cycle"]) < _NARROW * pixel
    return pd.concat([near[~narrow].assign(share=np.float32(1)), _joined(near[narrow], _GAP * pixel)])


def covers(drawn: tuple[float, float], visible: tuple[float, float]) -> bool:
    """Whether what was drawn for one view suffices for another one."""
    length = drawn[1] - drawn[0]
    inside = visible[0] >= drawn[0] - _MARGIN * length and visible[1] <= drawn[1] + _MARGIN * length
    return inside and (visible[1] - visible[0]) * _FINER >= length


def _joined(spans: pd.DataFrame, gap_cycles: float) -> pd.DataFrame:
    """Spans of one row and activity with no more than `gap_cycles` between them, as one each."""
    ordered = spans.sort_values(["row", "activity", "start_cycle"], kind="stable")
    same = ordered["row"].eq(ordered["row"].shift()) & ordered["activity"].eq(ordered["activity"].shift())
    first = ~(same & (ordered["start_cycle"] <= ordered["end_cycle"].shift() + gap_cycles))
    busy = (ordered["end_cycle"] - ordered["start_cycle"]).astype(float)
    groups = first.cumsum()
    found = ordered[first].copy()
    found["end_cycle"] = ordered.groupby(groups)["end_cycle"].max().to_numpy()
    length = (found["end_cycle"] - found["start_cycle"]).clip(lower=1)
    found["share"] = (busy.groupby(groups).sum().to_numpy() / length).clip(upper=1).astype(np.float32)
    return found
