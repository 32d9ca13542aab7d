"""How many loads fill a stage, and how many releases free it: read off the programs before anything runs."""

from collections import Counter, defaultdict

from simfa.engine import opcodes as op
from simfa.isa import Program
from tests.simfa.reference.unroll import Step, unroll

Cta = list[Program]


class Fillings:
    """For the CTAs of one cluster by rank. `kinds` are the CTAs that a persistent CTA of that rank may come to.

    Of a CTA that runs once, a thread's next filling of a stage begins with its ACQUIRE_STAGE of the stage or
    MB_WAIT on it, and a filling takes all loads of that number. Of a persistent one, each load belongs to the
    filling that its thread has acquired, and a filling takes one load of every thread that loads the stage.
    """

    def __init__(self, kinds: list[list[Cta]], turns: list[int], persistent: bool) -> None:
        self.kinds, self.persistent = kinds, persistent
        self.counts: Counter[tuple[int, int, int]] = Counter()  # rank, stage, filling
        if not persistent:
            for rank, (cta,) in enumerate(kinds):
                for program in cta:
                    steps = unroll(program, turns, [0, 0])
                    for step, filling in zip(steps, self.numbers(steps), strict=True):
                        for there in self.reached(step, rank) if step.row["opcode"] in op.LOADS else ():
                            self.counts[there, step.stage, filling] += 1

    @staticmethod
    def numbers(steps: list[Step]) -> list[int]:
        """Of each step of a program that runs once, the filling of its stage that a load there belongs to."""
        current: defaultdict[int, int] = defaultdict(int)
        begun: set[int] = set()
        found = []
        for step in steps:
            if step.row["opcode"] in op.LOADS:
                begun.add(step.stage)
            elif step.name in ("ACQUIRE_STAGE", "MB_WAIT") and step.stage in begun:
                begun.remove(step.stage)
                current[step.stage] += 1
            found.append(current[step.stage])
        return found

    def reached(self, step: Step, rank: int) -> list[int]:
        """Ranks that a load reaches."""
        mask = step.row.get("multicast", 0) or 1 << rank
        return [there for there in range(len(self.kinds)) if mask >> there & 1]

    def takes(self, rank: int, stage: int, filling: int) -> int:
        """Loads that a filling takes."""
        if not self.persistent:
            return self.counts[rank, stage, filling]
        return len(self._threads(op.LOADS, rank, stage))

    def _threads(self, opcodes: tuple[int, ...], rank: int, stage: int) -> set[tuple[int, int]]:
        """Rank and role of threads that have a load of a stage which reaches a rank."""
        found = set()
        for source, kinds in enumerate(self.kinds):
            for role, program in ((role, program) for cta in kinds for role, program in enumerate(cta)):
                for row in program.rows:
                    mask = row.get("multicast", 0) or 1 << source
                    if row["opcode"] in opcodes and stage in stages(row) and mask >> rank & 1:
                        found.add((source, role))
        return found

    def loaders(self, rank: int, stage: int) -> list[int]:
        """Ranks from which a stage of a CTA is loaded where any load of it is multicast; else its own."""
        rows = [row for kinds in self.kinds for cta in kinds for program in cta for row in program.rows]
        loads = [row for row in rows if row["opcode"] in op.LOADS and stage in stages(row)]
        if not any(row.get("multicast", 0) >> rank & 1 for row in loads):
            return [rank]
        return sorted({source for source, _ in self._threads(op.LOADS, rank, stage)})

    def consumers(self, rank: int, stage: int) -> int:
        """Threads whose releases of a stage a CTA waits for; where it is persistent, those of its fullest tile."""
        most = max(len(kinds) for kinds in self.kinds)
        return max(
            sum(
                self._releases(program, stage)
                for other, kinds in enumerate(self.kinds)
                if rank in self.loaders(other, stage)
                for program in kinds[kind % len(kinds)]
            )
            for kind in range(most)
        )

    @staticmethod
    def _releases(program: Program, stage: int) -> bool:
        return any(row["opcode"] == op.RELEASE_STAGE and stage in stages(row) for row in program.rows)


def stages(row: dict[str, int]) -> range:
    """The stages that an instruction may mean."""
    return range(row["sid"], row["sid"] + max(row.get("stages", 0), 1))
