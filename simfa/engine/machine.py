"""The whole machine's state in one tuple, as the main loop takes it."""

from typing import NamedTuple

import numpy as np

from simfa.engine import dispatch, events, probe, threads, tma
from simfa.memory import path
from simfa.memory.bounded.state import Bounded


class Machine(NamedTuple):
    """Every component's arrays, the encoded programs, and the size of the WGMMA issue buffer."""

    grid: dispatch.Grid
    state: threads.Threads
    engines: tma.Tma
    memory: path.Memory | Bounded
    queue: events.EventQueue
    observer: probe.Probe
    code: np.ndarray
    issue_buffer_entries: int


def event_capacity(
    sms: int, threads_per_sm: int, inflight_lines: int, issue_buffer_entries: int, releases: int = 0
) -> int:
    """The most events that can be pending: a line, WGMMA or wake-up each, and an SM's own few.

    A WGMMA also frees the pipe for others, a thread's phase may be looked at again after each change of speeds, and
    `releases` is how many releases of an SM can be on their way to other CTAs of its clusters.
    """
    return sms * (inflight_lines + 2 * issue_buffer_entries + 5 * threads_per_sm + releases + 8)
