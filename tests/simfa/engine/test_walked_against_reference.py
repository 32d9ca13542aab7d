"""Loops, rings, shared pipes, costs, gaps and persistent CTAs: the engine against the per-cycle reference."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simfa.isa import BY_OPCODE, RING, Program
from tests.simfa.harness import Box, Tiny, program, run, tiny
from tests.simfa.reference.compare import ENDINGS, compare, gpus
from tests.simfa.reference.gpu import ReferenceGpu
from tests.simfa.reference.unroll import unroll

cycles = st.sampled_from([0, 1, 2, 3, 8, 21, 40, 88])
costs = st.lists(
    st.tuples(
        st.sampled_from(
            ["WGMMA", "TMA_TENSOR", "MB_WAIT", "ACQUIRE_STAGE", "BAR_WAIT", "BAR_ARRIVE", "RELEASE_STAGE"]
        ),
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
@settings(max_examples=120, derandomize=True, deadline=None)
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
@settings(max_examples=80, derandomize=True, deadline=None)
def test_loops_and_rings(gpu: Tiny, roles: list[Program], ctas: int, box_lines: int) -> None:
    assert compare(gpu, roles, ctas, box_lines) == "finished"


schedules = st.sampled_from(["static", "dynamic"])


@given(cores(), pipelines("0"), schedules, st.integers(1, 3), st.lists(st.integers(0, 4), min_size=1, max_size=12))
@settings(max_examples=100, derandomize=True, deadline=None)
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
@settings(max_examples=120, derandomize=True, deadline=None)
def test_any_instructions_in_loops(
    gpu: Tiny, roles: list[Program], schedule: str, turns: list[int], primed: tuple[tuple[int, int], ...]
) -> None:
    """Mostly deadlocks, and what happens before them, from primed barriers on."""
    gpu = replace(gpu, schedule=schedule, primed=primed if schedule != "one_tile" else ())
    if schedule == "one_tile":
        turns = [turns[0]] * len(turns)
    assert compare(gpu, roles, len(turns), 2, turns=turns) in ENDINGS


@st.composite
def multicasting(draw: Any) -> list[list[Program]]:
    """Persistent CTAs of a cluster of two that load halves for both, as the official kernel's do."""
    ring = f"sid=1 stages={draw(st.integers(1, 3))} counter=0"
    load = f"TMA_TENSOR map=0 at=0,0,0 {ring} advance=1 step=128 multicast=3"
    by_rank = []
    for _ in range(2):
        code = ["BUBBLES cycles=1", "LOOP bid=0 count=0", f"ACQUIRE_STAGE {ring}", load, "END_LOOP bid=0"]
        roles = [program(*code)]
        body = [f"MB_WAIT {ring}", *draw(work()), "WGMMA_WAIT count=0", f"RELEASE_STAGE {ring} advance=1"]
        roles.append(program("WGMMA_COMMIT", "LOOP bid=0 count=0", *body, "END_LOOP bid=0", *draw(work())))
        by_rank.append(roles)
    return by_rank


@given(cores(), multicasting(), st.lists(st.integers(0, 3), min_size=1, max_size=5), st.sampled_from([2, 90]))
@settings(max_examples=60, derandomize=True, deadline=None)
def test_persistent_clusters_that_multicast(
    gpu: Tiny, by_rank: list[list[Program]], turns: list[int], remote: int
) -> None:
    gpu = replace(gpu, schedule="static", sms=2, cluster=2, remote_cycles=remote, multicast_cycles=remote)
    pairs = [count for count in turns for _ in range(2)]  # the CTAs of a cluster read alike
    assert compare(gpu, by_rank, len(pairs), 2, turns=pairs) == "finished"


def written_out(roles: list[Program]) -> list[Program]:
    """The same programs without loops and rings; their boxes do not move, which takes no other time."""
    found = []
    for role in roles:
        plain = Program()
        for step in unroll(role, [0, 0], [0, 0]):
            left_out = ("opcode", "tag", "sid", *RING, "step")
            row = {key: value for key, value in step.row.items() if key not in left_out}
            stage = {"sid": step.stage} if "sid" in step.row else {}
            plain.emit(BY_OPCODE[step.row["opcode"]].name, tag=step.row["tag"], **row, **stage)
        found.append(plain)
    return found


@given(cores(), pipelines(), st.integers(1, 3))
@settings(max_examples=60, derandomize=True, deadline=None)
def test_loops_equal_what_they_unroll_to(gpu: Tiny, roles: list[Program], ctas: int) -> None:
    boxes, bases = [Box(128, 128, 2)], [[2**20]] * ctas
    walked, plain = (run(gpu, code, boxes, ctas=ctas, bases=bases) for code in (roles, written_out(roles)))
    assert (walked.cycles, walked.stalls, walked.spans) == (plain.cycles, plain.stalls, plain.spans)


@given(st.lists(st.lists(phases(), min_size=1, max_size=3), min_size=1, max_size=4))
@settings(max_examples=40, derandomize=True, deadline=None)
def test_rounding_to_1_65536_moves_a_phases_end_by_a_cycle_at_most(codes: list[list[str]]) -> None:
    roles = [program(*code) for code in codes]
    exact = ReferenceGpu(tiny(issue_width=4), [roles], 1, 1, exact=True)
    exact.run()
    assert abs(run(tiny(issue_width=4), roles).cycles - exact.now) <= max(map(len, codes))


def small_cases() -> list[str]:
    """A phased, a looped and a persistent trace, the last in both schedules, each held against the reference."""
    gpu = tiny(operand_share=0.5, gemm_gap=45, wgmma_tail=65, costs=(("WGMMA", 17), ("MB_WAIT", 40)))
    softmax = ["PHASE cycles=64 fp32=64 mufu=0 operands=70", "PHASE cycles=256 fp32=64 mufu=256 operands=0"]
    ring = "sid=1 stages=2 counter=0"
    load = [f"ACQUIRE_STAGE {ring}", f"TMA_TENSOR map=0 at=0,0,0 {ring} advance=1 step=128"]
    use = [f"MB_WAIT {ring}", "4 * WGMMA cycles=88", "WGMMA_COMMIT", *softmax, "WGMMA_WAIT count=0",
           f"RELEASE_STAGE {ring} advance=1"]  # fmt: skip

    def roles(count: int) -> list[Program]:
        around = (["BUBBLES cycles=1", f"LOOP bid=0 count={count}"], ["END_LOOP bid=0", "WGMMA_COMMIT"])
        return [program(*around[0], *body, *around[1]) for body in (load, use, use)]

    endings = [compare(gpu, [program("3 * WGMMA cycles=100", *softmax), program(*softmax)], 2, 1)]
    endings.append(compare(gpu, roles(5), 2, 7))
    for schedule in ("static", "dynamic"):
        endings.append(compare(replace(gpu, schedule=schedule, sms=2), roles(0), 7, 7, turns=[3, 1, 0, 2, 4, 1, 1]))
    return endings


def test_small_cases_compiled_and_in_pure_python() -> None:
    assert small_cases() == ["finished"] * 4
    script = f"import json; from {__name__} import small_cases; print(json.dumps(small_cases()))"
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, "-c", script], cwd=Path(__file__).parents[3], env=environment,
                          capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == ["finished"] * 4


@pytest.mark.parametrize("width", [1, 2])
def test_a_cost_of_one_leaves_the_turn_to_the_older_thread(width: int) -> None:
    # The arrival at 5 wakes thread 1 and ends at 6: both can issue at 6, and thread 0 is the older one. With two
    # instructions a cycle the wait, tried at 0, passes beside the arrival at 5.
    gpu = tiny(costs=(("BAR_ARRIVE", 1),), issue_width=width)
    codes = [program("BUBBLES cycles=5", "BAR_ARRIVE bid=1", "BUBBLES cycles=7"), program("BAR_WAIT bid=1 count=1")]
    done = run(gpu, codes)
    assert done.of("BUBBLES", 0) == [(0, 5), (6, 13)]
    assert done.of("BAR_WAIT", 1) == [(1, 7) if width == 1 else (0, 5)]
    assert compare(gpu, codes, 1, 1) == "finished"
