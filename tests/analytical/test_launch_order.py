"""SimFA-python with launch order: the paper's form at one head, hand counts, and public GB10 counters."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytical import launch_order, roofline, simfa_python
from analytical.launch_order import Order, in_flight
from analytical.simfa_python import Problem
from presets import loader
from presets.arguments import bare_shape, build
from presets.experiment import Experiment
from presets.measured_points import rows
from presets.specs import GpuSpec, KernelSpec
from tests.presets.test_experiment import experiment

RATES = roofline.Rates.of(experiment())
MIB = 2**20

problems = st.builds(
    Problem,
    B=st.integers(1, 4),
    L=st.integers(1, 200_000),
    S=st.integers(1, 200_000),
    H_KV=st.integers(1, 16),
    G=st.integers(1, 16),
    D=st.sampled_from([64, 128, 256]),
    P=st.sampled_from([1, 2, 4]),
    causal=st.booleans(),
    T_M=st.sampled_from([64, 128, 192]),
    T_N=st.sampled_from([32, 64, 176]),
    N_SM=st.integers(1, 200),
    O_limit=st.integers(1, 4),
    size_L2_bytes=st.integers(MIB, 100 * MIB),
)
orders = st.builds(
    Order,
    head_fastest=st.booleans(),
    live_heads=st.integers(0, 20),
    sawtooth=st.booleans(),
    ways=st.sampled_from([None, 4, 16]),
)


def gb10(causal: bool, **settings: str) -> Experiment:
    """Eight heads of 128, 4,096 tokens: the shape of the public counters, by the kernel behind them."""
    dotted = {key.replace("__", "."): value for key, value in settings.items()}
    gpu, kernel = loader.load(GpuSpec, "gb10"), loader.load(KernelSpec, "cutile-fa-64x64")
    return build(bare_shape(8, 8, 128), gpu, kernel, dotted, seq_q=4096, seq_kv=4096, causal=causal)


@given(problems)
def test_one_live_head_and_a_sharp_edge_are_the_papers_form(p: Problem) -> None:
    p = replace(p, causal=False)
    ours = launch_order.estimate(p, Order(live_heads=1), RATES)
    assert ours == simfa_python.estimate(p, RATES)


@pytest.mark.parametrize("length", [8192, 51_199, 51_200, 65_536, 131_072])
def test_405b_on_h800_has_one_live_head_so_a_sharp_edge_is_the_papers(length: int) -> None:
    case = experiment("llama3.1-405b", seq_q=length, seq_kv=length)
    problem = Problem.of(case)
    assert in_flight(problem, Order.of(case)).live_heads == 1  # 16 x 64 or more CTAs per head, 132 resident
    sharp = launch_order.estimate(problem, Order(), RATES)
    assert sharp.dram_bytes == simfa_python.run(case).dram_bytes


@pytest.mark.parametrize(
    ("head_fastest", "live_heads", "expected"),
    [
        # 48 CTAs resident, 64 CTAs per head, 8 heads
        (False, 0, (1, 1, 2)),  # block-fastest: 48 of one head's 64; ceil(64 / 48) passes
        (True, 0, (8, 8, 11)),  # head-fastest: 8 heads x 6 tiles; 512 / 48 = 10.7 passes
        (False, 3, (3, 3, 4)),  # sections of three: 16 CTAs for each head's 64
        (True, 3, (3, 3, 4)),
        (False, 99, (8, 8, 11)),  # no more than there are
    ],
)
def test_heads_in_flight_by_hand(head_fastest: bool, live_heads: int, expected: tuple[int, int, int]) -> None:
    flight = in_flight(Problem.of(gb10(False)), Order(head_fastest, live_heads))
    assert (flight.live_heads, flight.reuse_heads, flight.passes) == expected


def test_head_fastest_with_more_heads_than_ctas_brings_all_heads_between_two_passes() -> None:
    p = replace(Problem.of(gb10(False)), H_KV=96)
    flight = in_flight(p, Order(head_fastest=True))
    assert (flight.live_heads, flight.reuse_heads, flight.passes) == (48, 96, 64)  # one tile row a pass
    assert not flight.fits_l2  # 96 x 2 MiB


def test_short_prompts_have_several_heads_live_even_block_fastest() -> None:
    flight = in_flight(Problem.of(experiment(seq_q=512, seq_kv=512)), Order())
    # 4 x 4 CTAs per KV head, 132 resident: 9 heads, there are 8; each CTA runs in the first wave
    assert (flight.live_heads, flight.passes) == (8, 1)


def test_eq4_on_all_live_heads() -> None:
    p = replace(Problem.of(gb10(False)), size_L2_bytes=16 * MIB)  # 8 heads x 2 MiB: equality
    assert not in_flight(p, Order(head_fastest=True)).fits_l2
    assert in_flight(replace(p, size_L2_bytes=16 * MIB + 1), Order(head_fastest=True)).fits_l2
    sharp = launch_order.dram_traffic(p, Order(head_fastest=True))
    # Q and O: 16 MiB; K and V: 16 MiB, eleven times
    assert sharp.dram_bytes == 12 * 16 * MIB
    turned = launch_order.dram_traffic(replace(p, size_L2_bytes=12 * MIB), Order(head_fastest=True, sawtooth=True))
    # every pass turns round: 12 of 16 MiB are still there, ten passes fetch 4 MiB
    assert turned.dram_bytes == 32 * MIB + 10 * 4 * MIB


def test_a_causal_pass_reads_a_prefix() -> None:
    p = replace(Problem.of(gb10(True)), size_L2_bytes=8 * MIB)
    sharp = launch_order.dram_traffic(p, Order(head_fastest=True))
    # prefixes from 8 to 16 MiB do not fit: ten passes, the mean of u over [1/2, 1] times half of them
    assert sharp.dram_bytes == pytest.approx(32 * MIB + 10 * 16 * MIB * 0.375, rel=1e-9)


MISSES = [row for row in rows("measured_traffic") if row["metric"] == "l2_miss_bytes"]


def misses(kernel: str, causal: str) -> int:
    (found,) = [r for r in MISSES if r["kernel"].startswith(kernel) and r["causal"] == causal]
    return int(found["bytes"])


def test_gb10_misses_at_4096_are_where_eight_live_heads_put_them() -> None:
    """The counters: 1.66 x Eq. (3). Launches of this kernel spread by 15 %, and fills say 50.3 MB of reads.

    With the ways of the preset (16, inferred, not fitted) the variant is 0.2 % above the misses; the closeness is
    luck: 32 ways are 24 % below, 8 ways 31 % above. The paper's form is 40 % below: it sees one head of 2 MiB.
    """
    measured = misses("cuTile", "0")
    assert measured / 33_554_432 == pytest.approx(1.66, abs=0.005)
    error = {
        ways: launch_order.run(gb10(False, l2__ways=ways)).dram_bytes / measured - 1 for ways in ("8", "16", "32")
    }
    assert launch_order.run(gb10(False)).dram_bytes / measured - 1 == error["16"] == pytest.approx(0.0025, abs=1e-3)
    assert error["8"] == pytest.approx(0.307, abs=1e-3) and error["32"] == pytest.approx(-0.244, abs=1e-3)
    assert simfa_python.run(gb10(False)).dram_bytes / measured - 1 == pytest.approx(-0.397, abs=1e-3)
    assert launch_order.run(gb10(False)).regime == "partial"


def test_gb10_causal_misses() -> None:
    """Causal passes read prefixes, so little is lost: the variant is 5.4 % above, the paper's form 2.6 % below."""
    measured = misses("cuTile", "1")
    assert launch_order.run(gb10(True)).dram_bytes / measured - 1 == pytest.approx(0.054, abs=1e-3)
    assert simfa_python.run(gb10(True)).dram_bytes / measured - 1 == pytest.approx(-0.026, abs=1e-3)


def test_flash_attention_2_on_gb10_runs_block_fastest_and_stays_ideal() -> None:
    case = gb10(True, tile__query_rows="128", pipeline__grid_order="block_fastest")
    answer = launch_order.run(case)
    assert answer.dram_bytes / misses("PyTorch", "1") - 1 == pytest.approx(-0.019, abs=1e-3)
    assert answer.regime == "ideal" and answer.extra["live_kv_heads"] == 2  # 48 of its 32 CTAs per head


def test_all_measured_misses_are_covered() -> None:
    assert len(MISSES) == 3


@given(problems, orders)
def test_traffic_lies_between_eq3_and_eq6_and_grows_with_live_heads(p: Problem, order: Order) -> None:
    dram = launch_order.dram_traffic(p, order)
    ideal = simfa_python.estimate(p, RATES).dram_ideal_bytes
    assert ideal <= dram.dram_bytes <= dram.real_bytes
    live = [launch_order.dram_traffic(p, replace(order, live_heads=n)).dram_bytes for n in (1, 2, 4, 8)]
    assert all(more >= less for less, more in zip(live, live[1:], strict=False))


@given(problems, orders)
def test_a_larger_l2_never_costs_traffic_and_a_longer_kv_never_saves_any(p: Problem, order: Order) -> None:
    dram = launch_order.dram_traffic(p, order).dram_bytes
    assert launch_order.dram_traffic(replace(p, size_L2_bytes=p.size_L2_bytes * 2), order).dram_bytes <= dram
    longer = launch_order.dram_traffic(replace(p, S=p.S * 2, causal=False), order).dram_bytes
    assert longer >= launch_order.dram_traffic(replace(p, causal=False), order).dram_bytes


@given(problems, orders)
def test_a_sawtooth_never_costs_traffic(p: Problem, order: Order) -> None:
    cyclic, turned = (
        launch_order.dram_traffic(p, replace(order, sawtooth=turn)).dram_bytes for turn in (False, True)
    )
    assert turned <= cyclic + 1  # one byte of rounding


@given(problems, orders)
def test_many_ways_come_near_the_sharp_edge_far_from_it(p: Problem, order: Order) -> None:
    p = replace(p, causal=False)
    live = in_flight(p, order)
    near, far, tiles = launch_order.distances(p, replace(order, ways=64), live.live_heads, live.reuse_heads)
    if far + tiles < p.size_L2_bytes / 3 or near > p.size_L2_bytes * 3:
        sharp, hashed = (in_flight(p, replace(order, ways=ways)).lost_share for ways in (None, 64))
        assert hashed == pytest.approx(sharp, abs=1e-6)


def test_grids_agree_with_single_points() -> None:
    lengths = np.array([1, 512, 4096, 51_199, 51_200, 200_001])
    for case in (gb10(False), gb10(True), experiment("llama3.1-405b"), experiment(causal=True, batch=3)):
        many = launch_order.sweep(case, L=lengths)
        for index, length in enumerate(lengths):
            one = launch_order.sweep(case, L=int(length))
            assert many.dram_bytes[index] == pytest.approx(one.dram_bytes, rel=1e-15)
            assert many.latency_s[index] == pytest.approx(one.latency_s, rel=1e-15)


def test_orders_can_vary_over_a_grid() -> None:
    p = Problem.of(gb10(False))
    grid = launch_order.estimate(p, Order(head_fastest=np.array([False, True]), ways=16), RATES)
    assert grid.dram_bytes.tolist() == [
        launch_order.estimate(p, Order(head_fastest=fast, ways=16), RATES).dram_bytes for fast in (False, True)
    ]


@given(problems, orders)
def test_regimes_say_where_the_ideal_line_is_left(p: Problem, order: Order) -> None:
    flight = in_flight(p, order)
    assert flight.regime == ("realistic" if flight.outgrown else "partial" if flight.off_ideal else "ideal")
    if flight.passes == 1:
        assert flight.regime == "ideal"
    many = in_flight(replace(p, S=np.array([p.S, p.S + 1])), order)
    assert (bool(many.outgrown[0]), bool(many.off_ideal[0])) == (bool(flight.outgrown), bool(flight.off_ideal))


def test_the_record_says_what_is_in_flight() -> None:
    answer = launch_order.run(gb10(False))
    assert (answer.waves, answer.extra["live_kv_heads"], answer.extra["reuse_kv_heads"]) == (11, 8, 8)
    # 16 MiB of K/V and 48 x 2 x 16 KiB of Q and O tiles in 24 MiB of 16 ways: P(Poisson(11.67) >= 16)
    assert answer.extra["lost_share"] == pytest.approx(0.1325, abs=5e-5)
    assert answer.dram_write_bytes == 8 * MIB
