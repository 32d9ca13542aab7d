"""One SM of the reference, cycle by cycle: what completes, lines of the TMA engine, instructions."""

from typing import Any

from simfa.engine import opcodes as op
from simfa.isa import BY_NAME
from tests.simfa.reference.parts import FILLINGS, Cta, Operation, TensorCore, Thread, TmaEngine
from tests.simfa.reference.pipes import SharedPipes
from tests.simfa.reference.unroll import Step

BUFFER_FULL, QUEUE_FULL, ELSEWHERE = "TENSOR_BUFFER_FULL", "TMA_QUEUE_FULL", "a stage of another CTA"
GROUPS_FULL = "GROUPS_FULL"


class ReferenceSm:
    """One SM that `ReferenceGpu` steps."""

    def __init__(self, gpu: Any, box_lines: int, number: int, grid: Any, exact: bool) -> None:
        self.gpu, self.number, self.grid = gpu, number, grid
        self.rank = number % gpu.cluster
        self.slots: list[Cta | None] = [None] * gpu.slots_per_sm
        self.now = 0
        self.greedy: Thread | None = None
        self.last = (0, -1)  # slot and role that issued last
        self.issued_at = -1
        self.tensor, self.tma = TensorCore(gpu), TmaEngine(gpu, box_lines)
        self.pipes = SharedPipes(gpu.operand_share, exact)
        self.costs = {BY_NAME[name].name: cycles for name, cycles in gpu.costs}
        self.stalls: dict[tuple[int, str], int] = {}
        self.spans: list[tuple[int, str, int, int]] = []  # track, what, start, end

    def anything_to_come(self) -> bool:
        """Whether the SM may still do something without anyone else."""
        states = {thread.state for thread in self.threads()}
        return bool(
            self.tensor.buffer or self.tma.lines or self.tma.queue or states & {"ready", "asleep", "in phase"}
        )

    def threads(self) -> list[Thread]:
        """Threads of resident CTAs that have not ended."""
        return [thread for cta in self.slots if cta for thread in cta.threads if thread.state != "ended"]

    def cta(self, slot: int) -> Cta:
        """The CTA in a slot."""
        found = self.slots[slot]
        assert found is not None
        return found

    def pass_cycle(self) -> None:
        """The cycle that has just gone by, as work on the shared pipes; then it is the next."""
        self.phases_over = self.pipes.cycle(self.tensor.free_at > self.now)
        self.now += 1

    def complete(self) -> None:
        """Whatever ends in this cycle."""
        for thread in self.tensor.completed(self.now):
            self._place_free(thread)
            waits = thread.state == "stalled" and thread.registered[0] == "WGMMA_WAIT"
            if waits and thread.groups_left("WGMMA", thread.gid) <= thread.registered[1]:
                thread.state = "ready"
            self._signal(BUFFER_FULL)
            self.operation_ended(thread.slot)
        for operation in self.tma.answered(self.now):
            self._operation_done(operation)
        for thread in self.phases_over:
            self._span(thread.role, "PHASE", thread.phase[0], self.now)
            self._awake(thread)
        self.phases_over = []
        for thread in self.threads():
            if thread.state == "asleep" and thread.asleep_until == self.now:
                self._awake(thread)

    phases_over: list[Any] = []

    def _awake(self, thread: Thread) -> None:
        thread.state = "ready"
        if thread.pc == len(thread.steps):
            self.grid.program_ended(self, thread)

    def _operation_done(self, operation: Operation) -> None:
        slot = operation.thread.slot
        self._span(self.grid.roles + 1, operation.step.name, operation.issued_at, self.now)
        if operation.flag is not None:
            operation.flag[0] = True
            self._signal("TMA_WAIT", 0, slot)
            self._place_free(operation.thread)
        else:
            for sm in self.grid.reached(self, operation.step):
                sm.load_arrived(slot, operation.step.stage, operation.filling)
        self._signal(QUEUE_FULL)
        self.operation_ended(slot)

    def _place_free(self, thread: Thread) -> None:
        """One of the thread's operations is done: a group of its own may have left its table."""
        if thread.state == "stalled" and thread.registered[0] == GROUPS_FULL:
            thread.state = "ready"

    def load_arrived(self, slot: int, stage: int, filling: int) -> None:
        """One load of a filling is there; the stage fills in order of fillings."""
        cta = self.cta(slot)
        cta.loaded[stage, filling] = cta.loaded.get((stage, filling), 0) + 1
        while cta.loaded.get((stage, cta.filled.get(stage, 0)), 0) >= self._takes(stage, cta.filled.get(stage, 0)):
            cta.filled[stage] = cta.filled.get(stage, 0) + 1
            self._signal("MB_WAIT", stage, slot)
            for sm in self.grid.cluster_of(self):
                sm._signal(ELSEWHERE, stage, slot)

    def _takes(self, stage: int, filling: int) -> int:
        return max(self.grid.fillings.takes(self.rank, stage, filling), 1)

    def release_arrived(self, slot: int, stage: int) -> None:
        """One release of a stage has arrived."""
        cta = self.cta(slot)
        cta.released[stage] = cta.released.get(stage, 0) + 1
        self._signal("ACQUIRE_STAGE", stage, slot)

    def operation_ended(self, slot: int) -> None:
        """A WGMMA, TMA operation or release of a CTA is over."""
        self.cta(slot).operations -= 1
        self.grid.may_retire(self, slot)

    def _signal(self, what: str, operand: int = 0, slot: int | None = None) -> None:
        for thread in self.threads():
            if thread.state == "stalled" and thread.registered == (what, operand) and slot in (None, thread.slot):
                thread.state = "ready"

    def _span(self, track: int, name: str, start: int, end: int) -> None:
        if end > start:
            self.spans.append((track, name, start, end))

    def issue(self) -> None:
        """Instructions of this cycle, once: a thread that wakes after the SM's turn has to wait for the next."""
        if self.issued_at == self.now:
            return
        had: set[tuple[int, int]] = set()
        for _ in range(self.gpu.issue_width):
            ready = [t for t in self.threads() if t.state == "ready" and (t.slot, t.role) not in had]
            if not ready:
                return
            self.issued_at = self.now
            thread = self._turn(ready)
            had.add((thread.slot, thread.role))
            self._issue_one(thread)

    def _turn(self, ready: list[Thread]) -> Thread:
        if self.gpu.scheduler == "lrr":
            count = self.grid.roles
            after = self.last[0] * count + self.last[1] + 1
            return min(ready, key=lambda t: (t.slot * count + t.role - after) % (count * len(self.slots)))
        return self.greedy if self.greedy in ready else min(ready, key=lambda t: t.age)

    def _issue_one(self, thread: Thread) -> None:
        self.greedy = None
        self.last = (thread.slot, thread.role)
        step = thread.steps[thread.pc]
        reason = self._blocked_by(thread, step)
        if reason is not None:
            thread.state, thread.registered = "stalled", reason
            thread.stalled_at = self.now if thread.stalled_at < 0 else thread.stalled_at
            return
        self._account_stall(thread, step)
        self._execute(thread, step)
        thread.pc += 1
        cost = self.costs.get(step.name, 0)
        if thread.state == "ready" and cost > 0:
            thread.state, thread.asleep_until = "asleep", self.now + cost
        elif thread.state == "ready" and thread.pc == len(thread.steps):
            self.grid.program_ended(self, thread)
        elif thread.state == "ready" and step.name != "BUBBLES":
            self.greedy = thread

    def _account_stall(self, thread: Thread, step: Step) -> None:
        if thread.stalled_at < 0:
            return
        name = BUFFER_FULL if step.name == "WGMMA" else step.name
        name = QUEUE_FULL if step.row["opcode"] in (*op.LOADS, *op.STORES) else name
        self.stalls[thread.role, name] = self.stalls.get((thread.role, name), 0) + self.now - thread.stalled_at
        self._span(thread.role, name, thread.stalled_at, self.now)
        thread.stalled_at = -1

    def _filling(self, thread: Thread, step: Step) -> int:
        if self.grid.fillings.persistent:
            return thread.acquired.get(step.stage, 0) - 1
        return thread.fillings[thread.pc]

    def _blocked_by(self, thread: Thread, step: Step) -> tuple[str, int] | None:
        """What the instruction must wait for, or None."""
        cta, name, stage = self.cta(thread.slot), step.name, step.stage
        gid, count, barrier = (step.row.get(key, 0) for key in ("gid", "count", "bid"))
        if name in ("WGMMA_WAIT", "TMA_WAIT"):
            thread.gid = gid
            blocked = thread.groups_left(name.split("_")[0], gid) > count
            return (name, count if name == "WGMMA_WAIT" else 0) if blocked else None
        if name == "WGMMA" and self.tensor.full():
            return BUFFER_FULL, 0
        if step.row["opcode"] in (*op.LOADS, *op.STORES) and self.tma.full():
            return QUEUE_FULL, 0
        if name == "WGMMA" or name.endswith("_COMMIT") or step.row["opcode"] in op.STORES:
            kind = "WGMMA" if name.startswith("WGMMA") else "TMA"
            return None if thread.has_place(kind, gid) else (GROUPS_FULL, 0)
        if step.row["opcode"] in op.LOADS:
            return self._too_early(thread, step)
        needed = thread.acquired.get(stage, 0) * max(self.grid.fillings.consumers(self.rank, stage), 1)
        waits = {
            "MB_WAIT": (cta.filled.get(stage, 0) <= thread.passed.get(stage, 0), stage),
            "ACQUIRE_STAGE": (name == "ACQUIRE_STAGE" and cta.released.get(stage, 0) < needed, stage),
            "BAR_WAIT": (cta.arrivals.get(barrier, 0) < count, barrier),
        }
        blocked, operand = waits.get(name, (False, 0))
        return (name, operand) if blocked else None

    def _too_early(self, thread: Thread, step: Step) -> tuple[str, int] | None:
        """A load that would be a filling too many wherever it goes."""
        filled = [sm.cta(thread.slot).filled.get(step.stage, 0) for sm in self.grid.reached(self, step)]
        if self._filling(thread, step) < min(filled) + FILLINGS:
            return None
        return ELSEWHERE if step.row.get("multicast", 0) else "MB_WAIT", step.stage

    def _execute(self, thread: Thread, step: Step) -> None:
        cta, name, row = self.cta(thread.slot), step.name, step.row
        if name == "WGMMA":
            self._span(self.grid.roles, "WGMMA", *self.tensor.issue(thread, row, self.now))
            cta.operations += 1
        elif name.endswith("_COMMIT"):
            thread.commit(name.split("_")[0], row["gid"])
        elif row["opcode"] in (*op.LOADS, *op.STORES):
            filling = self._filling(thread, step) if row["opcode"] in op.LOADS else 0
            self.tma.enqueue(thread, step, filling, self.now)
            cta.operations += 1
        elif name == "BUBBLES":
            self._sleep(thread, row["cycles"])
        elif name == "PHASE":
            thread.state, thread.phase = "in phase", (self.now, row["tag"])
            self.pipes.begin(thread, row)
        elif name == "RELEASE_STAGE":
            self.grid.release(self, thread.slot, step.stage)
        elif name == "BAR_ARRIVE":
            cta.arrivals[row["bid"]] = cta.arrivals.get(row["bid"], 0) + 1
            self._signal("BAR_WAIT", row["bid"], thread.slot)
        elif name == "BAR_WAIT":
            cta.arrivals[row["bid"]] -= row["count"]
        elif name in ("MB_WAIT", "ACQUIRE_STAGE"):
            counts = thread.passed if name == "MB_WAIT" else thread.acquired
            counts[step.stage] = counts.get(step.stage, 0) + 1

    def _sleep(self, thread: Thread, cycles: int) -> None:
        """A bubble; one of no cycles ends as it is issued."""
        self._span(thread.role, "BUBBLES", self.now, self.now + cycles)
        if cycles:
            thread.state, thread.asleep_until = "asleep", self.now + cycles
