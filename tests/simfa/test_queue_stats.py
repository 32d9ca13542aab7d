"""Occupancies of bounded queues against cases worked out by hand, and within their bounds on a kernel."""

import pytest

from simfa import queue_stats, simulate
from tests.simfa.experiments import experiment
from tests.simfa.harness import SETUP, lines, program, run, tiny

LOAD = program("TMA_TENSOR map=0 row=0 sid=0", "MB_WAIT sid=0")


def test_reservations_have_no_queues() -> None:
    assert queue_stats.queues(run(tiny(), [LOAD]).machine) == {}


def test_means_and_peaks_by_hand() -> None:
    # Ten misses arrive two a cycle at a slice that needs 4 for each; the k-th, come at k // 2, is served at 4 k.
    gpu = tiny(bounded=True, slice_cycles=4, dram_latency_cycles=100, dram_line_cycles=10)
    done = run(gpu, [LOAD], [lines(10)])
    found = queue_stats.queues(done.machine)["queues"]
    # The k-th read begins at 10 k, its fill comes 100 later, so its MSHR is held from 4 k to 10 k + 100.
    assert done.cycles == SETUP + 258 + 90 + 100
    assert found["request"]["mean"] == pytest.approx(sum(4 * k - k // 2 for k in range(10)) / done.cycles)
    assert found["mshr"]["mean"] == pytest.approx(sum(6 * k + 100 for k in range(10)) / done.cycles)
    assert found["dram"]["mean"] == pytest.approx(sum(6 * k for k in range(10)) / done.cycles)
    # The tenth comes at 4, in the cycle in which 1 is served; read 9 comes at 36, when reads 0 to 3 have begun.
    assert (found["request"]["most"], found["mshr"]["most"], found["dram"]["most"]) == (9, 10, 6)
    assert found["stalls"] == {"mshr": 0, "response": 0, "dram": 0, "request": 0}
    assert found["sm_held_share"] == 0


@pytest.mark.parametrize("model", ["in-order", "commands"])
def test_a_kernels_record_says_how_full_its_queues_were(model: str) -> None:
    options = f"--llm llama3-8b --seq 512 --set l2_timing.queues=bounded --set dram.channel_model={model}"
    found = simulate.run(experiment(options)).result.extra["queues"]
    for name, entries in (("request", 32), ("response", 128), ("mshr", 256)):
        queue = found[name]
        assert queue["entries"] == entries
        assert 0 < queue["mean"] <= queue["most"] <= entries
    assert found["dram"]["most"] <= found["dram"]["entries"]
    assert found["stalls"]["dram"] > 0  # a cold L2: everything comes from DRAM
