"""What a reference SM is made of: threads, CTAs with their barriers, the tensor core, the TMA engine."""

from dataclasses import dataclass, field
from typing import Any

from simfa.engine import opcodes as op
from tests.simfa.reference.unroll import Step

TMA_QUEUE = 32  # operations of an SM, given back in order of issue
FILLINGS = 4  # of a stage under way
GROUPS = 32  # of one kind and thread, open or under way


@dataclass(eq=False)
class Thread:
    """One warpgroup: where it is, what is left of its tile, and what it has issued and passed."""

    role: int
    slot: int
    age: int
    tile: int = 0
    steps: list[Step] = field(default_factory=list)
    fillings: list[int] = field(default_factory=list)  # by step, of a CTA that runs once
    counters: list[int] = field(default_factory=lambda: [0, 0])
    pc: int = 0
    state: str = "ready"  # ready, stalled, asleep, ended
    registered: tuple[str, int] = ("", 0)
    gid: int = 0
    stalled_at: int = -1
    asleep_until: int = -1
    phase: tuple[int, int] = (0, 0)  # start and tag of the phase it is in
    passed: dict[int, int] = field(default_factory=dict)
    acquired: dict[int, int] = field(default_factory=dict)
    committed: dict[str, list[Any]] = field(default_factory=lambda: {"WGMMA": [], "TMA": []})
    open: dict[str, dict[int, list[Any]]] = field(default_factory=lambda: {"WGMMA": {}, "TMA": {}})

    places: dict[str, list[list[Any]]] = field(default_factory=lambda: {"WGMMA": [], "TMA": []})  # as groups opened

    def has_place(self, kind: str, gid: int) -> bool:
        """Whether a group is open under this id, or one more may open: the oldest leave once sealed and done."""
        if gid in self.open[kind]:
            return True
        table = self.places[kind]
        unsealed = [id(flags) for flags in self.open[kind].values()]
        while table and id(table[0]) not in unsealed and all(flag[0] for flag in table[0]):
            table.pop(0)
        return len(table) < GROUPS

    def _group(self, kind: str, gid: int) -> list[Any]:
        if gid not in self.open[kind]:
            self.open[kind][gid] = []
            self.places[kind].append(self.open[kind][gid])
        return self.open[kind][gid]

    def groups_left(self, kind: str, gid: int) -> int:
        """Committed groups with ids up to `gid` outstanding; a group is done when all before it are."""
        groups = [flags for number, flags in self.committed[kind] if number <= gid]
        done = 0
        while done < len(groups) and all(flag[0] for flag in groups[done]):
            done += 1
        return len(groups) - done

    def join(self, kind: str, gid: int) -> tuple[list[bool], bool]:
        """A flag that says when an operation of an open group is done, and whether it opened the group."""
        opened = gid not in self.open[kind]
        flag = [False]
        self._group(kind, gid).append(flag)
        return flag, opened

    def commit(self, kind: str, gid: int) -> None:
        """Seal a group; its id may name a new one."""
        self.committed[kind].append((gid, self._group(kind, gid)))
        del self.open[kind][gid]


@dataclass(eq=False)
class Cta:
    """Barriers of one resident CTA, which for a persistent one outlive its tiles."""

    number: int
    threads: list[Thread]
    arrivals: dict[int, int]
    filled: dict[int, int] = field(default_factory=dict)
    loaded: dict[tuple[int, int], int] = field(default_factory=dict)  # stage, filling: loads done
    released: dict[int, int] = field(default_factory=dict)
    operations: int = 0  # WGMMAs, TMA operations and releases to other CTAs under way
    gone: bool = False


@dataclass(eq=False)
class Operation:
    """A TMA operation: who issued it, from when it may generate, lines to generate, lines unanswered."""

    thread: Thread
    step: Step
    issued_at: int
    ready_at: int
    left: int
    flag: list[bool] | None  # of a store: becomes [True] on completion
    filling: int = 0
    outstanding: int = 0
    done: bool = False

    @property
    def mask(self) -> int:
        """CTAs of the cluster that a multicast reaches."""
        return int(self.step.row.get("multicast", 0))


class TensorCore:
    """One pipe in order of issue behind a buffer; a group's first WGMMA finds it after a gap."""

    def __init__(self, gpu: Any) -> None:
        self.gpu, self.free_at = gpu, 0
        self.buffer: list[tuple[int, Thread, list[bool]]] = []  # completion, who, flag

    def full(self) -> bool:
        """Whether the next WGMMA must wait for a place."""
        return len(self.buffer) >= self.gpu.issue_buffer_entries

    def issue(self, thread: Thread, row: dict[str, Any], now: int) -> tuple[int, int]:
        """Take a WGMMA; from when to when it runs."""
        flag, first = thread.join("WGMMA", row["gid"])
        start = max(now, self.free_at) + (self.gpu.gemm_gap if first else 0)
        self.free_at = start + row["cycles"]
        self.buffer.append((self.free_at + self.gpu.wgmma_tail, thread, flag))
        return start, self.free_at

    def completed(self, now: int) -> list[Thread]:
        """Threads whose WGMMAs are seen to be done in this cycle, one for each."""
        due = [entry for entry in self.buffer if entry[0] == now]
        self.buffer = [entry for entry in self.buffer if entry[0] != now]
        for _, _, flag in due:
            flag[0] = True
        return [thread for _, thread, _ in due]


class TmaEngine:
    """Operations in order of issue; so many lines a cycle, so many in flight."""

    def __init__(self, gpu: Any, box_lines: int) -> None:
        self.gpu, self.box_lines = gpu, box_lines
        self.queue: list[Operation] = []
        self.lines: list[tuple[int, Operation]] = []  # answers to come

    def full(self) -> bool:
        """Whether the next operation must wait for a place."""
        return len(self.queue) >= TMA_QUEUE

    def enqueue(self, thread: Thread, step: Step, filling: int, now: int) -> None:
        """Take an operation."""
        tensor, store = step.row["opcode"] in op.TENSOR_REQUESTS, step.row["opcode"] in op.STORES
        ready_at = now + self.gpu.launch_cycles + (self.gpu.setup_cycles if tensor else 0)
        lines = self.box_lines if tensor else -(-step.row["bytes"] // 128)
        flag = thread.join("TMA", step.row["gid"])[0] if store else None
        self.queue.append(Operation(thread, step, now, ready_at, lines, flag, filling))

    def answered(self, now: int) -> list[Operation]:
        """Operations whose last lines arrive in this cycle."""
        found = []
        for _, operation in [line for line in self.lines if line[0] == now]:
            operation.outstanding -= 1
            if operation.outstanding == 0 and operation.left == 0:
                operation.done = True
                found.append(operation)
        self.lines = [line for line in self.lines if line[0] != now]
        while self.queue and self.queue[0].done:
            self.queue.pop(0)
        return found

    def generate(self, now: int) -> None:
        """Lines of this cycle."""
        for _ in range(self.gpu.lines_per_cycle):
            head = next((operation for operation in self.queue if operation.left > 0), None)
            if head is None or head.ready_at > now or len(self.lines) >= self.gpu.inflight_lines:
                return
            head.left -= 1
            head.outstanding += 1
            extra = self.gpu.multicast_cycles if head.mask else 0
            self.lines.append((now + self.gpu.near_cycles + extra, head))
