"""A sampled launch on a small GPU: against the whole one, with nothing left out, and where there is no sample."""

import json

import numpy as np
import pytest

from presets.errors import NotModelled
from presets.experiment import Experiment
from simfa import launch, simulate, tiles
from simfa.__main__ import main
from simfa.sampling import design, groups, kept, sampled, shorten
from simfa.sampling.design import Design
from tests.simfa.experiments import experiment

GPU = "--set sm.count=4 --set l2.bytes=4MiB --head-dim 128"
RESIDENT = f"{GPU} --heads-q 8 --heads-kv 2 --seq 4096"
STREAMING = f"{GPU} --heads-q 8 --heads-kv 2 --seq 16384 --set l2.bytes=1MiB"
CAUSAL = f"{GPU} --heads-q 8 --heads-kv 2 --seq 4096 --causal"
PERSISTENT = f"{RESIDENT} --params calibrated"
HEADS_FASTEST = (
    "--gpu gb10 --kernel cutile-fa-64x64 --set sm.count=4 --set l2.bytes=4MiB --head-dim 128 --heads-q 4 --seq 2048"
)
KEYS = {"latency_error_pct", "dram_error_pct", "dram_read_error_pct", "dram_write_error_pct", "sampled_fraction"}


def whole(case: Experiment) -> simulate.Result:
    return simulate.run(case).result


@pytest.mark.parametrize("options", [RESIDENT, CAUSAL, PERSISTENT, f"{PERSISTENT} --causal", HEADS_FASTEST])
def test_with_nothing_left_out_it_is_the_whole_run(options: str) -> None:
    case = experiment(options)
    plan = tiles.plan(case)
    everything = np.arange(len(plan.steps))
    count = len(kept.units(case, plan).sizes)
    all_steps = Design(everything, everything, count, (shorten.steps_of(case),), (shorten.whole_capacity(case),))
    samples = sampled._samples(case, plan, all_steps, 0, None, None)
    result = sampled._result(case, plan, all_steps, groups.groups(case, plan, all_steps), samples)
    full = whole(case)
    for key in ("latency_s", "flops", "l2_bytes", "dram_read_bytes", "dram_write_bytes", "tensor_core_utilization"):
        assert getattr(result, key) == pytest.approx(getattr(full, key), rel=1e-12), key
    assert result.extra["latency_error_pct"] == result.extra["dram_error_pct"] == 0


@pytest.mark.parametrize("options", [RESIDENT, CAUSAL, PERSISTENT, f"{PERSISTENT} --causal --set l2.bytes=8MiB"])
def test_a_part_stands_for_the_whole(options: str) -> None:
    case = experiment(options)
    result = sampled.run(case, lines=1_200_000)
    full = whole(case)
    assert result is not None and result.extra["sampled_fraction"] < 0.85
    assert result.latency_s == pytest.approx(full.latency_s, rel=0.05)
    claimed = result.extra["dram_error_pct"] / 100
    assert result.dram_bytes == pytest.approx(full.dram_bytes, rel=max(0.08, 2 * claimed))
    assert result.l2_bytes == full.l2_bytes and result.flops == full.flops


def test_k_and_v_that_do_not_fit_are_read_by_every_wave() -> None:
    case = experiment(STREAMING)
    result = sampled.run(case, lines=6_000_000)
    assert result is not None and result.dram_read_bytes is not None
    waves = 8 * 128 / 4
    one_pass = 2 * 16384 * 256
    assert result.dram_read_bytes == pytest.approx(waves * one_pass + 8 * 16384 * 256, rel=0.1)
    assert result.regime == "realistic"


def test_longer_is_slower_and_moves_more() -> None:
    results = [sampled.run(experiment(f"{RESIDENT} --seq {n}"), lines=2_000_000) for n in (4096, 8192, 16384)]
    times = [result.extra["cycles"] for result in results if result]
    traffic = [result.dram_bytes for result in results if result]
    assert len(times) == 3
    assert times == sorted(times) and traffic == sorted(traffic)  # type: ignore[type-var]


def test_no_error_is_negative_and_equal_seeds_answer_equally() -> None:
    case = experiment(RESIDENT)
    first, second = (sampled.run(case, lines=2_000_000) for _ in range(2))
    assert first is not None and second is not None
    assert all(first.extra[key] >= 0 for key in KEYS)
    assert {**first.extra, "wall_s": 0} == {**second.extra, "wall_s": 0}


def test_a_budget_is_kept_within_its_double() -> None:
    case = experiment("--llm llama3.1-405b --seq 65536")
    plan = tiles.plan(case)
    found = design.design(case, plan)
    assert found is not None
    lines = shorten.tile_bytes(case) // 128
    runs = len(found.kept) * sum(found.steps) + len(found.fewer) * found.steps[-2]
    assert runs * lines < 2 * design.LINES


def test_progress_rises_and_a_stop_stops() -> None:
    case, seen = experiment(RESIDENT), list[float]()
    sampled.run(case, lines=2_000_000, progress=seen.append)
    assert seen == sorted(seen) and seen[-1] == pytest.approx(1)
    with pytest.raises(simulate.Cancelled):
        sampled.run(case, lines=2_000_000, should_stop=lambda: True)


def test_a_sawtooth_is_refused_in_words() -> None:
    case = experiment(f"{RESIDENT} --set pipeline.kv_traversal=sawtooth")
    with pytest.raises(NotModelled, match="no sample of pipeline.kv_traversal=sawtooth"):
        sampled.run(case)


def test_bytes_at_the_sms_are_exact_with_partial_tiles() -> None:
    case = experiment(f"{GPU} --heads-q 2 --heads-kv 1 --seq 1000")
    assert sampled.l2_bytes(case, tiles.plan(case)) == whole(case).l2_bytes
    assert shorten.query_rows(launch.tensor_maps(case), tiles.plan(case)) == 2 * 1000


def test_the_command_adds_error_and_fraction(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(f"run {GPU} --heads-q 2 --seq 512 --sample --json --quiet".split()) == 0
    record = json.loads(capsys.readouterr().out)
    assert set(record) >= KEYS
    assert record["latency_error_pct"] == 0 and record["sampled_fraction"] == 1
    assert any("simulated whole" in note for note in record["notes"])


def test_without_json_the_line_says_what_was_sampled(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(f"run {GPU} --heads-q 2 --seq 512 --sample --quiet".split()) == 0
    assert "sample of 100.00%: time within about 0.0 %" in capsys.readouterr().out


@pytest.mark.parametrize(("options", "words"), [
    ("--heads-q 2 --head-dim 128 --seq 512 --sample --timeline t.json", "--timeline needs the whole simulation"),
    ("some.trace --sample", "--sample: a trace is simulated whole"),
])  # fmt: skip
def test_what_a_sample_cannot_show_is_refused(capsys: pytest.CaptureFixture[str], options: str, words: str) -> None:
    assert main(["run", *options.split()]) == 2
    assert words in capsys.readouterr().err


def test_without_the_option_nothing_is_added(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(f"run {GPU} --heads-q 2 --seq 512 --json --quiet".split()) == 0
    assert not KEYS & set(json.loads(capsys.readouterr().out))
