"""Sweeps that run: rows as they come, killed workers, cancel, kept results, a Dask cluster that loses a worker."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pyarrow import parquet

from dashboard import answers, settings
from dashboard.__main__ import main
from dashboard.recipe import Recipe
from dashboard.sweep import plan, run, workers
from dashboard.sweep.board import SweepBoard
from dashboard.sweep.run import Sweep
from presets.errors import PresetError

ROOT = Path(__file__).resolve().parents[3]
PATIENCE_S = 120
BIG = Recipe(llm="llama3.1-405b", seq=4096)


def wait_for(condition, what):
    until = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < until, f"{what} did not happen within {PATIENCE_S} s"
        time.sleep(0.02)


@pytest.fixture(autouse=True)
def nothing_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("SIMFA_CACHE_DIR", str(tmp_path / "kept"))
    monkeypatch.delenv("SIMFA_DASK_SCHEDULER", raising=False)


def tiny(text="seq=128,256,384"):
    return plan.make(Recipe(), plan.GRID, text)


def ended(sweep):
    wait_for(lambda: not sweep.active, "the end of the sweep")
    return [row["state"] for row in sweep.rows]


def test_every_point_has_the_numbers_of_a_direct_run():
    from simfa import simulate

    made = tiny()
    sweep = SweepBoard().submit(made, "sim-fa")
    assert ended(sweep) == ["done"] * 3 and sweep.progress() == 1
    for row, point in zip(sweep.rows, made.points, strict=True):
        assert row["cycles"] == simulate.run(point.experiment).result.extra["cycles"]
    assert not sweep.folder.exists()


def test_the_same_question_joins_and_another_board_finds_the_kept_results():
    board = SweepBoard()
    first = board.submit(tiny(), "sim-fa")
    assert board.submit(tiny("seq=128..384+128"), "sim-fa") is first
    ended(first)
    again = SweepBoard().recall(tiny(), "sim-fa")
    assert again is not None and [r["cycles"] for r in again.rows] == [r["cycles"] for r in first.rows]
    assert SweepBoard().recall(tiny("seq=128,512"), "sim-fa") is None


def test_a_damaged_kept_result_is_computed_again_and_said():
    ended(SweepBoard().submit(tiny(), "sim-fa"))
    next(settings.cache_folder().rglob("output.pkl")).write_bytes(b"junk")
    again = SweepBoard().submit(tiny(), "sim-fa")
    assert ended(again) == ["done"] * 3 and again.remarks == {answers.UNREADABLE}


def test_a_full_disk_costs_only_the_keeping(monkeypatch):
    monkeypatch.setenv("SIMFA_CACHE_DIR", "/dev/full/kept")
    sweep = SweepBoard().submit(tiny("seq=128"), "sim-fa")
    assert ended(sweep) == ["done"] and "was not kept on disk" in " ".join(sweep.remarks)


def test_a_killed_worker_costs_nothing_but_time():
    sweep = SweepBoard().submit(plan.make(BIG, plan.LIST, "seq=2048,2176,512"), "sim-fa")
    wait_for(lambda: sweep._share(0) > 0.02, "progress")
    os.kill(int((sweep.point_folder(0) / "pid").read_text()), signal.SIGKILL)
    assert ended(sweep) == ["done"] * 3


class Flaky:
    """Workers that die on one point, whenever it is tried."""

    slots, words, on_this_machine = 2, "flaky workers", True

    def __init__(self, deadly):
        self.deadly, self.tried = deadly, []

    def call(self, function, experiment, digest, folder, limit_s):
        length = experiment.workload.seq_q
        self.tried.append(length)
        if length == self.deadly:
            raise workers.WorkerLost
        return function(experiment, digest, folder, limit_s)

    def close(self):
        pass


def test_a_point_that_kills_its_worker_is_tried_again_alone_and_then_reported():
    flaky = Flaky(256)
    sweep = Sweep("key", tiny(), "sim-fa")
    run.run(sweep, flaky)
    assert [row["state"] for row in sweep.rows] == ["done", "failed", "done"]
    assert "lost 2 times" in sweep.rows[1]["reason"]
    assert flaky.tried[-1] == 256 and flaky.tried.count(256) == 2


def test_cancel_keeps_what_there_is():
    board = SweepBoard()
    sweep = board.submit(plan.make(BIG, plan.LIST, "seq=128,4096,4224,4352"), "sim-fa")
    wait_for(lambda: sweep.rows[0]["state"] == "done", "the first row")
    started = time.monotonic()
    board.cancel(sweep.key)
    assert ended(sweep) == ["done"] + ["cancelled"] * 3
    assert time.monotonic() - started < 20
    assert ended(board.submit(tiny("seq=128"), "sim-fa")) == ["done"]


def test_a_second_sweep_waits_in_line():
    board = SweepBoard()
    first = board.submit(plan.make(BIG, plan.LIST, "seq=4096,4224"), "sim-fa")
    second = board.submit(tiny(), "sim-fa")
    wait_for(lambda: first.state == run.RUNNING, "the start")
    assert board.position(second.key) == 1 and board.active() == [first, second]
    board.cancel(first.key)
    assert ended(second) == ["done"] * 3


def test_impossible_points_stand_among_the_others():
    sweep = SweepBoard().submit(tiny("tma.inflight_lines=0,64\nseq=128"), "sim-fa")
    assert ended(sweep) == ["impossible", "done"]


def test_a_worker_of_other_sources_is_refused():
    experiment = tiny().points[0].experiment
    state, reason = workers.simulate_point(experiment, "0" * 16, None, 60)
    assert state == "failed" and "another version" in reason


def test_a_scheduler_that_does_not_answer_is_said(monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setenv("SIMFA_DASK_SCHEDULER", "tcp://127.0.0.1:9")
    monkeypatch.setattr(workers, "CONNECT_S", 1)
    sweep = SweepBoard().submit(tiny(), "sim-fa")
    ended(sweep)
    assert "no Dask scheduler answers at tcp://127.0.0.1:9" in sweep.message


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setenv("SIMFA_DASK_SCHEDULER", "tcp://127.0.0.1:9")
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(PresetError, match="'distributed' is not installed"):
        workers.connect()


def start(*arguments):
    command = [sys.executable, "-m", "distributed.cli." + arguments[0], *arguments[1:]]
    return subprocess.Popen(
        command, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, stderr=subprocess.DEVNULL
    )


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    """A real scheduler and two workers with a thread each, on loopback; yields the workers' processes."""
    pytest.importorskip("distributed")
    from distributed import Client

    contact = tmp_path / "scheduler.json"
    local = ["--no-dashboard"]
    started = [
        start("dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(contact), *local)
    ]
    written = lambda: contact.exists() and contact.read_text().rstrip().endswith("}")  # noqa: E731
    wait_for(written, "the start of the scheduler")
    address = json.loads(contact.read_text())["address"]
    options = [address, "--host", "127.0.0.1", "--nthreads", "1", "--no-nanny", *local]
    started += [start("dask_worker", *options, "--local-directory", str(tmp_path)) for _ in range(2)]
    with Client(address, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=PATIENCE_S)
    monkeypatch.setenv("SIMFA_DASK_SCHEDULER", address)
    yield started[1:]
    for process in started:
        process.kill()
        process.wait()


def test_the_same_sweep_runs_on_dask_and_outlives_a_killed_worker(cluster):
    made = plan.make(BIG, plan.LIST, "seq=2048,512,2176,640,768,1024")
    sweep = SweepBoard().submit(made, "sim-fa")
    wait_for(lambda: any(row["state"] == "done" for row in sweep.rows), "the first row")
    assert sweep.active, "the worker has to be killed while points are open"
    cluster[0].kill()
    assert ended(sweep) == ["done"] * 6, [row["reason"] for row in sweep.rows]
    here = Sweep("here", plan.make(BIG, plan.LIST, "seq=512"), "sim-fa")
    run.run(here, workers.LocalWorkers())
    assert here.rows[0]["cycles"] == sweep.rows[1]["cycles"]


def test_the_command_prints_the_rows(capsys, tmp_path):
    options = "sweep --seq 512 --params paper --vary tma.inflight_lines=0,64 --estimator sim-fa --csv"
    assert main(options.split()) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["state"] for row in rows] == ["impossible", "done"] and rows[1]["cycles"] == "26048"
    target = tmp_path / "rows.parquet"
    assert main([*"sweep --vary seq=512,1024 --format parquet -o".split(), str(target)]) == 0
    assert parquet.read_table(target)["latency_us"].to_pylist()[1] == pytest.approx(18.4655737704918)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("", "--vary KEY=V1,V2"),
        ("--vary seq=1..9", "say how to go on"),
        ("--seq 512,1024 --vary batch=1,2", "--vary seq=512,1024"),
        ("--vary seq=512 --estimator magic", "unknown estimator 'magic'"),
        ("--vary seq=512 --format parquet", "--output"),
        ("--sensitivity l2.slices --change 7", "allowed: 5, 10, 20, 50"),
    ],
)
def test_the_command_answers_bad_input_with_one_sentence(options, message, capsys):
    assert main(["sweep", *options.split()]) == 2
    told = capsys.readouterr()
    assert message in told.err and "Traceback" not in told.err and told.out == ""
