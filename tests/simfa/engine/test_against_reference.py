"""The event-driven engine gives what a plain loop over cycles gives: cycles, CTA times, stalls; deadlocks too."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simfa.isa import Program
from tests.simfa.harness import Tiny, program, run
from tests.simfa.reference.compare import ENDINGS, compare, gpus

cycles = st.sampled_from([1, 2, 3, 8, 21, 40, 88])
stages, gids = st.integers(0, 2), st.integers(0, 2)


@st.composite
def kernels(draw: Any) -> list[Program]:
    """A producer and consumers in the manner of FlashAttention: rings, GEMM groups, bubbles, a store."""
    count, steps, ring = draw(st.integers(1, 2)), draw(st.integers(1, 4)), draw(st.integers(1, 3))
    producer = []
    for step in range(steps):
        producer += [f"ACQUIRE_STAGE sid={step % ring}", f"TMA_TENSOR map=0 row=0 sid={step % ring}"]
    roles = [program(*producer)]
    ping_pong = count == 2 and draw(st.booleans())
    wait_early = draw(st.booleans())
    for index in range(count):
        code = []
        for step in range(steps):
            code += [f"MB_WAIT sid={step % ring}"]
            code += [f"BAR_ARRIVE bid={1 - index}"] if ping_pong else []
            code += [f"{draw(st.integers(1, 5))} * WGMMA cycles={draw(cycles)}", "WGMMA_COMMIT"]
            code += [f"WGMMA_WAIT count={draw(st.integers(0, 2))}"] if wait_early else []
            code += [f"BAR_WAIT bid={index} count=1"] if ping_pong else []
            code += [f"BUBBLES cycles={draw(cycles)}"] if draw(st.booleans()) else []
            code += ["WGMMA_WAIT count=0", f"RELEASE_STAGE sid={step % ring}"]
        stores = draw(st.integers(0, 2))
        code += ["TMA_STORE map=0 row=0", "TMA_COMMIT"] * stores
        code += [f"TMA_WAIT count={n}" for n in range(stores - 1, -1, -1)]
        roles.append(program(*code))
    return roles


@given(gpus, kernels(), st.integers(1, 4), st.sampled_from([1, 2, 7, 30]))
@settings(max_examples=150, derandomize=True, deadline=None)
def test_kernels(gpu: Tiny, roles: list[Program], ctas: int, box_lines: int) -> None:
    assert compare(gpu, roles, ctas, box_lines) == "finished"


anything = st.one_of(
    st.builds("TMA_TENSOR map=0 row=0 sid={}".format, stages),
    st.builds("TMA_BULK gmem=0 bytes={} sid={}".format, st.sampled_from([16, 128, 1280]), stages),
    st.builds("MB_WAIT sid={}".format, stages),
    st.builds("ACQUIRE_STAGE sid={}".format, stages),
    st.builds("RELEASE_STAGE sid={}".format, stages),
    st.builds("TMA_STORE map=0 row=0 gid={}".format, gids),
    st.builds("TMA_BULK_STORE gmem=256 bytes=384 gid={}".format, gids),
    st.builds("{}_COMMIT gid={}".format, st.sampled_from(["TMA", "WGMMA"]), gids),
    st.builds("{}_WAIT gid={} count={}".format, st.sampled_from(["TMA", "WGMMA"]), gids, st.integers(0, 2)),
    st.builds("WGMMA cycles={} gid={}".format, cycles, gids),
    st.builds("BAR_ARRIVE bid={}".format, st.integers(0, 1)),
    st.builds("BAR_WAIT bid={} count={}".format, st.integers(0, 1), st.integers(1, 2)),
    st.builds("BUBBLES cycles={}".format, cycles),
)


codes = st.lists(st.lists(anything, min_size=1, max_size=14), min_size=1, max_size=3)


@given(gpus, codes, st.integers(1, 30), st.integers(1, 4))
@settings(max_examples=250, derandomize=True, deadline=None)
def test_any_instructions_in_any_order(gpu: Tiny, codes: list[list[str]], box_lines: int, ctas: int) -> None:
    """Mostly deadlocks, and what happens before them. CTAs end with operations under way; successors follow."""
    assert compare(gpu, [program(*code) for code in codes], ctas, box_lines) in ENDINGS


quiet = st.one_of(
    st.builds("TMA_TENSOR map=0 row=0 sid={}".format, stages),
    st.builds("WGMMA cycles={} gid={}".format, cycles, gids),
    st.builds("TMA_STORE map=0 row=0 gid={}".format, gids),
    st.builds("{}_COMMIT gid={}".format, st.sampled_from(["TMA", "WGMMA"]), gids),
    st.builds("{}_WAIT gid={} count={}".format, st.sampled_from(["TMA", "WGMMA"]), gids, st.integers(0, 1)),
    st.builds("BUBBLES cycles={}".format, cycles),
)


@given(gpus, st.lists(st.lists(quiet, min_size=1, max_size=10), min_size=1, max_size=3), st.integers(1, 30))
@settings(max_examples=100, derandomize=True, deadline=None)
def test_programs_that_leave_operations_behind(gpu: Tiny, codes: list[list[str]], box_lines: int) -> None:
    assert compare(gpu, [program(*code) for code in codes], 4, box_lines) == "finished"


@given(st.sampled_from([4095, 4096, 4097, 9001]), st.sampled_from([1, 7, 64]), kernels(), st.sampled_from([1, 90]))
@settings(max_examples=12, derandomize=True, deadline=None)
def test_latencies_beyond_the_event_wheel(
    latency: int, inflight: int, roles: list[Program], box_lines: int
) -> None:
    """Idle cycles are passed over, or leapt over where nothing is due for the wheel's length: same cycles."""
    gpu = Tiny(near_cycles=latency, inflight_lines=max(inflight, box_lines // 4), setup_cycles=5000)
    assert compare(gpu, roles, 2, box_lines) == "finished"


crowded = st.one_of(
    st.builds("WGMMA cycles={} gid={}".format, st.sampled_from([1, 8, 90]), st.integers(0, 40)),
    st.builds("{} * {}_COMMIT gid={}".format, st.integers(1, 34), st.sampled_from(["TMA", "WGMMA"]), gids),
    st.builds("TMA_STORE map=0 row=0 gid={}".format, st.integers(0, 40)),
    st.builds("{}_WAIT gid={} count={}".format, st.sampled_from(["TMA", "WGMMA"]), gids, st.integers(0, 31)),
)


@given(gpus, st.lists(st.lists(crowded, min_size=1, max_size=12), min_size=1, max_size=2), st.integers(1, 9))
@settings(max_examples=40, derandomize=True, deadline=None)
def test_more_groups_than_the_table_holds(gpu: Tiny, codes: list[list[str]], box_lines: int) -> None:
    assert compare(gpu, [program(*code) for code in codes], 2, box_lines) in ENDINGS


def test_a_commit_waits_for_a_place_among_thirty_two_groups() -> None:
    # The WGMMA's group and 31 empty ones behind it, committed by cycle 32; the next commit waits until it is done.
    code = [program("WGMMA cycles=500", "33 * WGMMA_COMMIT")]
    done = run(Tiny(), code)
    assert done.of("WGMMA_COMMIT") == [(33, 500)]
    assert compare(Tiny(), code, 1, 1) == "finished"


def test_both_endings_are_reached() -> None:
    assert compare(Tiny(), [program("WGMMA_COMMIT")], 1, 1) == "finished"
    assert compare(Tiny(), [program("MB_WAIT sid=0")], 1, 1) == "deadlock"


@pytest.mark.parametrize("buffer", [16, 19])
def test_a_tile_of_flash_attention(buffer: int) -> None:
    tile = ["MB_WAIT sid=0", "8 * WGMMA cycles=88", "WGMMA_COMMIT", "11 * WGMMA cycles=64", "WGMMA_COMMIT",
            "WGMMA_WAIT count=1", "RELEASE_STAGE sid=0", "BUBBLES cycles=988", "WGMMA_WAIT count=0"]  # fmt: skip
    load = ["ACQUIRE_STAGE sid=0", "TMA_TENSOR map=0 row=0 sid=0"]
    roles = [program(*load * 3), program(*tile * 3), program(*tile * 3)]
    assert compare(Tiny(issue_buffer_entries=buffer), roles, 3, 352) == "finished"


@st.composite
def clusters(draw: Any) -> list[list[Program]]:
    """Two CTAs that share the loading of a ring: each multicasts, loads for itself, or does nothing."""
    steps, ring = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    masks = draw(st.sampled_from([(3, 3), (3, 0), (2, 1), (3, 2), (0, 3), (3, None), (None, 3)]))
    count = draw(st.integers(1, 2))
    by_rank = []
    for mask in masks:
        producer = []
        for step in range(steps):
            load = f"TMA_TENSOR map=0 row=0 sid={step % ring}" + (f" multicast={mask}" if mask else "")
            producer += [] if mask is None else [f"ACQUIRE_STAGE sid={step % ring}", load]
        roles = [program(*producer, f"BUBBLES cycles={draw(cycles)}")]
        for _ in range(count):
            code = []
            for step in range(steps):
                code += [f"MB_WAIT sid={step % ring}", f"{draw(st.integers(1, 3))} * WGMMA cycles={draw(cycles)}"]
                code += ["WGMMA_COMMIT", "WGMMA_WAIT count=0"]
                code += [f"BUBBLES cycles={draw(cycles)}"] if draw(st.booleans()) else []
                code += [f"RELEASE_STAGE sid={step % ring}"]
            roles.append(program(*code))
        by_rank.append(roles)
    return by_rank


@given(
    gpus,
    clusters(),
    st.integers(1, 3),
    st.sampled_from([1, 2, 7, 30]),
    st.sampled_from([0, 100]),
    st.sampled_from([2, 90]),
)
@settings(max_examples=150, derandomize=True, deadline=None)
def test_clusters_that_multicast(
    gpu: Tiny, by_rank: list[list[Program]], pairs: int, box_lines: int, later: int, remote: int
) -> None:
    pair = replace(gpu, sms=2, cluster=2, multicast_cycles=later, remote_cycles=remote)
    assert compare(pair, by_rank, 2 * pairs, box_lines) == "finished"


several = st.one_of(
    anything,
    st.builds("TMA_TENSOR map=0 row=0 sid={} multicast={}".format, stages, st.integers(1, 3)),
)
pair_codes = st.lists(st.lists(several, min_size=1, max_size=12), min_size=2, max_size=2)


@given(gpus, st.lists(pair_codes, min_size=2, max_size=2), st.integers(1, 30), st.integers(1, 2))
@settings(max_examples=200, derandomize=True, deadline=None)
def test_any_instructions_in_a_cluster(gpu: Tiny, codes: list[list[list[str]]], box_lines: int, pairs: int) -> None:
    """Mostly deadlocks; every waiting thread of both CTAs has its line in the report."""
    by_rank = [[program(*code) for code in roles] for roles in codes]
    assert compare(replace(gpu, sms=2, cluster=2), by_rank, 2 * pairs, box_lines) in ENDINGS
