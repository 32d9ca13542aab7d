"""The bounded hierarchy of a preset: what it needs, how latency is kept, what is refused with which words."""

import pytest

from presets.errors import NotModelled, PresetError
from simfa import launch, simulate
from simfa.memory.bounded.state import Bounded
from tests.simfa.experiments import SMALL, experiment

BOUNDED = f"{SMALL} --seq 200 --set l2_timing.queues=bounded"
COMMANDS = f"{BOUNDED} --set dram.channel_model=commands"


def test_reservations_are_the_default() -> None:
    assert not isinstance(launch.build(experiment(f"{SMALL} --seq 200"), 0, -1).memory, Bounded)
    assert isinstance(launch.build(experiment(BOUNDED), 0, -1).memory, Bounded)


@pytest.mark.parametrize(("share", "there"), [("0", (0, 0)), ("0.5", (129, 207)), ("1", (258, 414))])
def test_the_latency_is_split_around_the_slice(share: str, there: tuple[int, int]) -> None:
    machine = launch.build(experiment(f"{BOUNDED} --set l2_timing.request_latency_share={share}"), 0, -1)
    limits = machine.memory.hierarchy.limits[0]
    assert (limits["near_request_cycles"], limits["far_request_cycles"]) == there
    assert limits["near_request_cycles"] + limits["near_response_cycles"] == 258
    assert limits["far_request_cycles"] + limits["far_response_cycles"] == 414


def test_dram_ticks_and_sm_cycles_stand_in_their_exact_ratio() -> None:
    clock = launch.build(experiment(COMMANDS), 0, -1).memory.commands.config[0]
    assert (clock["ticks"], clock["cycles"]) == (260, 183)  # 2 x 1300 MHz to 1830 MHz


def test_a_single_miss_takes_as_long_as_from_an_in_order_channel() -> None:
    # One CTA that reads one Q tile: the first line to arrive is an unloaded miss, near or far, in every model.
    latency = "--heads-q 1 --heads-kv 1 --head-dim 64 --seq 1 --seq-kv 1 --set sm.count=2"
    cycles = [
        simulate.run(experiment(f"{latency} {mode} --set dram.refresh=none")).result.extra["cycles"]
        for mode in ("", "--set l2_timing.queues=bounded",
                     "--set l2_timing.queues=bounded --set dram.channel_model=commands")
    ]  # fmt: skip
    assert cycles[0] == cycles[1]
    assert abs(cycles[2] - cycles[0]) <= 2  # a DRAM tick is 0.7 cycles, for K and for V


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (f"{SMALL} --seq 9 --set dram.channel_model=commands", "needs l2_timing.queues bounded"),
        (f"{COMMANDS} --set dram.channel_preset=hbm9", "unknown dram 'hbm9'"),
        (f"{COMMANDS} --set dram.mapping=M7", "unknown mapping 'M7'"),
    ],
)
def test_what_cannot_be_coupled_is_refused(options: str, said: str) -> None:
    with pytest.raises(NotModelled, match=said):
        simulate.run(experiment(options))


@pytest.mark.parametrize("option", ["l2_timing.queues=both", "l2_timing.request_latency_share=1.5",
                                    "dram.channel_model=ideal", "dram.queue_lines=0"])  # fmt: skip
def test_bad_values_are_refused(option: str) -> None:
    with pytest.raises(PresetError, match=option.split("=")[0]):
        experiment(f"{BOUNDED} --set {option}")
