"""What happened on an SM between two cycles: utilisation of its units, and what its warpgroups did and waited for.

Spans are clipped to the window; shares are of the window's length. A queue's mean is over time, its buckets clipped
likewise.
"""

import re
from typing import NamedTuple

import pandas as pd

WARPGROUPS = ("producer", "consumer", "thread")
_PAGE = 0.8
REST = "issuing, or between CTAs"


class Window(NamedTuple):
    """A range of cycles of a run."""

    start_cycle: float
    end_cycle: float

    @property
    def cycles(self) -> float:
        """Its length."""
        return self.end_cycle - self.start_cycle

    def text(self) -> str:
        """As it stands in a URL: whole cycles."""
        return f"{self.start_cycle:.0f}..{self.end_cycle:.0f}"

    @classmethod
    def parse(cls, text: str) -> "Window | None":
        """The window of a URL; None where it is none."""
        found = re.fullmatch(r"(-?[0-9]{1,12})\.\.(-?[0-9]{1,12})", text)
        window = cls(*map(float, found.groups())) if found else None
        return window if window is not None and window.start_cycle < window.end_cycle else None

    def paged(self, pages: int) -> "Window":
        """The window `pages` further on (back, if negative), a fifth of it still in view."""
        return self.moved(_PAGE * pages * self.cycles)

    def within(self, whole: "Window") -> "Window":
        """The same length of time, moved to where it shows nothing beside the `whole`, or else most of it."""
        low, high = sorted((whole.start_cycle, whole.end_cycle - self.cycles))
        return self.moved(min(max(self.start_cycle, low), high) - self.start_cycle)

    def moved(self, by_cycles: float) -> "Window":
        """The same length of time, `by_cycles` later."""
        return Window(self.start_cycle + by_cycles, self.end_cycle + by_cycles)


class Use(NamedTuple):
    """Of one window: shares of its time, and mean levels of queues."""

    tensor_core: float
    mufu: float  # of all consumers together: above 1 they ask for more than one MUFU gives
    producer_waiting: float
    consumers_waiting: float
    tma_lines: float
    l2_backlog_cycles: float
    dram_backlog_cycles: float


def shares(spans: pd.DataFrame, window: Window) -> pd.DataFrame:
    """Share of the window by activity (index) and row (columns); warpgroups add up to 1 with what is left over."""
    inside = spans["end_cycle"].clip(upper=window.end_cycle) - spans["start_cycle"].clip(lower=window.start_cycle)
    clipped = spans.assign(cycles=inside.astype(float))[inside > 0]
    table = clipped.pivot_table(
        index="activity", columns="row", values="cycles", aggfunc="sum", observed=True, fill_value=0.0
    )
    return table / window.cycles if window.cycles > 0 else table * 0.0


def warpgroups(spans: pd.DataFrame, window: Window) -> pd.DataFrame:
    """Shares of producer and consumers (columns): what they did and waited for, most first, then the rest."""
    table = shares(spans, window)
    mine = [row for row in spans["row"].unique() if row.startswith(WARPGROUPS)]
    found = table.reindex(columns=sorted(mine, key=_role), fill_value=0.0)
    found = found[(found > 0).any(axis=1)]
    found = found.loc[found.sum(axis=1).sort_values(ascending=False).index]
    found.loc[REST] = 1 - found.sum()
    return found


def use(spans: pd.DataFrame, occupancy: pd.DataFrame, window: Window) -> Use:
    """Utilisation of the SM's units and levels of the queues in the window."""
    table = shares(spans, window)
    waits = table[table.index.map(lambda name: name.startswith("wait"))]
    by_row = table.sum()

    def total(start: str, of: pd.Series) -> float:
        return float(of[[name for name in of.index if name.startswith(start)]].sum())

    consumers = sum(str(row).startswith("consumer") for row in spans["row"].unique())
    return Use(
        tensor_core=total("tensor core", by_row),
        mufu=total("MUFU", by_row),
        producer_waiting=total("producer", waits.sum()),
        consumers_waiting=total("consumer", waits.sum()) / max(consumers, 1),
        tma_lines=level(occupancy, "sm_tma_lines", window),
        l2_backlog_cycles=level(occupancy, "l2_backlog_cycles", window),
        dram_backlog_cycles=level(occupancy, "dram_backlog_cycles", window),
    )


def level(occupancy: pd.DataFrame, column: str, window: Window) -> float:
    """Mean level over the part of the window in which the run lasted; 0 where they do not meet."""
    ends, starts = occupancy["end_cycle"], occupancy["start_cycle"]
    cycles = (ends.clip(upper=window.end_cycle) - starts.clip(lower=window.start_cycle)).clip(lower=0)
    return float((occupancy[column] * cycles).sum() / cycles.sum()) if cycles.sum() > 0 else 0.0


def _role(row: str) -> tuple[bool, str]:
    return not row.startswith("producer"), row
