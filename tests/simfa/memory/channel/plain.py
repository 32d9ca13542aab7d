"""The channel as a plain program that looks at every entry at every half clock: the test's yardstick."""

from dataclasses import dataclass, field

from tests.simfa.memory.channel.rules import Rules, place_of


@dataclass
class Access:
    request: int
    write: bool
    bank: int
    row: int
    block: int
    arrived: int = 0


@dataclass
class Plain:
    """`requests`: lists of accesses; `arrivals`: ticks, or None for a closed loop of `outstanding`."""

    spec: object
    requests: list[list[Access]]
    outstanding: int
    arrivals: list[int] | None
    refresh: bool
    entered: dict[int, int] = field(default_factory=dict)
    done: dict[int, int] = field(default_factory=dict)
    trace: list = field(default_factory=list)

    def __post_init__(self):
        self.clocks = self.spec.timing.by_name()
        self.rules = Rules(self.clocks)
        self.fifo, self.active, self.waiting = [], [], []
        self.queues = {False: [], True: []}
        self.limits = {
            False: self.spec.controller.read_queue_entries,
            True: self.spec.controller.write_queue_entries,
        }
        self.writing = False
        self.data_until = 0
        self.left = [len(accesses) for accesses in self.requests]

    def run(self):
        tick = 0
        while len(self.done) < len(self.requests) or any(self.queues.values()) or self.active:
            self.enter(tick)
            while self.fifo and self.send(self.fifo[0], tick):
                self.fifo.pop(0)
            tick += 1
            self.step(tick)
        return self

    def enter(self, tick):
        while len(self.entered) < len(self.requests):
            index = len(self.entered)
            flying = index - sum(when <= tick for when in self.done.values())
            if flying >= self.outstanding if self.arrivals is None else self.arrivals[index] > tick:
                return
            self.entered[index] = tick
            self.fifo += self.requests[index]

    def send(self, access, tick):
        merged = any(access.block == other.block for other in self.queues[True])
        if not merged:
            if len(self.queues[access.write]) == self.limits[access.write]:
                return False
            access.arrived = tick
            self.queues[access.write].append(access)
        if access.write:
            self.finish(access, tick)
        elif merged:
            self.finish(access, self.in_order(tick + 1))
        return True

    def in_order(self, tick):
        self.data_until = max(self.data_until, tick)
        return self.data_until

    def finish(self, access, tick):
        self.left[access.request] -= 1
        if not self.left[access.request]:
            self.done[access.request] = tick

    def step(self, tick):
        if self.refresh and tick % (2 * self.clocks["nREFI"]) == 0:
            self.waiting += range(self.spec.organisation.pseudo_channels)
        if tick % 2:
            self.columns(tick)
        self.rows(tick)

    def choose(self):
        reads, writes, limit = len(self.queues[False]), len(self.queues[True]), self.limits[True]
        if not self.writing and (writes > self.spec.controller.drain_above * limit or not reads):
            self.writing = True
        elif self.writing and writes < self.spec.controller.drain_below * limit and reads:
            self.writing = False
        return self.queues[self.writing]

    def place(self, access):
        return place_of(access.bank, self.spec.organisation)

    def ready(self, command, access, tick):
        return self.rules.may_start(command, self.place(access), tick)

    def issue(self, command, place, row, tick):
        self.rules.record(command, place, row, tick)
        self.trace.append((tick, command, place, row))

    def columns(self, tick):
        opened = [a for a in self.active if self.ready(column(a), a, tick)]
        if opened:
            access = min(opened, key=lambda a: a.arrived)
            self.active.remove(access)
        elif self.waiting:
            return
        else:
            queue = self.choose()
            hits = (a for a in queue if self.rules.rows.get(self.place(a)) == a.row)
            access = next((a for a in hits if self.ready(column(a), a, tick)), None)
            if access is None:
                return
            queue.remove(access)
        self.issue(column(access), self.place(access), access.row, tick)
        if not access.write:
            self.finish(access, self.in_order(tick + 2 * (self.clocks["nCL"] + self.clocks["nBL"])))

    def rows(self, tick):
        if self.waiting:
            return self.refreshing(tick)
        queue = self.choose()
        for access in queue:
            place = self.place(access)
            command = "PRE" if place in self.rules.rows else "ACT"
            if self.rules.rows.get(place) == access.row or command == "PRE" and self.protected(access, queue):
                continue
            if self.ready(command, access, tick):
                self.issue(command, place, access.row, tick)
                if command == "ACT":
                    queue.remove(access)
                    self.active.append(access)
                return None
        return None

    def protected(self, miss, queue):
        """The open row still serves an entry opened for it, or a hit that came no later."""
        same = [a for a in queue if a.bank == miss.bank and a.row == self.rules.rows[self.place(miss)]]
        return any(a.bank == miss.bank for a in self.active) or any(a.arrived <= miss.arrived for a in same)

    def refreshing(self, tick):
        unit = self.waiting[0]
        is_open = any(place[0] == unit for place in self.rules.rows)
        command = "PREA" if is_open else "REFA"
        if not self.rules.may_start(command, (unit,), tick):
            return
        if is_open and any(self.place(a)[0] == unit for a in self.active):
            return
        self.issue(command, (unit,), -1, tick)
        if command == "REFA":
            self.waiting.pop(0)


def column(access):
    return "WR" if access.write else "RD"
