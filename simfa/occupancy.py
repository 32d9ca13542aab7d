"""How full the queues were over time, as columns: a row per bucket of cycles, a mean and a largest level per gauge.

Means are over time (regular samples of `simfa.engine.gauges`); a gauge of all units of a kind is also a mean over
them, and its largest level that of the fullest unit. A backlog is the reservation of a slice or channel beyond the
cycle of the sample.
"""

from typing import NamedTuple

import numpy as np

from simfa.columns import Columns
from simfa.engine import gauges
from simfa.engine.machine import Machine
from simfa.memory.bounded.state import Bounded


class Gauge(NamedTuple):
    """One level: its column (ends in the unit), what people call it, its unit, whether it is the observed SM's."""

    column: str
    title: str
    unit: str
    of_sm: bool
    bounded: bool = False  # only where the memory has queues


GAUGES = {
    gauges.SM_TMA_LINES: Gauge("sm_tma_lines", "TMA lines in flight", "lines", True),
    gauges.SM_TMA_OPERATIONS: Gauge("sm_tma_operations", "TMA operations queued", "operations", True),
    gauges.SM_WGMMA_BUFFER: Gauge("sm_wgmma_entries", "WGMMA issue buffer", "entries", True),
    gauges.TMA_LINES: Gauge("tma_lines", "TMA lines in flight, per SM", "lines", False),
    gauges.WGMMA_BUFFER: Gauge("wgmma_entries", "WGMMA issue buffer, per SM", "entries", False),
    gauges.L2_BACKLOG: Gauge("l2_backlog_cycles", "L2 slice backlog", "cycles", False),
    gauges.DRAM_BACKLOG: Gauge("dram_backlog_cycles", "DRAM channel backlog", "cycles", False),
    gauges.L2_QUEUED: Gauge("l2_queue_entries", "L2 request queue, per slice", "entries", False, True),
    gauges.L2_MSHRS: Gauge("l2_mshr_entries", "L2 MSHRs in use, per slice", "entries", False, True),
}


def columns(meters: gauges.Gauges | None, machine: Machine) -> Columns:
    """`start_cycle`, `end_cycle`, then `NAME` (mean) and `NAME_max` per gauge; empty where none was attached."""
    if meters is None:
        return {}
    header = meters.header[0]
    full, open_samples = int(header["buckets"]), int(header["samples"])
    count = full + (open_samples > 0)
    starts = np.arange(count, dtype=np.int64) * int(header["stride"]) * int(header["per_bucket"])
    ends = np.append(starts[1:], int(machine.queue.header[0]["now"]) + 1)[:count]
    divisor = np.ones((count, 1))
    divisor[full:] = max(open_samples, 1)
    means, peaks = meters.mean[:count] / divisor, meters.peak[:count]
    table: Columns = {"start_cycle": starts, "end_cycle": ends}
    for index, gauge in GAUGES.items():
        if gauge.bounded and not isinstance(machine.memory, Bounded):
            continue
        table[gauge.column] = means[:, index].astype(np.float32)
        table[f"{gauge.column}_max"] = peaks[:, index].astype(np.float32)
    return table
