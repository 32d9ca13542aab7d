"""Loops, rings, shared pipes, costs, gaps and persistent CTAs: the engine against the per-cycle reference."""

from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.simfa.harness import Tiny, program
from tests.simfa.reference.compare import compare, gpus

cycles = st.sampled_from([0, 1, 2, 3, 8, 21, 40, 88])
costs = st.lists(
    st.tuples(
        st.sampled_from(["WGMMA", "TMA_TENSOR", "MB_WAIT", "ACQUIRE_STAGE", "BAR_WAIT", "RELEASE_STAGE"]),
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
