"""SMs in lockstep, the CTAs that they run, and the tiles that persistent CTAs go through."""

from collections.abc import Sequence
from typing import Any

from simfa.isa import Program
from tests.simfa.reference.fillings import Fillings
from tests.simfa.reference.parts import Cta, Thread
from tests.simfa.reference.sm import ReferenceSm
from tests.simfa.reference.unroll import Step, unroll


class ReferenceGpu:
    """CTA (or tile) n runs `kinds[kind_of[n]]`; by default the programs of its rank in its cluster.

    `turns` are counts of loop 0 by CTA. Where CTAs on several SMs ask for a tile in the same cycle, a dynamic
    schedule may serve either first: `taken` says who got which, a slot of the whole GPU for each tile, and the
    reference checks that none was served before one who asked earlier.
    """

    def __init__(
        self,
        gpu: Any,
        kinds: list[list[Program]],
        ctas: int,
        box_lines: int,
        *,
        turns: Sequence[int] | None = None,
        kind_of: Sequence[int] | None = None,
        taken: Sequence[int] = (),
        exact: bool = False,
    ) -> None:
        self.gpu, self.kinds, self.now = gpu, kinds, 0
        self.turns = list(turns) if turns is not None else [0] * ctas
        self.kind_of = list(kind_of) if kind_of is not None else [n % len(kinds) for n in range(ctas)]
        self.persistent = gpu.schedule != "one_tile"
        self.waiting, self.taken = list(range(ctas)), list(taken)
        self.roles = max(map(len, kinds))
        by_rank = [[kinds[k] for k in dict.fromkeys(self.kind_of[r :: gpu.cluster])] for r in range(gpu.cluster)]
        self.fillings = Fillings(by_rank, [self.turns[0], 0], self.persistent)
        self.releases: list[tuple[int, ReferenceSm, int, int, ReferenceSm]] = []  # when, where, slot, stage, whose
        self.sms = [ReferenceSm(gpu, box_lines, number, self, exact) for number in range(gpu.sms)]
        self.starts: dict[int, int] = {}
        self.ends: dict[int, int] = {}
        self.working: dict[int, int] = {}  # threads that have not come to the end of a tile
        self.following: dict[int, int | None] = {}  # a tile of a persistent CTA, and the one after it
        self.refused: list[int] = []  # when a persistent CTA asked for a tile in vain
        self.stride = 0

    def run(self, limit: int = 100_000) -> str:
        """`finished` or `deadlock`; then `now` is the last cycle in which anything happened."""
        for slot in range(self.gpu.slots_per_sm):
            for first in range(0, len(self.sms) - self.gpu.cluster + 1, self.gpu.cluster):
                self._dispatch(self.sms[first], slot)
        self.stride = len(self.starts)
        while True:
            self._releases_arrive()
            for sm in self.sms:
                sm.complete()
            for sm in self.sms:
                sm.tma.generate(self.now)
            for sm in self.sms * 2:  # twice: a CTA that starts in this cycle may find its SM free
                sm.issue()
            if not self.releases and not any(sm.anything_to_come() for sm in self.sms):
                self._check_order()
                return "finished" if len(self.ends) == len(self.turns) else "deadlock"
            self.now += 1
            for sm in self.sms:
                sm.pass_cycle()
            assert self.now < limit

    def _releases_arrive(self) -> None:
        for arrival in [arrival for arrival in self.releases if arrival[0] == self.now]:
            self.releases.remove(arrival)
            _, there, slot, stage, sender = arrival
            there.release_arrived(slot, stage)
            sender.operation_ended(slot)

    def cluster_of(self, sm: ReferenceSm) -> list[ReferenceSm]:
        """The SMs that run the CTAs of a cluster, by rank."""
        first = sm.number - sm.rank
        return self.sms[first : first + self.gpu.cluster]

    def reached(self, issuer: ReferenceSm, step: Step) -> list[ReferenceSm]:
        """The SMs whose CTAs a load reaches."""
        cluster = self.cluster_of(issuer)
        return [cluster[rank] for rank in self.fillings.reached(step, issuer.rank)]

    def release(self, sender: ReferenceSm, slot: int, stage: int) -> None:
        """A consumer's release: at once in its own CTA, later in others."""
        for rank in self.fillings.loaders(sender.rank, stage):
            there = self.cluster_of(sender)[rank]
            if there is sender:
                there.release_arrived(slot, stage)
            else:
                sender.cta(slot).operations += 1
                self.releases.append((self.now + self.gpu.remote_cycles, there, slot, stage, sender))

    def _dispatch(self, first: ReferenceSm, slot: int) -> None:
        """The next cluster of CTAs to a slot of neighbouring SMs."""
        for sm in self.cluster_of(first):
            sm.slots[slot] = None
        for sm in self.cluster_of(first)[: len(self.waiting)]:
            self._start(sm, slot, self.waiting.pop(0))

    def _start(self, sm: ReferenceSm, slot: int, number: int) -> None:
        programs = self.kinds[self.kind_of[number]]
        threads = [Thread(r, slot, number * self.roles + r) for r, program in enumerate(programs) if program.rows]
        sm.slots[slot] = Cta(number, threads, dict(self.gpu.primed) if self.persistent else {})
        self._begin(number, len(threads))
        for thread in threads:
            self._enter(thread, number)

    def _begin(self, number: int, threads: int) -> None:
        self.starts[number], self.working[number] = self.now, threads

    def _enter(self, thread: Thread, number: int) -> None:
        program = self.kinds[self.kind_of[number]][thread.role]
        thread.tile, thread.pc = number, 0
        thread.steps = unroll(program, [self.turns[number], 0], thread.counters)
        thread.fillings = self.fillings.numbers(thread.steps)

    def program_ended(self, sm: ReferenceSm, thread: Thread) -> None:
        """A thread is through with its CTA, or with a tile of a persistent one."""
        self.working[thread.tile] -= 1
        if not self.persistent:
            thread.state = "ended"
            self.may_retire(sm, thread.slot)
            return
        if self.working[thread.tile] == 0:
            self.ends[thread.tile] = self.now
        if thread.tile not in self.following:
            self.following[thread.tile] = self._next_tile(sm, thread)
        following = self.following[thread.tile]
        if following is None:
            thread.state = "ended"
            self.may_retire(sm, thread.slot)
        else:
            self._enter(thread, following)

    def _next_tile(self, sm: ReferenceSm, thread: Thread) -> int | None:
        """The tile that a persistent CTA goes on with when the first of its threads asks."""
        if self.gpu.schedule == "static":
            found = thread.tile + self.stride if thread.tile + self.stride < len(self.turns) else None
        else:
            place = sm.number * self.gpu.slots_per_sm + thread.slot
            own = [tile for tile in self.waiting if not self.taken or self.taken[tile] == place]
            found = own[0] if own else None
            if found is None:
                self.refused.append(self.now)
        if found is not None:
            self.waiting.remove(found)
            self._begin(found, len([program for program in self.kinds[self.kind_of[found]] if program.rows]))
        return found

    def _check_order(self) -> None:
        """Of a dynamic schedule: tiles were taken in order, and nobody went without while one was left."""
        if self.gpu.schedule == "dynamic":
            order = [self.starts[tile] for tile in sorted(self.starts)]
            assert order == sorted(order)
            assert not self.refused or order[-1] <= min(self.refused)

    def may_retire(self, sm: ReferenceSm, slot: int) -> None:
        """A CTA is over when its threads and operations are; with the last of its cluster the slot is free."""
        cta = sm.cta(slot)
        if cta.operations or any(thread.state != "ended" for thread in cta.threads) or cta.gone:
            return
        cta.gone = True
        if self.persistent:
            return
        self.ends[cta.number] = self.now
        peers = [peer.slots[slot] for peer in self.cluster_of(sm)]
        if all(peer is None or peer.gone for peer in peers):
            self._dispatch(self.cluster_of(sm)[0], slot)
