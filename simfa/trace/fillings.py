"""Which loads fill a stage together, and who releases it: in one CTA, and by multicast across a cluster.

An mbarrier fills once for all loads of a phase, whichever threads and CTAs issue them, as a kernel announces them
by expect_tx. A thread's next phase of a stage begins with its ACQUIRE_STAGE of it, or its MB_WAIT on it.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from simfa.engine import opcodes as op
from simfa.isa import Program

Cta = Sequence[Program]
Fill = tuple[int, int]  # stage, phase


class Member(NamedTuple):
    """A CTA's place in its cluster: its rank, and the programs of every CTA of the cluster by rank.

    `recurring`: a persistent CTA may come to its programs again, so that all of them count as loops do.
    """

    rank: int
    cluster: Sequence[Cta]
    recurring: bool = False


def destinations(row: Mapping[str, Any], rank: int) -> Iterator[int]:
    """Ranks of the CTAs that a load reaches: those of its mask, else the CTA that issues it."""
    mask = row.get("multicast", 0) or 1 << rank
    return (other for other in range(mask.bit_length()) if mask >> other & 1)


def phases(program: Program, recurring: bool = False) -> list[int]:
    """For each instruction the phase of its stage that a load there belongs to.

    Where a program has loops or rings, or recurs, each load follows an ACQUIRE_STAGE of its own, which counts the
    phases as it runs.
    """
    if recurring or walks(program):
        return [op.DYNAMIC] * len(program.rows)
    current: dict[int, int] = defaultdict(int)
    begun: set[int] = set()
    found = []
    for row in program.rows:
        sid = row.get("sid", -1)
        if row["opcode"] in op.LOADS:
            begun.add(sid)
        elif row["opcode"] in (op.ACQUIRE_STAGE, op.MB_WAIT) and sid in begun:
            current[sid] += 1
            begun.remove(sid)
        found.append(current[sid])
    return found


def walks(program: Program) -> bool:
    """Whether an instruction of a program may mean several stages, or one of them several times."""
    return any(row["opcode"] in op.CONTROL or row.get("stages", 0) for row in program.rows)


def stages(row: Mapping[str, Any]) -> range:
    """The stages that an instruction may mean: its own, or those of its ring."""
    return range(row["sid"], row["sid"] + max(row.get("stages", 0), 1))


def expected(cluster: Sequence[Cta], recurring: bool = False) -> list[Counter[Fill]]:
    """Per rank: how many loads each phase of each stage takes, from whichever CTA they come."""
    counts: list[Counter[Fill]] = [Counter() for _ in cluster]
    for rank, cta in enumerate(cluster):
        for program in cta:
            for sid, phase, there in _arrivals(program, rank, recurring):
                counts[there][sid, phase] += 1
    return counts


def _arrivals(program: Program, rank: int, recurring: bool) -> Iterable[tuple[int, int, int]]:
    """Stage, phase and destination of every load; where phases are counted as it runs, once for each stage."""
    found = [
        (row["sid"], phase, there)
        for row, phase in zip(program.rows, phases(program, recurring), strict=True)
        if row["opcode"] in op.LOADS
        for there in destinations(row, rank)
    ]
    return set(found) if recurring or walks(program) else found


def sources(cluster: Sequence[Cta]) -> list[dict[int, int]]:
    """Per rank and stage: mask of the CTAs whose loads reach it, where a multicast does."""
    masks: list[dict[int, int]] = [defaultdict(int) for _ in cluster]
    shared: set[tuple[int, int]] = set()
    for rank, cta in enumerate(cluster):
        for row in _loads(cta):
            for there in destinations(row, rank):
                for sid in stages(row):
                    masks[there][sid] |= 1 << rank
                    if row.get("multicast", 0):
                        shared.add((there, sid))
    return [{sid: mask for sid, mask in own.items() if (rank, sid) in shared} for rank, own in enumerate(masks)]


def releasers(member: Member) -> Counter[int]:
    """Per stage: threads whose release an ACQUIRE_STAGE of this CTA needs, in every CTA that its loads reach."""
    found: Counter[int] = Counter()
    for rank, (cta, masks) in enumerate(zip(member.cluster, sources(member.cluster), strict=True)):
        for program in cta:
            released = (row for row in program.rows if row["opcode"] == op.RELEASE_STAGE)
            for sid in {sid for row in released for sid in stages(row)}:
                mask = masks.get(sid, 1 << rank)
                found[sid] += mask >> member.rank & 1
    return found


def _loads(cta: Cta) -> Iterator[Mapping[str, Any]]:
    return (row for program in cta for row in program.rows if row["opcode"] in op.LOADS)
