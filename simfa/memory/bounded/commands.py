"""All DRAM channels at the level of their commands, each stepped only while it has work.

A channel is that of `simfa.memory.channel`, unchanged. A line is several accesses, which enter the channel's read
or write queue together, so there is room for a line while that many entries are free. A read is done with the data
of its last access, plus a fixed time for what lies between L2 and channel.

DRAM ticks (half clocks) and SM cycles are kept in an exact ratio of whole numbers. What happens in a channel is
simulated late, but never too late: a request first lets the channel catch up to the last tick that is not after its
cycle, and enters between that tick and the next; a channel with work catches up before the data of the next command
can be in L2, or, if a slice waits for room, as soon as there can be room. Refreshes of an idle channel are made up
for when the next request comes.
"""

from typing import NamedTuple

import numpy as np

from simfa.engine import events
from simfa.engine.jit import entry, inlined_kernel
from simfa.memory.bounded import mailbox
from simfa.memory.channel import controller
from simfa.memory.channel import queues as store
from simfa.memory.channel.commands import PARAMETERS
from simfa.memory.channel.controller import FORWARDED
from simfa.memory.channel.queues import NONE, READS, WRITES, Queues
from simfa.memory.channel.state import Channel, make_channel
from simfa.memory.channel.timing import Timing, make_timing

CONFIG = np.dtype(
    [
        ("ticks", np.int64),  # DRAM ticks in `cycles` SM cycles
        ("cycles", np.int64),
        ("path_ticks", np.int64),  # of a read, beside the channel itself
        ("accesses", np.int64),  # of a line
        ("line_bytes", np.int64),
        ("access_bytes", np.int64),
        ("capacity_blocks", np.int64),
        ("sids", np.int64),
        ("groups", np.int64),
        ("banks", np.int64),
        ("data_cycles", np.int64),  # from a column command until its data can be in L2, rounded down
    ]
)
CLOCK = np.dtype([("now", np.int64), ("order", np.int64)])  # last tick simulated; number of the next access
STATE = ("at", "bus_at", "open_row", "units", "recent")  # of Timing; the rest is constant and shared
PSEUDO_CHANNEL, SID, BANK_GROUP, BANK, ROW, COLUMN = range(6)  # as mapping.COORDINATES


class CommandChannels(NamedTuple):
    """Channels side by side: `timing` and `queues` have one more axis, the channel, where they hold state."""

    config: np.ndarray
    runs: np.ndarray  # address mapping: coordinate, first bit, mask, place
    folds: np.ndarray  # coordinate, source, first bit, mask
    at: np.ndarray  # scratch: coordinates of one access
    parts: np.ndarray  # [access of a line]: what its bank and row differ by from the first one's
    clocks: np.ndarray
    timing: Timing
    queues: Queues
    control: np.ndarray
    issued: np.ndarray
    trace: np.ndarray


def make_channels(
    config: np.ndarray, mapping: tuple[np.ndarray, np.ndarray], one: Channel, count: int
) -> CommandChannels:
    """`count` copies of an idle channel, for a CONFIG record and the tables of an address mapping."""

    def many(array: np.ndarray) -> np.ndarray:
        return np.repeat(array[None], count, axis=0)

    timing = one.timing
    channels = CommandChannels(
        config,
        *mapping,
        np.zeros(6, np.int64),
        np.zeros((int(config[0]["accesses"]), 2), np.int64),
        np.zeros(count, CLOCK),
        timing._replace(**{name: many(getattr(timing, name)) for name in STATE}),
        Queues(*map(many, one.queues)),
        many(one.control),
        many(one.issued),
        one.trace,
    )
    _set_parts(channels)
    return channels


@entry
def _set_parts(channels):
    config = channels.config[0]
    for part in range(channels.parts.shape[0]):
        bank, row = locate(channels, config, part * config["access_bytes"])
        channels.parts[part, 0] = bank
        channels.parts[part, 1] = row


def set_path(channels: CommandChannels, ticks: int) -> None:
    """What a read takes beside its channel."""
    config = channels.config[0]
    config["path_ticks"] = ticks
    first = int(channels.control["read_ticks"].min()) + ticks
    config["data_cycles"] = first * int(config["cycles"]) // int(config["ticks"])


def no_channels() -> CommandChannels:
    """Of the right type, for a hierarchy with in-order channels."""
    timing = make_timing(dict.fromkeys(PARAMETERS, 1), 1, 1, 1, 1)
    one = make_channel(timing, store.make_queues(1, 1, 1), (0, 0), 0, 0)
    nothing = np.zeros((0, 4), np.int64)
    return make_channels(np.zeros(1, CONFIG), (nothing, nothing), one, 0)


def unloaded_ticks(memory, channels) -> int:
    """Ticks from the arrival of a line at an idle channel of a cold hierarchy to its last data; uses it up."""
    return int(_first_read(memory, channels, events.make_queue(mailbox.STEPS)))


@entry
def _first_read(memory, channels, queue):
    memory.mshrs[0, 0]["left"] = channels.config[0]["accesses"]
    mailbox.post(memory, queue, 0, READS, 0, 0, 0)
    while memory.mshrs[0, 0]["left"]:
        pending = memory.fronts[0]["steps"]
        step(memory, channels, queue, 0, memory.step_at[0, pending - 1])
    return channels.control[0, 0]["data_until"]


@inlined_kernel
def _channel(channels, c):
    """One channel, as the controller takes it."""
    t, q = channels.timing, channels.queues
    timing = Timing(
        t.delays,
        t.unit_of,
        t.group,
        t.sid,
        t.window,
        t.bus_ticks,
        t.at[c],
        t.bus_at[c],
        t.open_row[c],
        t.units[c],
        t.recent[c],
    )
    queues = Queues(
        q.entries[c],
        q.free[c],
        q.queues[c],
        q.lists[c],
        q.keys[c],
        q.offers[c],
        q.places[c],
        q.active[c],
        q.active_in_bank[c],
        q.counts[c],
    )
    return Channel(timing, queues, channels.control[c], channels.issued[c], channels.trace)


@inlined_kernel
def step(memory, channels, queue, c, now):
    """The event of a channel: simulate up to this cycle, take in what slices hand over, see to the next step."""
    front, clock, config = memory.fronts[c], channels.clocks[c], channels.config[0]
    channel = _channel(channels, c)
    tick = now * config["ticks"] // config["cycles"]
    control = channel.control[0]
    skipped = _idle_intervals(channel, tick)
    until = control["refresh_at"] + control["refresh_ticks"] - 1 if skipped else tick
    while True:
        clock["now"] = _run(memory, config, channel, queue, clock["now"], until)
        if skipped == 0:
            break
        _skip(channel, clock, skipped)
        skipped, until = 0, tick
    _take_in(memory, channels, config, channel, queue, c, tick)
    entries = channel.queues.queues
    front["free_reads"] = entries[READS]["capacity"] - entries[READS]["entries"]
    front["free_writes"] = entries[WRITES]["capacity"] - entries[WRITES]["entries"]
    front["steps"] -= 1
    memory.totals[0]["steps"] -= 1
    if not store.is_empty(channel.queues):
        following = max(controller.next_tick(channel), clock["now"] + 1)
        if front["waiting"]:
            cycle = cycle_of(config, following + _soonest_room(front))
        else:
            cycle = cycle_of(config, following) + config["data_cycles"]
        mailbox.step_by(memory, queue, c, max(cycle, now + 1))


@inlined_kernel
def _soonest_room(front):
    """Ticks from a first command until enough entries can have left a queue for a line that waits.

    Entries leave with column commands, one per clock, and with activates, at most every second clock.
    """
    free = 0
    if front["waiting"] & (1 << READS):
        free = front["free_reads"]
    if front["waiting"] & (1 << WRITES):
        free = max(free, front["free_writes"])
    lacking = front["accesses"] - free
    clocks = 0
    while clocks + clocks // 2 + 2 < lacking:
        clocks += 1
    return 2 * clocks


@inlined_kernel
def _take_in(memory, channels, config, channel, queue, c, tick):
    """The lines handed over enter between this tick and the next."""
    front, clock, count = memory.fronts[c], channels.clocks[c], memory.cache.channels[c]
    for index in range(front["letters"]):
        letter = memory.mail[c, index]
        kind, argument = letter["kind"], letter["argument"]
        first_bank, first_row = locate(channels, config, letter["line"] * config["line_bytes"])
        block = letter["line"] * config["accesses"] % config["capacity_blocks"]
        for part in range(config["accesses"]):
            # Every bit of bank and row is an XOR of address bits, so the parts of a line differ by constants.
            bank, row = first_bank ^ channels.parts[part, 0], first_row ^ channels.parts[part, 1]
            answer = controller.send(channel, kind, bank, row, block + part, argument, clock["order"], tick)
            clock["order"] += 1
            if kind == READS and answer == FORWARDED:
                _access_done(memory, queue, config, argument, controller.data_at(channel, tick + 1))
        count["most"] = max(count["most"], channel.queues.queues[kind]["entries"])
    front["letters"] = 0


@inlined_kernel
def locate(channels, config, address):
    """(bank, row) of an access."""
    at = channels.at
    at[:] = 0
    for index in range(channels.runs.shape[0]):
        run = channels.runs[index]
        at[run[0]] |= ((address >> run[1]) & run[2]) << run[3]
    row = at[ROW]
    for index in range(channels.folds.shape[0]):
        fold = channels.folds[index]
        source = row if fold[1] == ROW else at[fold[1]]
        at[fold[0]] ^= (source >> fold[2]) & fold[3]
    group = (at[PSEUDO_CHANNEL] * config["sids"] + at[SID]) * config["groups"] + at[BANK_GROUP]
    return group * config["banks"] + at[BANK], row


@inlined_kernel
def _run(memory, config, channel, queue, now, until):
    """Simulate the ticks after `now`, up to `until`, at which there is anything to do; returns the last of them."""
    while True:
        tick = max(controller.next_tick(channel), now + 1)
        if tick > until:
            return now
        now = tick
        controller.tick(channel, tick)
        slot = channel.control[0]["served"]
        if slot != NONE and channel.queues.entries[slot]["kind"] == READS:
            done = controller.data_at(channel, tick + channel.control[0]["read_ticks"])
            _access_done(memory, queue, config, channel.queues.entries[slot]["request"], done)


@inlined_kernel
def _access_done(memory, queue, config, argument, tick):
    """The data of one access are there at `tick`; with the last one the line is on its way to L2."""
    mshr = memory.mshrs[argument >> 9, argument & 511]
    mshr["left"] -= 1
    if mshr["left"] == 0:
        there = cycle_of(config, tick + config["path_ticks"])
        events.push(queue, there, events.FILL, argument)


@inlined_kernel
def cycle_of(config, tick):
    """The first SM cycle that is not before a DRAM tick."""
    return (tick * config["cycles"] + config["ticks"] - 1) // config["ticks"]


@inlined_kernel
def _idle_intervals(channel, tick):
    """Refresh intervals that an idle channel has gone through and that change nothing after the first."""
    control = channel.control[0]
    interval = control["refresh_ticks"]
    if interval == 0 or control["refreshes_waiting"] > 0 or not store.is_empty(channel.queues):
        return 0
    return max((tick - control["refresh_at"]) // interval - 2, 0)


@inlined_kernel
def _skip(channel, clock, intervals):
    """Pass over whole refresh intervals of an idle channel whose rows are closed."""
    control = channel.control[0]
    if control["refreshes_waiting"] == 0:
        control["refresh_at"] += intervals * control["refresh_ticks"]
        clock["now"] += intervals * control["refresh_ticks"]
