"""Queue levels over time: against a plain second count, against Little's law, bounded for any length of run."""

from typing import Any

import numpy as np
import pytest

from simfa import occupancy, simulate
from simfa.engine import gauges, loop
from simfa.memory.dram import TICKS
from tests.simfa import harness
from tests.simfa.experiments import experiment
from tests.simfa.harness import LINE, lines, program, tiny
from tests.simfa.test_simulate import run_python

LOADS = program(*("TMA_TENSOR map=0 row=0 sid=1", "MB_WAIT sid=1") * 3)
MATH = program(*("12 * WGMMA cycles=64", "WGMMA_COMMIT", "WGMMA_WAIT count=0") * 2)
BUSY = tiny(sms=2, near_cycles=300, far_cycles=300, slice_cycles=3, dram_line_cycles=5, dram_latency_cycles=100)


def observed(gpu: harness.Tiny, sm: int = 0, **options: Any) -> tuple[harness.machine.Machine, dict[str, Any]]:
    built = harness.build(gpu, [LOADS, MATH], maps=[lines(40)], **options)
    meters = gauges.make_gauges(sm)
    loop.begin(built)
    simulate._finish(built, None, None, meters, simulate.CHUNK_EVENTS)
    return built, occupancy.columns(meters, built)


def counted_cycle_by_cycle(gpu: harness.Tiny, sm: int, **options: Any) -> np.ndarray:
    """The second count: event by event, every level held from one event's cycle to the next. Shape (cycles, 7)."""
    built = harness.build(gpu, [LOADS, MATH], maps=[lines(40)], **options)
    loop.begin(built)
    found: list[list[float]] = []

    def levels(at: int) -> list[float]:
        engines, sms, cache = built.engines.engines, built.state.sms, built.memory.cache
        ahead = [np.maximum(unit["free_ticks"] / TICKS - at, 0).mean() for unit in (cache.slices, cache.channels)]
        own = [engines["inflight"][sm], engines["next"][sm] - engines["oldest"][sm], sms["buffer"][sm]]
        return [*own, engines["inflight"].mean(), sms["buffer"].mean(), *ahead]

    found.append(levels(0))
    status = loop.RUNNING
    while status == loop.RUNNING:
        built.queue.header[0]["stop_at"] = built.queue.header[0]["now"] + 1
        status = loop.advance(built, 10**9)
        while status == loop.PAUSED and len(found) <= built.queue.header[0]["now"]:
            found.append(levels(len(found)))
        status = loop.RUNNING if status == loop.PAUSED else status
    return np.array(found)


def test_bucket_means_are_those_of_a_count_at_every_cycle() -> None:
    options = {"ctas": 4, "bases": [[0], [64 * LINE], [128 * LINE], [0]]}
    _, table = observed(BUSY, sm=1, **options)
    expected = counted_cycle_by_cycle(BUSY, 1, **options)
    assert len(expected) > 1000
    for index, gauge in plain_gauges().items():
        levels = expected[:, index]
        assert levels.max() > 0, gauge.title
        for start, end, mean in zip(table["start_cycle"], table["end_cycle"], table[gauge.column], strict=True):
            assert mean == pytest.approx(levels[start:end].mean(), rel=1e-5, abs=1e-6), (gauge.title, start)


def test_lines_in_flight_add_up_to_their_latencies() -> None:
    built, table = observed(BUSY, ctas=2)  # Little's law; every cycle is sampled in so short a run
    for sm in range(2):
        built, table = observed(BUSY, sm=sm, ctas=2)
        line_cycles = (table["sm_tma_lines"] * (table["end_cycle"] - table["start_cycle"])).sum()
        assert line_cycles == pytest.approx(int(built.engines.engines["latency_cycles"][sm]), rel=1e-5)


def test_buckets_follow_each_other_from_cycle_0_to_the_end() -> None:
    built, table = observed(BUSY, ctas=4)
    assert table["start_cycle"][0] == 0
    assert (table["start_cycle"][1:] == table["end_cycle"][:-1]).all()
    assert table["end_cycle"][-1] == built.queue.header[0]["now"] + 1
    assert (np.diff(table["start_cycle"]) == gauges.FIRST_BUCKET_CYCLES).all()


def test_levels_stay_within_the_sizes_of_their_queues() -> None:
    run = simulate.run(experiment("--llm llama3-8b --seq 1024"), timeline_sm=3)
    table = run.seen.occupancy
    assert table["sm_tma_lines_max"].max() == table["tma_lines_max"].max() == 64
    assert table["sm_wgmma_entries_max"].max() <= table["wgmma_entries_max"].max() <= 16
    for gauge in plain_gauges().values():
        assert (table[gauge.column] <= table[f"{gauge.column}_max"] + 1e-6).all()
        assert (table[gauge.column] >= 0).all()


def test_memory_is_bounded_however_long_a_run_takes() -> None:
    built, table = observed(tiny(near_cycles=258), ctas=1)
    short = len(table["start_cycle"])
    built, table = observed(tiny(near_cycles=300_000_000), ctas=1)
    assert built.queue.header[0]["now"] > 900_000_000
    assert short < gauges.BUCKETS // 2 <= len(table["start_cycle"]) <= gauges.BUCKETS
    widths = np.unique(np.diff(table["start_cycle"]))
    assert len(widths) == 1 and widths[0] % gauges.SAMPLES_PER_BUCKET == 0
    # 40 lines wait for 300 million cycles, three times: the mean survives all merging.
    cycles = table["end_cycle"] - table["start_cycle"]
    assert np.average(table["sm_tma_lines"], weights=cycles) == pytest.approx(40, rel=1e-3)


@pytest.mark.parametrize("options", ["--llm llama3-8b --seq 512", "--llm llama3-8b --seq 700 --causal"])
def test_watching_queues_changes_no_cycle_and_no_count(options: str) -> None:
    plain, watched = simulate.run(experiment(options)), simulate.run(experiment(options), timeline_sm=7)
    assert plain.seen.occupancy == {} and len(watched.seen.occupancy["start_cycle"]) > 100
    assert plain.result.extra | {"wall_s": 0} == watched.result.extra | {"wall_s": 0}
    assert all((plain.seen.ctas[name] == watched.seen.ctas[name]).all() for name in plain.seen.ctas)


def test_an_observed_run_reports_progress_and_can_be_stopped() -> None:
    asked: list[float] = []
    with pytest.raises(simulate.Cancelled):
        simulate.run(
            experiment("--llm llama3-8b --seq 2048"),
            timeline_sm=0,
            progress=asked.append,
            should_stop=lambda: len(asked) >= 3,
        )
    assert len(asked) == 3 and asked == sorted(asked)


def test_a_deadlock_is_reported_from_an_observed_run_too() -> None:
    built = harness.build(tiny(), [program("MB_WAIT sid=1")])
    loop.begin(built)
    with pytest.raises(simulate.SimulationError, match="deadlock at cycle"):
        simulate._finish(built, None, None, gauges.make_gauges(0), simulate.CHUNK_EVENTS)


def plain_gauges() -> dict[int, occupancy.Gauge]:
    """The gauges of a machine without queues in its memory."""
    return {index: gauge for index, gauge in occupancy.GAUGES.items() if not gauge.bounded}


def test_bounded_queues_are_sampled_too() -> None:
    todo = experiment("--llm llama3-8b --seq 512 --set l2_timing.queues=bounded")
    table = simulate.run(todo, timeline_sm=0).seen.occupancy
    assert table["l2_queue_entries_max"].max() > 0
    assert 0 < table["l2_mshr_entries_max"].max() <= todo.gpu.l2_timing.mshr_entries


def means_of_a_small_run() -> list[float]:
    """Every gauge's sum of means, for the comparison below."""
    _, table = observed(BUSY, ctas=2)
    return [float(table[gauge.column].sum()) for gauge in plain_gauges().values()]


def test_pure_python_sees_the_same_levels() -> None:
    script = "import json; from tests.simfa.test_occupancy import means_of_a_small_run as f; print(json.dumps(f()))"
    assert run_python(script, NUMBA_DISABLE_JIT="1") == pytest.approx(means_of_a_small_run(), rel=1e-6)
