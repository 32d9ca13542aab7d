"""Random small streams: no rule broken, nothing lost, and command by command what the plain program does."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from presets import loader
from presets.dram_specs import DramChannelSpec
from simfa import dram_channel
from simfa.dram_channel import Requests
from simfa.memory.channel.mapping import MAPPINGS
from tests.simfa.memory.channel.plain import Access, Plain
from tests.simfa.memory.channel.rules import check, readable

SPEC = loader.load(DramChannelSpec, "hbm3-5200")
# Small queues fill and drain within a short stream; a short interval refreshes within it.
TIGHT = loader.override(
    SPEC,
    {
        "controller.read_queue_entries": "6",
        "controller.write_queue_entries": "6",
        "timing.refi_cycles": "400",
        "timing.rfc_cycles": "60",
    },
)
TRACE = 10_000
OF_OTHERS = ("M1-HBM2E", "M1-LPDDR5X")  # mappings of other organisations
PEAK_GBS = 41.6


@st.composite
def streams(draw, longest: int = 40):
    """Few rows and banks, so that hits, conflicts, turnarounds, merges and forwards all occur."""
    count = draw(st.integers(1, longest))
    size = draw(st.sampled_from([32, 64, 128]))
    seed = np.random.default_rng(draw(st.integers(0, 2**32)))
    near = draw(st.sampled_from([1 << 8, 1 << 12, 1 << 18, 1 << 30]))
    address = seed.integers(0, near // 32, count) * 32
    writes = (seed.random(count) < draw(st.sampled_from([0.0, 0.3, 0.5, 1.0]))).astype(np.int64)
    arrival = None
    if draw(st.booleans()):
        arrival = np.cumsum(seed.integers(0, draw(st.sampled_from([2, 20, 300])), count))
    return Requests(address, writes, size, arrival)


OPTIONS = {
    "outstanding": st.sampled_from([1, 3, 16, 64]),
    "mapping": st.sampled_from(sorted(name for name in MAPPINGS if name not in OF_OTHERS)),
    "refresh": st.sampled_from(dram_channel.REFRESHES),
}


@settings(deadline=None, max_examples=150)
@given(requests=streams(150), spec=st.sampled_from([SPEC, TIGHT]), options=st.fixed_dictionaries(OPTIONS))
def test_no_command_breaks_a_rule_and_nothing_is_lost(requests, spec, options) -> None:
    result = dram_channel.run(spec, requests, trace=TRACE, **options)
    assert len(result.trace) == sum(result.commands.values()) < TRACE
    check(readable(result.trace, spec.organisation), spec.timing.by_name())
    accesses = requests.size_bytes // 32
    writes = accesses * int(requests.is_write.sum())
    reads = accesses * requests.is_write.size - writes
    assert result.commands["RD"] + result.forwarded == reads
    assert result.commands["WR"] + result.merged == writes
    assert (result.done_ticks >= result.entered_ticks).all()
    assert (np.diff(result.entered_ticks) >= 0).all()
    again = dram_channel.run(spec, requests, trace=TRACE, **options)
    assert (again.trace == result.trace).all() and (again.done_ticks == result.done_ticks).all()


def plain(spec, requests: Requests, *, outstanding: int, mapping: str, refresh: str) -> Plain:
    stream = dram_channel._stream(spec, requests, mapping, outstanding)
    each = stream.accesses
    accesses = [
        Access(order // each, bool(requests.is_write[order // each]), *map(int, where))
        for order, where in enumerate(zip(stream.bank, stream.row, stream.block, strict=True))
    ]
    grouped = [accesses[first : first + each] for first in range(0, len(accesses), each)]
    arrivals = None if requests.arrival_ticks is None else [int(tick) for tick in requests.arrival_ticks]
    return Plain(spec, grouped, outstanding, arrivals, refresh == "all-bank").run()


@settings(deadline=None, max_examples=150)
@given(requests=streams(), spec=st.sampled_from([SPEC, TIGHT]), options=st.fixed_dictionaries(OPTIONS))
def test_skipping_idle_ticks_changes_no_command(requests, spec, options) -> None:
    result = dram_channel.run(spec, requests, trace=TRACE, **options)
    slow = plain(spec, requests, **options)
    assert readable(result.trace, spec.organisation) == slow.trace
    assert [slow.done[index] for index in range(len(slow.done))] == result.done_ticks.tolist()
    assert [slow.entered[index] for index in range(len(slow.entered))] == result.entered_ticks.tolist()


@pytest.mark.parametrize("stride", [32, 64, 96, 4096])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_no_channel_moves_more_than_its_peak(stride: int, share: float) -> None:
    writes = (np.random.default_rng(7).random(20_000) < share).astype(np.int64)
    result = dram_channel.run(SPEC, Requests(np.arange(20_000) * stride, writes, 32), outstanding=128)
    bandwidth = dram_channel.statistics(result)["bandwidth_gbs"]
    assert SPEC.bandwidth_bytes_per_s() == pytest.approx(PEAK_GBS * 1e9)
    assert bandwidth is not None and 0 < bandwidth <= PEAK_GBS
