"""Loops, rings, shared pipes, costs, gaps and persistent CTAs: the engine against the per-cycle reference."""

from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from simfa.isa import Program
from tests.simfa.harness import Tiny, program
from tests.simfa.reference.compare import compare, gpus

cycles = st.sampled_from([0, 1, 2, 3, 8, 21, 40, 88])
costs = st.lists(
    st.tuples(
        st.sampled_from(["WGMMA", "TMA_TENSOR", "MB_WAIT", "ACQUIRE_STAGE", "BAR_WAIT"]),
        st.sampled_from([1, 2, 7, 33]),
    ),
    unique_by=lambda cost: cost[0],
    max_size=4,
).map(tuple)


@st.composite
def cores(draw: Any) -> Tiny:
    """A tiny GPU with what the calibrated set has: costs, a gap, a tail, a share of the operands."""
    return replace(
        draw(gpus),
        costs=draw(costs),
        gemm_gap=draw(st.sampled_from([0, 1, 45])),
        wgmma_tail=draw(st.sampled_from([0, 1, 65])),
        operand_share=draw(st.sampled_from([0.0, 0.25, 0.5, 0.7])),
    )


@st.composite
def phases(draw: Any) -> str:
    """A phase that asks pipes for no more than its own time, or for more."""
    alone = draw(st.integers(1, 60))
    asked = [draw(st.sampled_from([0, alone // 2, alone, alone + 7])) for _ in range(3)]
    return f"PHASE cycles={alone} fp32={asked[0]} mufu={asked[1]} operands={asked[2]} tag={draw(st.integers(0, 2))}"


math = st.one_of(
    phases(),
    st.builds("BUBBLES cycles={}".format, cycles),
    st.builds("{} * WGMMA cycles={} gid={}".format, st.integers(1, 3), st.integers(1, 70), st.integers(0, 1)),
    st.builds("WGMMA_COMMIT gid={}".format, st.integers(0, 1)),
    st.builds("WGMMA_WAIT gid={} count={}".format, st.integers(0, 1), st.integers(0, 1)),
)


@given(cores(), st.lists(st.lists(math, min_size=1, max_size=12), min_size=1, max_size=4), st.integers(1, 3))
@settings(max_examples=400, derandomize=True, deadline=None)
def test_phases_beside_wgmmas(gpu: Tiny, codes: list[list[str]], ctas: int) -> None:
    assert compare(gpu, [program(*code) for code in codes], ctas, 1) == "finished"


@st.composite
def work(draw: Any) -> list[str]:
    """What a consumer does with a tile: GEMMs, softmax, perhaps a loop of its own around it."""
    code = draw(st.lists(st.one_of(phases(), st.builds("BUBBLES cycles={}".format, cycles)), max_size=3))
    if draw(st.booleans()):
        code += [f"{draw(st.integers(1, 3))} * WGMMA cycles={draw(st.integers(1, 60))}", "WGMMA_COMMIT"]
        code += [f"WGMMA_WAIT count={draw(st.integers(0, 1))}"]
    if draw(st.integers(0, 3)) == 0:
        code = ["LOOP bid=1 count=2", *(code or ["WGMMA_COMMIT"]), "END_LOOP bid=1"]
    return code


@st.composite
def pipelines(draw: Any, turns: str = "") -> list[Program]:
    """A producer that walks a ring in a loop, consumers that walk it too; `turns` 0 leaves the count to the CTA."""
    stages, count = draw(st.integers(1, 3)), turns or str(draw(st.integers(1, 6)))
    bulk = draw(st.booleans())
    load = "TMA_BULK gmem=4096 bytes=300 step=128" if bulk else "TMA_TENSOR map=0 at=0,0,0 step=128"
    ring = f"sid={draw(st.integers(0, 1))} stages={stages} counter={draw(st.integers(0, 1))}"
    before, after = [draw(st.sampled_from(["BUBBLES cycles=3", "WGMMA_COMMIT", "BUBBLES cycles=0"])) for _ in "ab"]
    body = [f"ACQUIRE_STAGE {ring}", f"{load} {ring} advance=1"]
    roles = [program(before, f"LOOP bid=0 count={count}", *body, "END_LOOP bid=0", after)]
    consumers = draw(st.integers(1, 2))
    ping_pong = consumers == 2 and draw(st.booleans())
    for index in range(consumers):
        body = [f"MB_WAIT {ring}"]
        body += [f"BAR_ARRIVE bid={1 - index}"] if ping_pong else []
        body += draw(work())
        body += [f"BAR_WAIT bid={index} count=1"] if ping_pong else []
        body += ["WGMMA_WAIT count=0", *draw(work()), f"RELEASE_STAGE {ring} advance=1"]
        code = [draw(st.sampled_from(["BUBBLES cycles=1", "WGMMA_COMMIT"])), f"LOOP bid=0 count={count}", *body,
                "END_LOOP bid=0"]  # fmt: skip
        stores = draw(st.integers(0, 1))
        code += ["TMA_STORE map=0 at=0,0,0", "TMA_COMMIT", "TMA_WAIT count=0"] * stores
        roles.append(program(*code, *draw(work())))
    return roles


@given(cores(), pipelines(), st.integers(1, 4), st.sampled_from([1, 2, 7]))
@settings(max_examples=200, derandomize=True, deadline=None)
def test_loops_and_rings(gpu: Tiny, roles: list[Program], ctas: int, box_lines: int) -> None:
    assert compare(gpu, roles, ctas, box_lines) == "finished"


schedules = st.sampled_from(["static", "dynamic"])


@given(cores(), pipelines("0"), schedules, st.integers(1, 3), st.lists(st.integers(0, 4), min_size=1, max_size=12))
@settings(max_examples=250, derandomize=True, deadline=None)
def test_persistent_ctas(gpu: Tiny, roles: list[Program], schedule: str, sms: int, turns: list[int]) -> None:
    gpu = replace(gpu, schedule=schedule, sms=sms)
    assert compare(gpu, roles, len(turns), 2, turns=turns) == "finished"


walked = st.one_of(
    math,
    st.builds("ACQUIRE_STAGE {0}|TMA_TENSOR map=0 at=0,0,0 {0} advance=1".format,
              st.sampled_from(["sid=0 stages=2 counter=0", "sid=2"])),
    st.builds("MB_WAIT {}".format, st.sampled_from(["sid=0 stages=2 counter=0 advance=1", "sid=2"])),
    st.builds("RELEASE_STAGE {}".format, st.sampled_from(["sid=0 stages=2 counter=1 advance=1", "sid=2", "sid=0"])),
    st.builds("BAR_ARRIVE bid={}".format, st.integers(0, 1)),
    st.builds("BAR_WAIT bid={} count={}".format, st.integers(0, 1), st.integers(1, 2)),
)  # fmt: skip
bodies = st.lists(walked, min_size=1, max_size=4).map(lambda body: "|".join(body).split("|"))


@st.composite
def looped(draw: Any) -> Program:
    """Any instructions, with loops around some of them, one in the other at times."""
    code = ["WGMMA_COMMIT", *draw(bodies)]
    inner = ["LOOP bid=1 count=2", *draw(bodies), "END_LOOP bid=1"] if draw(st.booleans()) else draw(bodies)
    code += [f"LOOP bid=0 count={draw(st.integers(0, 3))}", *inner, "END_LOOP bid=0"]
    return program(*code, *draw(bodies))


@given(
    cores(),
    st.lists(looped(), min_size=1, max_size=3),
    st.sampled_from(["one_tile", "static", "dynamic"]),
    st.lists(st.integers(0, 3), min_size=1, max_size=6),
    st.sampled_from([(), ((0, 1),), ((0, 2), (1, 1))]),
)
@settings(max_examples=300, derandomize=True, deadline=None)
def test_any_instructions_in_loops(
    gpu: Tiny, roles: list[Program], schedule: str, turns: list[int], primed: tuple[tuple[int, int], ...]
) -> None:
    """Mostly deadlocks, and what happens before them, from primed barriers on."""
    gpu = replace(gpu, schedule=schedule, primed=primed if schedule != "one_tile" else ())
    if schedule == "one_tile":
        turns = [turns[0]] * len(turns)
    compare(gpu, roles, len(turns), 2, turns=turns)
