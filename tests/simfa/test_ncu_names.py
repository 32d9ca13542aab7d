"""The simulator's counts under Nsight Compute's names agree with its own record."""

import pytest

from presets.record import to_record
from simfa import simulate
from tests.simfa.experiments import experiment


@pytest.fixture(scope="module")
def record():
    case = experiment("--llm llama3-8b --seq 512")
    return to_record(case, simulate.run(case).result)


def test_time_traffic_and_utilisation_are_the_records_own(record) -> None:
    ncu = record["ncu"]
    assert ncu["gpu__time_duration.sum"] == pytest.approx(record["latency_us"] * 1e3)
    assert ncu["dram__bytes.sum"] == record["dram_bytes"]
    assert ncu["dram__bytes_read.sum"] + ncu["dram__bytes_write.sum"] == ncu["dram__bytes.sum"]
    assert ncu["lts__t_sectors.sum"] * 32 == record["l2_bytes_coalesced"]
    assert ncu["sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"] == pytest.approx(
        100 * record["tensor_core_utilization"]
    )


def test_sm_side_bytes_are_eq_2_and_the_l2_serves_the_output_once(record) -> None:
    ncu = record["ncu"]
    output = 2 * 32 * 512 * 128
    assert ncu["l1tex__m_l1tex2xbar_write_bytes.sum"] == output == ncu["lts__t_sectors_op_write.sum"] * 32
    assert ncu["l1tex__m_xbar2l1tex_read_bytes.sum"] == record["l2_bytes"] - output
    assert ncu["lts__t_sectors_op_read.sum"] + ncu["lts__t_sectors_op_write.sum"] == ncu["lts__t_sectors.sum"]


def test_misses_are_each_line_once_at_this_length(record) -> None:
    # Q, K and V are read, O is allocated by its stores: Eq. (3)'s bytes, each line missing once.
    ncu = record["ncu"]
    assert ncu["lts__t_sectors_lookup_miss.sum"] * 32 == 2 * 128 * (2 * 32 * 512 + 2 * 8 * 512)
    assert ncu["lts__t_sector_hit_rate.pct"] == pytest.approx(100 * record["l2_hit_rate"])


def test_the_launch_is_the_grid(record) -> None:
    assert record["ncu"]["launch__grid_size"] == 32 * 4
    assert record["ncu"]["launch__block_size"] == 3 * 128
