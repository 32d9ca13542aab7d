"""The state of one channel, and the issue of a command: timing, counters and, where it is kept, the trace."""

from typing import NamedTuple

import numpy as np

from simfa.engine.jit import inlined_kernel
from simfa.memory.channel import queues as store
from simfa.memory.channel import timing as constraints
from simfa.memory.channel.commands import COMMANDS, PREA
from simfa.memory.channel.queues import FAR, NONE, Queues
from simfa.memory.channel.timing import Timing

CONTROL = np.dtype(
    [
        ("drain_above", np.int64),
        ("drain_below", np.int64),
        ("read_ticks", np.int64),  # from RD to the end of its data
        ("refresh_ticks", np.int64),  # between refreshes; 0: none
        ("refresh_at", np.int64),
        ("refreshes_waiting", np.int64),
        ("refreshes_done", np.int64),
        ("mode", np.int64),  # the queue being served
        ("resized", np.int64),  # a queue has changed since the mode was chosen
        ("column_wake", np.int64),
        ("row_wake", np.int64),
        ("data_until", np.int64),  # read data leave in the order of their commands
        ("served", np.int64),  # slot of the entry whose column command issued at this tick, or NONE
        ("commands", np.int64),
        ("forwarded", np.int64),  # reads answered from the write queue
        ("merged", np.int64),  # writes into a write that waits there
    ]
)
TRACE = np.dtype(
    [("tick", np.int64), ("command", np.int64), ("unit", np.int64), ("bank", np.int64), ("row", np.int64)]
)


class Channel(NamedTuple):
    """Timing, queues, one CONTROL record, command counters and an optional command trace (empty: not kept)."""

    timing: Timing
    queues: Queues
    control: np.ndarray
    issued: np.ndarray  # [command]
    trace: np.ndarray


def make_channel(
    timing: Timing, queues: Queues, drain: tuple[int, int], read_ticks: int, refresh_ticks: int, trace: int = 0
) -> Channel:
    """An idle channel; `drain` is (start above, stop below) in entries, `trace` how many commands to keep."""
    control = np.zeros(1, CONTROL)
    control["drain_above"], control["drain_below"] = drain
    control["read_ticks"], control["refresh_ticks"] = read_ticks, refresh_ticks
    control["refresh_at"] = refresh_ticks or FAR
    control["column_wake"] = FAR
    control["row_wake"] = control["resized"] = 1  # the first tick chooses a queue, even among empty ones
    control["served"] = NONE
    return Channel(timing, queues, control, np.zeros(len(COMMANDS), np.int64), np.zeros(trace, TRACE))


@inlined_kernel
def issue(channel, command, bank, row, now):
    """A command to one bank."""
    constraints.issue(channel.timing, command, bank, row, now)
    _record(channel, command, channel.timing.unit_of[bank], bank, row, now)


@inlined_kernel
def issue_all(channel, command, number, now):
    """PREA or REFA to a pseudo-channel; a closed bank's entries all miss."""
    constraints.issue_all(channel.timing, command, number, now)
    unit = channel.timing.units[number]
    if command == PREA:
        for bank in range(unit["first"], unit["end"]):
            store.reclassify(channel.queues, bank, constraints.CLOSED)
    _record(channel, command, number, NONE, NONE, now)


@inlined_kernel
def _record(channel, command, number, bank, row, now):
    """Count the command, and keep it while the trace has room."""
    control = channel.control[0]
    channel.issued[command] += 1
    if control["commands"] < channel.trace.shape[0]:
        line = channel.trace[control["commands"]]
        line["tick"], line["command"], line["unit"], line["bank"], line["row"] = now, command, number, bank, row
    control["commands"] += 1
