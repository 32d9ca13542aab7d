"""Whatever the traffic: bounded queues keep their bounds, lose nothing, move the bytes that reservations move."""

import json
import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simfa import launch, simulate
from simfa.memory import hashing
from simfa.memory.bounded.state import Bounded
from simfa.memory.dram import TICKS
from tests.simfa.experiments import SMALL, experiment
from tests.simfa.harness import Outcome, Tiny, drain, leaks, lines, outcome, program, run, tiny
from tests.simfa.harness import drive as finish

BOUNDED = "--set l2_timing.queues=bounded"
COMMANDS = f"{BOUNDED} --set dram.channel_model=commands"
MODES = {"reservations": "", "in-order": BOUNDED, "commands": COMMANDS}


def check(done: Outcome) -> None:
    """Every invariant of a finished machine, in either mode."""
    machine = done.machine
    memory, engines = machine.memory, machine.engines.engines
    cache, totals = memory.cache, memory.totals[0]
    slices = cache.slices
    requests = int(engines["load_lines"].sum() + engines["store_lines"].sum())
    assert requests == int(slices["accesses"].sum() + totals["coalesced"])
    assert int(slices["accesses"].sum()) == int((slices["hits"] + slices["merges"] + slices["misses"]).sum())
    check_tags(cache)
    check_budget(memory, done.cycles)
    if isinstance(memory, Bounded):
        check_bounds(memory, done.cycles)
        drain(machine)
    assert leaks(machine) == []


def check_budget(memory: Any, cycles: int) -> None:
    """No DRAM channel moved more than its rate allows, but for what is left in its queue at the end."""
    channels, config = memory.cache.channels, memory.cache.config[0]
    lines, period, elapsed = channels["reads"] + channels["writes"], config["dram_line_ticks"], (cycles + 1) * TICKS
    if not isinstance(memory, Bounded):
        lines, left = channels["reads"], 1  # reservations take any number of writes that nobody waits for
    elif memory.hierarchy.fronts["accesses"].max() == 0:
        left = int(memory.hierarchy.limits[0]["dram_entries"]) + 1
    else:  # a line is two accesses of two clocks, four ticks, in each of the two pseudo-channels
        clock = memory.commands.config[0]
        period, left = 8, 16 + 16
        elapsed = (cycles + 1) * int(clock["ticks"]) // int(clock["cycles"])
    assert (lines * period <= elapsed + left * period).all()


def check_tags(cache: Any) -> None:
    """No line is in one slice twice, and each is in the set that the hash names, at home or as a near copy."""
    config = cache.config[0]
    rows, ways = np.nonzero(cache.tags)
    found = cache.tags[rows, ways].astype(np.int64) - 1
    slices, sets = int(config["slices"]), int(config["sets"])
    assert len(np.unique(found * slices + rows // sets)) == len(found)
    fold = getattr(hashing.fold, "py_func", hashing.fold)
    set_of = getattr(hashing.set_of, "py_func", hashing.set_of)
    folded = fold(found, int(config["slice_hash"]))
    assert (rows % sets == set_of(folded, slices, sets)).all()
    if config["copy_share"] == 0:
        assert (rows // sets == folded % slices).all()


def check_bounds(memory: Bounded, cycles: int) -> None:
    """No queue was ever fuller than its size; stalls and waiting times fit the run."""
    parts, limits = memory.hierarchy, memory.hierarchy.limits[0]
    slices, channels = parts.cache.slices, parts.cache.channels
    assert slices["request_most"].max() <= limits["request_entries"]
    assert slices["response_most"].max() <= limits["response_entries"]
    assert slices["mshr_most"].max() <= parts.mshrs.shape[1]
    assert (slices["mshr_cycles"] <= cycles * parts.mshrs.shape[1]).all()
    assert (slices["request_cycles"] <= cycles * limits["request_entries"]).all()
    assert (parts.sms["held_cycles"] <= cycles).all()
    if parts.fronts["accesses"].max() == 0:
        assert channels["most"].max() <= limits["dram_entries"]
    else:
        assert channels["most"].max() <= memory.commands.queues.queues["capacity"].max()


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
@pytest.mark.parametrize("options", [
    "--llm llama3-8b --seq 512",
    f"{SMALL} --seq 700 --causal",
    f"{SMALL} --seq 700 --set l2.bytes=320KiB --set l2_timing.mshr_entries=2",
    f"{SMALL} --seq 700 --set l2.bytes=320KiB --set l2_timing.request_queue_entries=1"
    " --set l2_timing.response_queue_entries=1 --set dram.queue_lines=1 --set dram.channels=7",
    f"{SMALL} --seq 700 --set l2.bytes=1280KiB --set l2_timing.remote_copy_probability=0.5 --set l2.slices=16"
    " --set dram.channels=4",
])  # fmt: skip
def test_a_kernel_keeps_every_invariant(options: str, mode: str) -> None:
    machine = launch.build(experiment(f"{options} {mode}"), 0, 0)
    check(finish(machine))


@pytest.mark.parametrize("mode", [BOUNDED, COMMANDS], ids=["in-order", "commands"])
def test_both_hierarchies_move_the_same_bytes_of_a_kernel(mode: str) -> None:
    plain, bounded = (simulate.run(experiment(f"--llm llama3-70b --seq 512 {options}")).result
                      for options in ("", mode))  # fmt: skip
    assert plain.l2_bytes == bounded.l2_bytes
    assert plain.dram_read_bytes == bounded.dram_read_bytes
    assert plain.extra["dirty_bytes_left"] == bounded.extra["dirty_bytes_left"]
    assert plain.extra["line_requests"] == bounded.extra["line_requests"]
    assert abs(bounded.extra["cycles"] / plain.extra["cycles"] - 1) < 0.1


@pytest.mark.parametrize("mode", [BOUNDED, COMMANDS], ids=["in-order", "commands"])
def test_slices_are_loaded_evenly(mode: str) -> None:
    machine = launch.build(experiment(f"--llm llama3-8b --seq 1024 {mode}"), 0, -1)
    finish(machine)
    accesses = machine.memory.cache.slices["accesses"]
    assert accesses.max() < 1.1 * accesses.mean()


@st.composite
def traffic(draw: Any) -> list[str]:
    """A thread that loads and stores boxes of a few lines, with pauses, and waits for all of it."""
    steps: list[str] = []
    loads, stores = 0, 0
    for _ in range(draw(st.integers(1, 8))):
        row = draw(st.integers(0, 12))
        if draw(st.integers(0, 3)):
            steps.append(f"TMA_TENSOR map=0 row={row} sid={loads}")
            loads += 1
        else:
            steps += [f"TMA_STORE map=0 row={row + 1000} gid={stores}", f"TMA_COMMIT gid={stores}"]
            stores += 1
        steps.append(f"BUBBLES cycles={draw(st.sampled_from([1, 2, 30, 400]))}")
    return [*steps, *(f"MB_WAIT sid={sid}" for sid in range(loads)), *["TMA_WAIT count=0"] * (stores > 0)]


GPUS = st.builds(
    tiny,
    sms=st.just(4),
    cluster=st.sampled_from([1, 2]),
    inflight_lines=st.sampled_from([1, 3, 16]),
    far_cycles=st.sampled_from([258, 414]),
    sm_partitions=st.just((0, 0, 1, 1)),
    partitions=st.just(2),
    slice_hash=st.sampled_from(["xor", "modulo"]),
    slices=st.sampled_from([2, 4]),
    sets=st.just(64),
    mshrs=st.sampled_from([1, 2, 64]),
    slice_cycles=st.sampled_from([0.0, 0.5, 2.0, 7.25]),
    dram_channels=st.sampled_from([1, 2]),
    dram_line_cycles=st.sampled_from([0.0, 5.625, 40.0]),
    dram_latency_cycles=st.sampled_from([0, 50]),
    sms_per_coalescer=st.sampled_from([1, 2]),
    request_entries=st.sampled_from([1, 2, 32]),
    response_entries=st.sampled_from([1, 3, 128]),
    request_share=st.sampled_from([0.0, 0.5, 1.0]),
    dram_queue_lines=st.sampled_from([1, 4]),
    dram_preset=st.sampled_from(["", "hbm3-5200"]),
    dram_ticks_per_cycle=st.sampled_from([Fraction(1), Fraction(260, 183)]),
    dram_refresh=st.sampled_from(["none", "all-bank"]),
)


@given(gpu=GPUS, codes=st.lists(traffic(), min_size=1, max_size=3), ctas=st.integers(1, 5))
@settings(max_examples=150, deadline=None)
def test_any_traffic_ends_with_the_same_bytes_in_both_hierarchies(gpu: Tiny, codes: Any, ctas: int) -> None:
    # The L2 holds all of it, loads and stores touch different lines: DRAM reads are the lines loaded, once each.
    plain, bounded = both(gpu, codes, ctas)
    for name in ("reads", "writes"):
        assert plain.counted(name) == bounded.counted(name)
    check(plain)
    check(bounded)


@given(gpu=GPUS, codes=st.lists(traffic(), min_size=1, max_size=3), ctas=st.integers(1, 5),
       share=st.sampled_from([0.0, 0.5, 1.0]))  # fmt: skip
@settings(max_examples=150, deadline=None)
def test_any_traffic_ends_where_lines_evict_each_other(gpu: Tiny, codes: Any, ctas: int, share: float) -> None:
    crowded = tiny(**vars(gpu) | {"sets": 1, "ways": 2, "remote_copy_probability": share})
    for done in both(crowded, codes, ctas):
        check(done)


def both(gpu: Tiny, codes: Any, ctas: int) -> tuple[Outcome, Outcome]:
    """The same programs on both hierarchies; they request the same lines."""
    roles = [program(*code) for code in codes]
    plain, bounded = (
        run(tiny(**vars(gpu) | {"bounded": mode}), roles, [lines(9)], ctas=ctas) for mode in (False, True)
    )
    for name in ("load_lines", "store_lines", "requested_bytes"):
        first, second = (int(done.machine.engines.engines[name].sum()) for done in (plain, bounded))
        assert first == second
    return plain, bounded


TINY = (
    f"{SMALL} --seq 200 --set sm.count=2 --set l2.bytes=160KiB --set l2_timing.request_queue_entries=2 {COMMANDS}"
)


def cycles_and_bytes(options: str) -> list[int]:
    """What a small kernel takes and moves."""
    result = simulate.run(experiment(options)).result
    return [result.extra["cycles"], result.dram_read_bytes or 0, result.dram_write_bytes or 0]


@pytest.mark.parametrize("mode", ["", "--set dram.channel_model=in-order"], ids=["commands", "in-order"])
def test_pure_python_gives_the_same_answer(mode: str) -> None:
    options = f"{TINY} {mode}"
    script = (
        "import json; from tests.simfa.memory.test_bounded_properties import cycles_and_bytes; "
        f"print(json.dumps(cycles_and_bytes({options!r})))"
    )
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, "-c", script], cwd=Path(__file__).parents[3], env=environment,
                          capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == cycles_and_bytes(options)


def test_equal_seeds_give_equal_runs() -> None:
    first, second = (launch.build(experiment(f"--llm llama3-8b --seq 512 {COMMANDS}"), 3, 0) for _ in range(2))
    assert outcome_of(first) == outcome_of(second)


def outcome_of(machine: Any) -> tuple[int, list[tuple[int, ...]]]:
    """Cycles and every span of SM 0."""
    done = finish(machine)
    return done.cycles, [tuple(span[2:]) for span in outcome(machine).spans]
