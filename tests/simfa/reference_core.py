"""One SM, or a cluster of them, as a plain loop over cycles, to compare the event-driven engine with.

Written from section 4.2 and Algorithm 1: every cycle, first whatever completes (tensor core, lines, bubbles),
then the TMA engine generates lines, then one thread issues one instruction. Memory answers every line after a
constant latency. A stalled thread tries again when something it registered for was signalled. Not fast, not clever.
"""

from dataclasses import dataclass, field
from typing import Any

from simfa.engine import opcodes as op
from simfa.isa import NAME_OF, Program
from simfa.trace import fillings

FULL = "TENSOR_BUFFER_FULL"


@dataclass(eq=False)
class Thread:
    """One warpgroup: its role, its code, and what it has issued and passed."""

    role: int
    slot: int
    age: int
    code: list[dict[str, Any]]
    phases: list[int]  # by instruction: of a load
    pc: int = 0
    state: str = "ready"  # ready, stalled, asleep, ended
    registered: tuple[str, int] = ("", 0)
    gid: int = 0
    stalled_at: int = -1
    asleep_until: int = -1
    passed: dict[int, int] = field(default_factory=dict)
    acquired: dict[int, int] = field(default_factory=dict)
    wgmma: list[Any] = field(default_factory=list)  # groups in order of commit: (gid, list of [done] flags)
    stores: list[Any] = field(default_factory=list)
    open_wgmma: dict[int, list[Any]] = field(default_factory=dict)
    open_stores: dict[int, list[Any]] = field(default_factory=dict)


@dataclass(eq=False)
class Cta:
    """Barriers of one resident CTA."""

    number: int
    threads: list[Thread]
    filled: dict[int, int] = field(default_factory=dict)
    loaded: dict[tuple[int, int], int] = field(default_factory=dict)  # stage, phase: loads still to be done
    operations: int = 0  # WGMMAs, TMA operations and releases to other CTAs under way
    gone: bool = False
    released: dict[int, int] = field(default_factory=dict)
    arrivals: dict[int, int] = field(default_factory=dict)


@dataclass(eq=False)
class Operation:
    """A TMA operation: who issued it, from when it may generate, lines to generate, lines unanswered."""

    thread: Thread
    cta: Cta
    ready_at: int
    left: int
    sid: int
    flag: list[bool] | None  # of a store: becomes [True] on completion
    phase: int = 0
    mask: int = 0
    outstanding: int = 0


class ReferenceSm:
    """One SM that `ReferenceGpu` steps: CTAs run `roles`, every box has `box_lines` lines."""

    def __init__(self, gpu: Any, roles: list[Program], box_lines: int, rank: int, cluster: "ReferenceGpu") -> None:
        self.gpu, self.roles, self.box_lines, self.rank, self.cluster = gpu, roles, box_lines, rank, cluster
        self.slots: list[Cta | None] = [None] * gpu.slots_per_sm
        self.now = 0
        self.greedy: Thread | None = None
        self.last = (0, -1)  # slot and role that issued last
        self.tensor_free = 0
        self.issued_at = -1
        self.buffer: list[tuple[int, Thread, list[bool]]] = []
        self.operations: list[Operation] = []
        self.lines: list[tuple[int, Operation]] = []
        self.stalls: dict[tuple[int, str], int] = {}
        self.starts: dict[int, int] = {}
        self.ends: dict[int, int] = {}

    def anything_to_come(self) -> bool:
        """Whether the SM may still do something without anyone else."""
        states = [thread.state for thread in self._threads()]
        return bool(self.buffer or self.lines or self.operations or "ready" in states or "asleep" in states)

    def _threads(self) -> list[Thread]:
        return [thread for cta in self.slots if cta for thread in cta.threads if thread.state != "ended"]

    def deliver(self, slot: int, sid: int, phase: int) -> None:
        """One load of a stage's phase has arrived."""
        cta = self.slots[slot]
        assert cta is not None
        takes = self.cluster.expected[self.rank][sid, phase]
        cta.loaded[sid, phase] = cta.loaded.get((sid, phase), takes) - 1
        while cta.loaded.get((sid, cta.filled.get(sid, 0))) == 0:
            cta.filled[sid] = cta.filled.get(sid, 0) + 1
            self._signal("MB_WAIT", sid, slot)
            for sm in self.cluster.sms:
                sm._signal("MULTICAST", sid, slot)

    def released(self, slot: int, sid: int) -> None:
        """One release of a stage has arrived."""
        cta = self.slots[slot]
        assert cta is not None
        cta.released[sid] = cta.released.get(sid, 0) + 1
        self._signal("ACQUIRE_STAGE", sid, slot)

    def start(self, slot: int, number: int) -> None:
        """Put CTA `number` into a slot."""
        count = max(map(len, self.cluster.by_rank))
        threads = [
            Thread(r, slot, number * count + r, code.rows, fillings.phases(code))
            for r, code in enumerate(self.roles)
        ]
        self.slots[slot] = Cta(number, threads)
        self.starts[number] = self.now

    def _end(self, thread: Thread) -> None:
        thread.state = "ended"
        self._retire(thread.slot)

    def _retire(self, slot: int) -> None:
        cta = self.slots[slot]
        assert cta is not None
        if cta.operations == 0 and all(thread.state == "ended" for thread in cta.threads):
            self.ends[cta.number] = self.now
            cta.gone = True
            self.cluster.retired(slot)

    def _operation_ended(self, slot: int) -> None:
        cta = self.slots[slot]
        assert cta is not None
        cta.operations -= 1
        self._retire(slot)

    def _signal(self, what: str, operand: int = 0, slot: int | None = None) -> None:
        for thread in self._threads():
            if thread.state == "stalled" and thread.registered == (what, operand) and slot in (None, thread.slot):
                thread.state = "ready"

    def complete(self) -> None:
        """Whatever ends in this cycle."""
        for arrival in [arrival for arrival in self.cluster.releases if arrival[:2] == (self.now, self.rank)]:
            self.cluster.releases.remove(arrival)
            self.released(*arrival[2:4])
            self.cluster.sms[arrival[4]]._operation_ended(arrival[2])
        for entry in [entry for entry in self.buffer if entry[0] == self.now]:
            self.buffer.remove(entry)
            entry[2][0] = True
            thread = entry[1]
            waits = thread.state == "stalled" and thread.registered[0] == "WGMMA_WAIT"
            if waits and self._groups_left(thread.wgmma, thread.gid) <= thread.registered[1]:
                thread.state = "ready"
            self._signal(FULL)
            self._operation_ended(thread.slot)
        for line in [line for line in self.lines if line[0] == self.now]:
            self.lines.remove(line)
            line[1].outstanding -= 1
            if line[1].outstanding == 0 and line[1].left == 0:
                self._operation_done(line[1])
        for thread in self._threads():
            if thread.state == "asleep" and thread.asleep_until == self.now:
                thread.state = "ready"
                if thread.pc == len(thread.code):
                    self._end(thread)

    def _operation_done(self, operation: Operation) -> None:
        self.operations.remove(operation)
        slot = operation.thread.slot
        if operation.flag is not None:
            operation.flag[0] = True
            self._signal("TMA_WAIT", 0, slot)
        else:
            for sm in self.cluster.reached(operation.mask, self):
                sm.deliver(slot, operation.sid, operation.phase)
        self._operation_ended(slot)

    def generate(self) -> None:
        """Lines of this cycle."""
        for _ in range(self.gpu.lines_per_cycle):
            head = next((o for o in self.operations if o.left > 0), None)
            if head is None or head.ready_at > self.now or len(self.lines) >= self.gpu.inflight_lines:
                return
            head.left -= 1
            head.outstanding += 1
            extra = self.gpu.multicast_cycles if head.mask else 0
            self.lines.append((self.now + self.gpu.near_cycles + extra, head))

    def issue(self) -> None:
        """Instructions of this cycle, once: a thread that wakes after the SM's turn has to wait for the next."""
        if self.issued_at == self.now:
            return
        had: list[Thread] = []
        for _ in range(self.gpu.issue_width):
            ready = [thread for thread in self._threads() if thread.state == "ready" and thread not in had]
            if not ready:
                return
            self.issued_at = self.now
            had.append(self._turn(ready))
            self._issue_one(had[-1])

    def _turn(self, ready: list[Thread]) -> Thread:
        if self.gpu.scheduler == "lrr":
            count = len(self.roles)
            slot, role = self.last
            after = slot * count + role + 1
            return min(ready, key=lambda t: (t.slot * count + t.role - after) % (count * len(self.slots)))
        return self.greedy if self.greedy in ready else min(ready, key=lambda t: t.age)

    def _issue_one(self, thread: Thread) -> None:
        self.greedy = None
        self.last = (thread.slot, thread.role)
        row = thread.code[thread.pc]
        reason = self._blocked_by(thread, row)
        if reason is not None:
            thread.state, thread.registered = "stalled", reason
            thread.stalled_at = self.now if thread.stalled_at < 0 else thread.stalled_at
            return
        if thread.stalled_at >= 0:
            name = FULL if row["opcode"] == op.WGMMA else NAME_OF[row["opcode"]]
            name = "TMA_QUEUE_FULL" if row["opcode"] in op.LOADS else name
            key = (thread.role, name)
            self.stalls[key] = self.stalls.get(key, 0) + self.now - thread.stalled_at
            thread.stalled_at = -1
        thread.pc += 1
        self._execute(thread, row)
        if thread.state == "ready" and thread.pc == len(thread.code):
            self._end(thread)
        elif thread.state == "ready":
            self.greedy = thread

    @staticmethod
    def _groups_left(committed: list[Any], gid: int) -> int:
        """Committed groups with ids up to `gid` outstanding; a group is done when all before it are."""
        groups = [flags for number, flags in committed if number <= gid]
        done = 0
        while done < len(groups) and all(flag[0] for flag in groups[done]):
            done += 1
        return len(groups) - done

    def _blocked_by(self, thread: Thread, row: dict[str, int]) -> tuple[str, int] | None:
        """What the instruction must wait for, or None."""
        cta = self.slots[thread.slot]
        assert cta is not None
        name = NAME_OF[row["opcode"]]
        sid = row.get("sid", 0)
        passed, acquired = thread.passed.get(sid, 0), thread.acquired.get(sid, 0)
        consumers = self.cluster.consumers(self.rank, sid)
        gid, count = row.get("gid", 0), row.get("count", 0)
        phase, mask = thread.phases[thread.pc], row.get("multicast", 0)
        filled = [sm.slots[thread.slot].filled.get(sid, 0) for sm in self.cluster.reached(mask, self)]
        early = row["opcode"] in op.LOADS and phase >= min(filled) + 4
        if name in ("WGMMA_WAIT", "TMA_WAIT"):
            thread.gid = gid
        waits = {
            "WGMMA": (len(self.buffer) >= self.gpu.issue_buffer_entries, FULL, 0),
            "WGMMA_WAIT": (self._groups_left(thread.wgmma, gid) > count, name, count),
            "TMA_WAIT": (self._groups_left(thread.stores, gid) > count, name, 0),
            "TMA_TENSOR": (early, "MULTICAST" if mask else "MB_WAIT", sid),
            "TMA_BULK": (early, "MB_WAIT", sid),
            "MB_WAIT": (cta.filled.get(sid, 0) <= passed, name, sid),
            "ACQUIRE_STAGE": (cta.released.get(sid, 0) < acquired * max(consumers, 1), name, sid),
            "BAR_WAIT": (cta.arrivals.get(row.get("bid", 0), 0) < row.get("count", 0), name, row.get("bid", 0)),
        }
        blocked, what, operand = waits.get(name, (False, "", 0))
        return (what, operand) if blocked else None

    def _execute(self, thread: Thread, row: dict[str, int]) -> None:
        cta = self.slots[thread.slot]
        assert cta is not None
        name, sid, bid = NAME_OF[row["opcode"]], row.get("sid", 0), row.get("bid", 0)
        if name == "WGMMA":
            self.tensor_free = max(self.now, self.tensor_free) + row["cycles"]
            flag = [False]
            self.buffer.append((self.tensor_free, thread, flag))
            thread.open_wgmma.setdefault(row["gid"], []).append(flag)
            cta.operations += 1
        elif name == "WGMMA_COMMIT":
            thread.wgmma.append((row["gid"], thread.open_wgmma.pop(row["gid"], [])))
        elif name == "TMA_COMMIT":
            thread.stores.append((row["gid"], thread.open_stores.pop(row["gid"], [])))
        elif name.startswith("TMA_") and name != "TMA_WAIT":
            self._enqueue(thread, cta, row)
        elif name == "BUBBLES":
            thread.state, thread.asleep_until = "asleep", self.now + row["cycles"]
        elif name == "RELEASE_STAGE":
            self.cluster.release(self, thread.slot, sid)
        elif name == "BAR_ARRIVE":
            cta.arrivals[bid] = cta.arrivals.get(bid, 0) + 1
            self._signal("BAR_WAIT", bid, thread.slot)
        elif name == "BAR_WAIT":
            cta.arrivals[bid] = cta.arrivals.get(bid, 0) - row["count"]
        elif name in ("MB_WAIT", "ACQUIRE_STAGE"):
            counts = thread.passed if name == "MB_WAIT" else thread.acquired
            counts[sid] = counts.get(sid, 0) + 1

    def _enqueue(self, thread: Thread, cta: Cta, row: dict[str, Any]) -> None:
        flag = [False] if row["opcode"] in op.STORES else None
        tensor = row["opcode"] in op.TENSOR_REQUESTS
        ready_at = self.now + self.gpu.launch_cycles + (self.gpu.setup_cycles if tensor else 0)
        lines = self.box_lines if tensor else -(-row["bytes"] // 128)
        phase, mask = thread.phases[thread.pc - 1], row.get("multicast", 0)
        self.operations.append(Operation(thread, cta, ready_at, lines, row.get("sid", 0), flag, phase, mask))
        cta.operations += 1
        if flag is not None:
            thread.open_stores.setdefault(row["gid"], []).append(flag)


class ReferenceGpu:
    """As many SMs as a cluster has CTAs, in lockstep; CTA n runs the programs of rank n modulo their number."""

    def __init__(self, gpu: Any, by_rank: list[list[Program]], ctas: int, box_lines: int) -> None:
        self.gpu, self.by_rank, self.waiting, self.now = gpu, by_rank, list(range(ctas)), 0
        self.expected = fillings.expected(by_rank)
        self.releases: list[tuple[int, int, int, int, int]] = []  # cycle, rank, slot, stage, sender
        self.sms = [ReferenceSm(gpu, roles, box_lines, rank, self) for rank, roles in enumerate(by_rank)]

    def run(self, limit: int = 100_000) -> str:
        """`finished` or `deadlock`; then `now` is the last cycle."""
        for slot in range(self.gpu.slots_per_sm):
            self._dispatch(slot)
        while True:
            for sm in self.sms:
                sm.complete()
            for sm in self.sms:
                sm.generate()
            for sm in self.sms * 2:  # twice: a CTA that starts in this cycle may find its SM free
                sm.issue()
            if not self.releases and not any(sm.anything_to_come() for sm in self.sms):
                return "deadlock" if any(sm.slots != [None] * len(sm.slots) for sm in self.sms) else "finished"
            self.now += 1
            for sm in self.sms:
                sm.now = self.now
            assert self.now < limit

    def reached(self, mask: int, issuer: ReferenceSm) -> list[ReferenceSm]:
        """The SMs of the CTAs of a mask; without one the issuer's own."""
        return [sm for sm in self.sms if mask >> sm.rank & 1] if mask else [issuer]

    def loaders(self, rank: int, sid: int) -> list[ReferenceSm]:
        """SMs from which a stage of the CTA of a rank is loaded where any load of it is multicast; else its own."""
        found, shared = set(), False
        for source, roles in enumerate(self.by_rank):
            for row in (row for program in roles for row in program.rows):
                if row["opcode"] in op.LOADS and row["sid"] == sid:
                    mask = row.get("multicast", 0)
                    if (mask or 1 << source) >> rank & 1:
                        found.add(source)
                        shared |= mask > 0
        return [self.sms[source] for source in sorted(found)] if shared else [self.sms[rank]]

    def consumers(self, rank: int, sid: int) -> int:
        """Threads of all CTAs whose releases of a stage arrive in the CTA of a rank."""
        return sum(
            (op.RELEASE_STAGE, sid) in {(row["opcode"], row.get("sid")) for row in program.rows}
            for other, roles in enumerate(self.by_rank)
            if self.sms[rank] in self.loaders(other, sid)
            for program in roles
        )

    def release(self, sender: ReferenceSm, slot: int, sid: int) -> None:
        """A consumer's release: at once in its own CTA, later in others."""
        for sm in self.loaders(sender.rank, sid):
            if sm is sender:
                sm.released(slot, sid)
            else:
                sender.slots[slot].operations += 1
                self.releases.append((self.now + self.gpu.remote_cycles, sm.rank, slot, sid, sender.rank))

    def retired(self, slot: int) -> None:
        """A CTA of the cluster in a slot has ended; with the last one the slot is free."""
        if all(sm.slots[slot] is None or sm.slots[slot].gone for sm in self.sms):
            self._dispatch(slot)

    def _dispatch(self, slot: int) -> None:
        for sm in self.sms:
            sm.slots[slot] = None
        for sm in self.sms[: len(self.waiting)]:
            sm.start(slot, self.waiting.pop(0))
