"""Run the engine and the reference on the same programs, and hold every cycle of one against the other."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from simfa import deadlock
from simfa.engine import loop, pipes, threads
from simfa.engine.machine import Machine
from simfa.isa import Program
from tests.simfa.harness import LINE, Box, Outcome, Tiny, build, leaks, outcome
from tests.simfa.reference.gpu import ReferenceGpu

gpus = st.builds(
    Tiny,
    slots_per_sm=st.integers(1, 2),
    launch_cycles=st.sampled_from([5, 40]),
    setup_cycles=st.sampled_from([0, 130]),
    scheduler=st.sampled_from(["gto", "lrr"]),
    issue_width=st.sampled_from([1, 1, 2]),
    lines_per_cycle=st.integers(1, 3),
    inflight_lines=st.sampled_from([1, 4, 9, 64]),
    issue_buffer_entries=st.sampled_from([1, 3, 16]),
    near_cycles=st.sampled_from([20, 21, 90]),
)


ENDINGS = ("finished", "deadlock")


def compare(
    gpu: Tiny,
    roles: list[Any],
    ctas: int,
    box_lines: int,
    turns: Sequence[int] | None = None,
    kind_of: Sequence[int] | None = None,
) -> str:
    """Run both; returns how they ended. Cycles, CTAs, stalls and what SM 0 did from when to when are the same."""
    kinds = [roles] if isinstance(roles[0], Program) else roles
    boxes = [Box(LINE, LINE, box_lines)]
    built = build(gpu, roles, boxes, ctas=ctas, bases=[[2**20]] * ctas, turns=turns, kind_of=kind_of)
    loop.begin(built)
    status = loop.RUNNING
    while status == loop.RUNNING:
        status = loop.advance(built, 1000)
    taken = _taken(built) if gpu.schedule == "dynamic" else ()
    reference = ReferenceGpu(gpu, kinds, ctas, box_lines, turns=turns, kind_of=kind_of, taken=taken)
    ending = reference.run(limit=2_000_000)
    assert {loop.FINISHED: "finished", loop.DEADLOCKED: "deadlock"}[status] == ending
    _same(outcome(built), reference)
    if ending == "finished":
        assert leaks(built) == []
    else:
        check_report(built)
    return ending


def _taken(built: Machine) -> list[int]:
    """The slot that took each tile; -1 where none has."""
    count = int(built.grid.config[0]["next"])
    return [int(slot) if tile < count else -1 for tile, slot in enumerate(built.grid.ctas["slot"])]


def _same(done: Outcome, reference: ReferenceGpu) -> None:
    assert {cta: done.starts[cta] for cta in reference.starts} == reference.starts
    assert {cta: done.ends[cta] for cta in reference.ends} == reference.ends
    stalls = sum((Counter(sm.stalls) for sm in reference.sms), Counter())
    assert done.stalls == {key: count for key, count in stalls.items() if count}
    assert sorted((s.track, s.name, s.start, s.end) for s in done.spans) == sorted(reference.sms[0].spans)
    assert done.cycles == reference.now
    for sm in reference.sms:
        served = done.machine.state.pipes.units[sm.number, pipes.BUSY : pipes.PENDING] / pipes.SCALE
        for pipe, cycles in zip(sm.pipes.served.values(), served, strict=True):
            assert abs(float(pipe) - cycles) < 0.1  # the engine rounds down whenever it looks


def check_report(built: Machine) -> None:
    """A deadlock's report has a line for every waiting thread, up to as many as it shows."""
    stuck = int((built.state.threads["waits_for"] != threads.NOTHING).sum())
    lines = deadlock.report(built).splitlines()
    assert len(lines) == 1 + min(stuck, deadlock.SHOWN + 1)
    assert all(" waits since cycle " in line for line in lines[1 : 1 + min(stuck, deadlock.SHOWN)])
