"""The core of one SM as a plain loop over cycles, to compare the event-driven engine with. Not fast, not clever.

Written from section 4.2 and Algorithm 1: every cycle, first whatever completes (tensor core, lines, bubbles),
then the TMA engine generates lines, then one thread issues one instruction. Memory answers every line after a
constant latency. A stalled thread tries again when something it registered for was signalled.
"""

from dataclasses import dataclass, field
from typing import Any

from simfa.engine import opcodes as op
from simfa.isa import NAME_OF, Program

FULL = "TENSOR_BUFFER_FULL"


@dataclass(eq=False)
class Thread:
    """One warpgroup: its role, its code, and what it has issued and passed."""

    role: int
    slot: int
    age: int
    code: list[dict[str, int]]
    pc: int = 0
    state: str = "ready"  # ready, stalled, asleep, ended
    registered: tuple[str, int] = ("", 0)
    stalled_at: int = -1
    asleep_until: int = -1
    passed: dict[int, int] = field(default_factory=dict)
    wgmma: list[Any] = field(default_factory=list)  # groups in order: each a list of [done] flags
    stores: list[Any] = field(default_factory=list)
    open_wgmma: list[Any] = field(default_factory=list)
    open_stores: list[Any] = field(default_factory=list)


@dataclass(eq=False)
class Cta:
    """Barriers of one resident CTA."""

    number: int
    threads: list[Thread]
    filled: dict[int, int] = field(default_factory=dict)
    loading: dict[int, int] = field(default_factory=dict)
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
    outstanding: int = 0


class ReferenceSm:
    """One SM that runs `ctas` copies of `roles` in `slots` slots; every box has `box_lines` lines."""

    def __init__(self, gpu: Any, roles: list[Program], ctas: int, box_lines: int) -> None:
        self.gpu, self.roles, self.waiting, self.box_lines = gpu, roles, list(range(ctas)), box_lines
        self.slots: list[Cta | None] = [None] * gpu.slots_per_sm
        self.now = 0
        self.greedy: Thread | None = None
        self.tensor_free = 0
        self.buffer: list[tuple[int, Thread, list[bool]]] = []
        self.operations: list[Operation] = []
        self.lines: list[tuple[int, Operation]] = []
        self.stalls: dict[tuple[int, str], int] = {}
        self.starts: dict[int, int] = {}
        self.ends: dict[int, int] = {}

    def run(self, limit: int = 100_000) -> str:
        """`finished` or `deadlock`; then `now` is the last cycle."""
        for slot in range(len(self.slots)):
            self._dispatch(slot)
        while True:
            self._complete()
            self._generate()
            self._issue()
            if not self._anything_to_come():
                return "deadlock" if any(self.slots) else "finished"
            self.now += 1
            assert self.now < limit

    def _anything_to_come(self) -> bool:
        states = [thread.state for thread in self._threads()]
        return bool(self.buffer or self.lines or self.operations or "ready" in states or "asleep" in states)

    def _threads(self) -> list[Thread]:
        return [thread for cta in self.slots if cta for thread in cta.threads if thread.state != "ended"]

    def _dispatch(self, slot: int) -> None:
        self.slots[slot] = None
        if self.waiting:
            number = self.waiting.pop(0)
            count = len(self.roles)
            threads = [Thread(r, slot, number * count + r, code.rows) for r, code in enumerate(self.roles)]
            self.slots[slot] = Cta(number, threads)
            self.starts[number] = self.now

    def _end(self, thread: Thread) -> None:
        thread.state = "ended"
        cta = self.slots[thread.slot]
        assert cta is not None
        if all(other.state == "ended" for other in cta.threads):
            self.ends[cta.number] = self.now
            self._dispatch(thread.slot)

    def _signal(self, what: str, operand: int = 0, slot: int | None = None) -> None:
        for thread in self._threads():
            if thread.state == "stalled" and thread.registered == (what, operand) and slot in (None, thread.slot):
                thread.state = "ready"

    def _complete(self) -> None:
        for entry in [entry for entry in self.buffer if entry[0] == self.now]:
            self.buffer.remove(entry)
            entry[2][0] = True
            thread = entry[1]
            waits = thread.state == "stalled" and thread.registered[0] == "WGMMA_WAIT"
            if waits and self._groups_left(thread.wgmma) <= thread.registered[1]:
                thread.state = "ready"
            self._signal(FULL)
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
        cta, slot = operation.cta, operation.thread.slot
        if operation.flag is not None:
            operation.flag[0] = True
            self._signal("TMA_WAIT", 0, slot)
            return
        cta.loading[operation.sid] -= 1
        if cta.loading[operation.sid] == 0:
            cta.filled[operation.sid] = cta.filled.get(operation.sid, 0) + 1
            self._signal("MB_WAIT", operation.sid, slot)

    def _generate(self) -> None:
        for _ in range(self.gpu.lines_per_cycle):
            head = next((o for o in self.operations if o.left > 0), None)
            if head is None or head.ready_at > self.now or len(self.lines) >= self.gpu.inflight_lines:
                return
            head.left -= 1
            head.outstanding += 1
            self.lines.append((self.now + self.gpu.near_cycles, head))

    def _issue(self) -> None:
        ready = [thread for thread in self._threads() if thread.state == "ready"]
        if not ready:
            return
        thread = self.greedy if self.greedy in ready else min(ready, key=lambda t: t.age)
        assert thread is not None
        self.greedy = None
        row = thread.code[thread.pc]
        reason = self._blocked_by(thread, row)
        if reason is not None:
            thread.state, thread.registered = "stalled", reason
            thread.stalled_at = self.now if thread.stalled_at < 0 else thread.stalled_at
            return
        if thread.stalled_at >= 0:
            name = FULL if row["opcode"] == op.WGMMA else NAME_OF[row["opcode"]]
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
    def _groups_left(groups: list[Any]) -> int:
        """Committed groups outstanding; a group is done when all before it are."""
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
        passed = thread.passed.get(sid, 0)
        consumers = len(self.roles) - 1
        waits = {
            "WGMMA": (len(self.buffer) >= self.gpu.issue_buffer_entries, FULL, 0),
            "WGMMA_WAIT": (self._groups_left(thread.wgmma) > row.get("count", 0), name, row.get("count", 0)),
            "TMA_WAIT": (self._groups_left(thread.stores) > row.get("count", 0), name, 0),
            "MB_WAIT": (cta.filled.get(sid, 0) <= passed, name, sid),
            "ACQUIRE_STAGE": (cta.released.get(sid, 0) < passed * consumers, name, sid),
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
            thread.open_wgmma.append(flag)
        elif name == "WGMMA_COMMIT":
            thread.wgmma.append(thread.open_wgmma)
            thread.open_wgmma = []
        elif name == "TMA_COMMIT":
            thread.stores.append(thread.open_stores)
            thread.open_stores = []
        elif name in ("TMA_TENSOR", "TMA_STORE"):
            self._enqueue(thread, cta, name == "TMA_STORE", sid)
        elif name == "BUBBLES":
            thread.state, thread.asleep_until = "asleep", self.now + row["cycles"]
        elif name == "RELEASE_STAGE":
            cta.released[sid] = cta.released.get(sid, 0) + 1
            self._signal("ACQUIRE_STAGE", sid, thread.slot)
        elif name == "BAR_ARRIVE":
            cta.arrivals[bid] = cta.arrivals.get(bid, 0) + 1
            self._signal("BAR_WAIT", bid, thread.slot)
        elif name == "BAR_WAIT":
            cta.arrivals[bid] = cta.arrivals.get(bid, 0) - row["count"]
        elif name in ("MB_WAIT", "ACQUIRE_STAGE"):
            thread.passed[sid] = thread.passed.get(sid, 0) + 1

    def _enqueue(self, thread: Thread, cta: Cta, is_store: bool, sid: int) -> None:
        flag = [False] if is_store else None
        ready_at = self.now + self.gpu.setup_cycles
        self.operations.append(Operation(thread, cta, ready_at, self.box_lines, sid, flag))
        if flag is not None:
            thread.open_stores.append(flag)
        else:
            cta.loading[sid] = cta.loading.get(sid, 0) + 1
