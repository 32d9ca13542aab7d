"""A run as its caller sees it: determinism, progress, cancelling, what is refused, pure Python, the cache."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from presets.errors import NotModelled
from presets.record import to_record
from simfa import launch, simulate
from tests.simfa.experiments import SMALL, experiment

ROOT = Path(__file__).parents[2]
TINY = f"{SMALL} --seq 300 --seq-kv 200"


def record(options: str, **run_options: Any) -> dict[str, Any]:
    case = experiment(options)
    answer = to_record(case, simulate.run(case, **run_options).result)
    del answer["wall_s"]
    return answer


def test_equal_seeds_give_identical_records_and_spans() -> None:
    case = experiment("--llm llama3-8b --seq 512")
    first, second = (simulate.run(case, seed=7, timeline_sm=3) for _ in range(2))
    assert (first.spans == second.spans).all()
    assert record("--llm llama3-8b --seq 512", seed=7) == record("--llm llama3-8b --seq 512", seed=7)


def test_watching_changes_no_timing(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = record("--llm llama3-8b --seq 512")
    assert record("--llm llama3-8b --seq 512", timeline_sm=0) == plain
    monkeypatch.setattr(simulate, "CHUNK_EVENTS", 777)  # nor does the size of the steps
    assert record("--llm llama3-8b --seq 512") == plain


def test_another_seed_moves_cycles_but_no_bytes() -> None:
    records = [record("--llm llama3-8b --seq 512", seed=seed) for seed in range(4)]
    assert len({item["cycles"] for item in records}) > 1
    for key in ("l2_bytes", "line_requests", "dram_bytes", "dirty_bytes_left", "flops"):
        assert len({item[key] for item in records}) == 1


def test_progress_grows_and_ends_at_1(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulate, "CHUNK_EVENTS", 20_000)
    seen: list[float] = []
    simulate.run(experiment("--llm llama3-8b --seq 512"), progress=seen.append)
    assert len(seen) > 5
    assert seen == sorted(seen)
    assert seen[-1] == 1.0
    assert all(0 <= share <= 1 for share in seen)


def test_a_run_that_is_told_to_stop_raises_within_one_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulate, "CHUNK_EVENTS", 10_000)
    asked: list[float] = []

    def stop() -> bool:
        return len(asked) >= 3

    with pytest.raises(simulate.Cancelled):
        simulate.run(experiment("--llm llama3-8b --seq 2048"), progress=asked.append, should_stop=stop)
    assert len(asked) == 3
    assert asked[-1] < 0.1


@pytest.mark.parametrize(("options", "words"), [
    ("--llm llama3-8b --seq 512 --gpu gb10 --kernel fa3", "not modelled on gb10: fa3 is built on wgmma"),
    ("--llm llama3-8b --seq 512 --kernel cutile-fa", "not modelled on h800: cutile-fa is built on mma.sync"),
    ("--llm llama3-8b --seq 512 --gpu gb10 --set pipeline.schedule=static", "pipeline.schedule=one_tile"),
    ("--llm llama3-8b --seq 512 --gpu gb10 --set pipeline.consumer_warpgroups=2", "consumer_warpgroups=1"),
    ("--llm llama3-8b --seq 512 --dtype fp32", "the fa3 tile does not fit: a CTA needs 425,984 B"),
    ("--llm llama3-8b --seq 512 --set pipeline.occupancy_ctas=2", "does not fit"),
    (f"{SMALL} --seq 512 --set l2.bytes=64KiB --set l2.effective_bytes=1KiB", "less than one set"),
    (f"{SMALL} --seq 512 --set l2.slices=40", "dram.channels 80 exceeds l2.slices 40"),
    (f"{SMALL} --seq 512 --set alu.mufu_op_per_cycle=1e-9", "out of the simulator's range"),
])  # fmt: skip
def test_what_cannot_be_simulated_is_refused_in_words(options: str, words: str) -> None:
    with pytest.raises(NotModelled, match=words):
        simulate.run(experiment(options))


def test_a_dram_latency_of_a_second_ends() -> None:
    cycles = record(f"{TINY} --set dram.latency_s=1")["cycles"]
    assert cycles > 1.83e9


def test_scheduler_and_issue_width_are_preset_values() -> None:
    plain = record(TINY)
    for setting in ("sm.scheduler=lrr", "sm.issue_per_cycle=2"):
        changed = record(f"{TINY} --set {setting}")
        assert changed["cycles"] != plain["cycles"]
        assert changed["l2_bytes"] == plain["l2_bytes"]
    assert record(f"{TINY} --set sm.scheduler=gto --set sm.issue_per_cycle=1") == plain


def test_clusters_fall_back_to_single_ctas() -> None:
    assert launch.cluster_ctas(experiment(f"{SMALL} --seq 256")) == 2
    assert launch.cluster_ctas(experiment(f"{SMALL} --seq 257")) == 1
    assert launch.cluster_ctas(experiment(f"{SMALL} --seq 256 --set sm.count=1")) == 1
    assert launch.cluster_ctas(experiment(f"{SMALL} --seq 256 --set pipeline.cluster_ctas=1")) == 1


def test_tensors_do_not_overlap_and_start_on_pages() -> None:
    case = experiment(f"{SMALL} --seq 1000 --seq-kv 3000 --batch 2")
    bases = launch.tensor_bases(case)
    sizes = [2 * 1000 * 4 * 256, 2 * 3000 * 2 * 256, 2 * 3000 * 2 * 256]
    assert all(base % 2**21 == 0 for base in bases)
    assert all(base + size <= after for base, size, after in zip(bases, sizes, bases[1:], strict=False))


def test_the_busiest_unit_cannot_be_busier_than_time_allows() -> None:
    answer = record("--llm llama3-8b --seq 1024")
    assert all(0 <= share <= 1 for share in answer["utilization"].values())
    # 32 heads x 8 query tiles x 6 K/V tiles x 2816 cycles of tensor core over 132 SMs.
    assert answer["tensor_core_utilization"] == pytest.approx(32 * 8 * 6 * 2816 / 132 / answer["cycles"])


def run_python(code: str, folder: Path = ROOT, **environment: str) -> Any:
    """A script's JSON answer, from a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=os.environ | environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_pure_python_gives_the_same_record() -> None:
    script = f"import json; from tests.simfa.test_simulate import record, TINY; print(json.dumps(record({TINY!r})))"
    assert run_python(script, NUMBA_DISABLE_JIT="1") == json.loads(json.dumps(record(TINY)))


@pytest.mark.slow
def test_an_edit_in_a_callee_is_never_answered_from_a_stale_cache(tmp_path: Path) -> None:
    for package in ("simfa", "presets", "tests"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    script = f"from tests.simfa.test_simulate import record, TINY; print(record({TINY!r})['cycles'])"
    cache = str(tmp_path / "cache")

    def cycles() -> int:
        return int(run_python(script, tmp_path, NUMBA_CACHE_DIR=cache, PYTHONDONTWRITEBYTECODE="1"))

    before = cycles()
    assert cycles() == before
    callee = tmp_path / "simfa" / "memory" / "l2.py"
    source = callee.read_text("utf-8")
    edited = source.replace("// TICKS + (config", "// TICKS + 100 + (config")
    assert edited != source
    callee.write_text(edited, "utf-8")
    assert cycles() > before + 1000
    callee.write_text(source, "utf-8")
    assert cycles() == before
