"""Background simulations: progress, cancel, sharing, the queue, and a worker that is killed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dashboard import limits, settings
from dashboard.jobs import CANCELLED, DONE, FAILED, QUEUED, RUNNING, Job, JobBoard
from dashboard.limits import Refused
from dashboard.workers import Workers
from presets.arguments import build

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 120


def wait_for(condition, what):
    until = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < until, f"{what} did not happen within {PATIENCE_S} s"
        time.sleep(0.02)


def finish(job: Job) -> Job:
    wait_for(lambda: not job.active, f"the end of {job.key}")
    return job


@pytest.fixture(scope="module")
def board():
    """A server with one process, so that the second job waits."""
    board = JobBoard(Workers(1))
    wait_for(lambda: not board.preparing, "loading the compiled simulator")
    return board


def long_run(make_experiment, seq=4096):
    """Some 70 million line requests: long enough to act on while it runs. One that ends is kept: vary `seq`."""
    return make_experiment("llama3.1-405b", seq=seq)


def test_a_job_gives_the_same_numbers_as_a_direct_run(board, make_experiment):
    from simfa import simulate

    job = finish(board.submit("direct", make_experiment(seq=512), 0, "a"))
    assert job.state == DONE and job.answer is not None
    assert job.answer["record"]["cycles"] == simulate.run(make_experiment(seq=512)).result.extra["cycles"]
    assert set(job.answer["timeline"]["row"]) >= {"producer", "consumer 1", "consumer 2", "tensor core"}


def test_it_runs_in_another_process(board, make_experiment):
    job = finish(board.submit("process", make_experiment(seq=256), 0, "a"))
    assert job.worker_pid not in (None, os.getpid())


def test_two_sessions_that_ask_the_same_share_one_run(board, make_experiment):
    first = board.submit("shared", make_experiment(seq=1024), 0, "a")
    assert board.submit("shared", make_experiment(seq=1024), 0, "b") is first
    assert finish(first).state == DONE
    assert board.submit("shared", make_experiment(seq=1024), 0, "c") is first


def test_progress_grows_and_a_cancel_takes_hold_at_once(board, make_experiment):
    job = board.submit("cancelled", long_run(make_experiment), 0, "a")
    wait_for(lambda: job.progress > 0.02, "progress")
    seen = job.progress
    wait_for(lambda: job.progress > seen, "more progress")
    remaining = job.remaining_s()
    assert remaining is not None and remaining > 0
    board.cancel("cancelled")
    assert finish(job).state == CANCELLED
    assert job.answer is None and job.progress < 1


def test_waiting_jobs_have_a_position_and_a_sessions_outdated_wish_is_dropped(board, make_experiment):
    running = board.submit("running", long_run(make_experiment), 0, "a")
    wait_for(lambda: running.state == RUNNING, "the start")
    outdated = board.submit("outdated", make_experiment(seq=288), 0, "b")
    other = board.submit("other", make_experiment(seq=384), 0, "c")
    assert outdated.state == QUEUED
    assert (board.position("outdated"), board.position("other"), board.position("running")) == (1, 2, 0)
    wanted = board.submit("wanted", make_experiment(seq=640), 0, "b")
    assert outdated.state == CANCELLED and board.position("other") == 1
    board.cancel("running")
    assert finish(other).state == DONE and finish(wanted).state == DONE


def test_a_full_queue_refuses_and_names_the_setting(board, make_experiment, monkeypatch):
    monkeypatch.setenv("SIMFA_QUEUE", "2")
    monkeypatch.setenv("SIMFA_QUEUE_PER_SESSION", "1")
    running = board.submit("busy", long_run(make_experiment, seq=4480), 0, "a")
    wait_for(lambda: running.state == RUNNING, "the start")
    board.submit("waits", make_experiment(seq=160), 0, "b")
    with pytest.raises(Refused, match="SIMFA_QUEUE_PER_SESSION"):
        board.submit("one too many of b", make_experiment(seq=192), 0, "b", "-timeline")
    board.submit("waits too", make_experiment(seq=192), 0, "c")
    with pytest.raises(Refused, match=r"2 simulations wait already.*SIMFA_QUEUE"):
        board.submit("one too many", make_experiment(seq=224), 0, "d")
    assert board.submit("waits", make_experiment(seq=160), 0, "d").state == QUEUED, "joining costs no place"
    assert board.submit("instead", make_experiment(seq=224), 0, "c").state == QUEUED, "its outdated wish is gone"
    for key in ("waits", "instead", "busy"):
        board.cancel(key)
    finish(running)


def test_what_waits_for_a_closed_browser_is_dropped_and_what_is_watched_is_not(board, make_experiment, monkeypatch):
    monkeypatch.setenv("SIMFA_QUEUE_PATIENCE_S", "100")
    running = board.submit("ahead", long_run(make_experiment, seq=4608), 0, "a")
    wait_for(lambda: running.state == RUNNING, "the start")
    left, watched = (
        board.submit(key, make_experiment(seq=n), 0, key) for key, n in (("left", 96), ("watched", 416))
    )
    left.seen_at -= 101
    watched.seen_at -= 101
    assert board.look("watched") is watched
    board.cancel("ahead")
    assert finish(watched).state == DONE
    assert left.state == CANCELLED and "waited for 100 s" in left.message


def test_a_simulation_is_stopped_at_the_time_limit(board, make_experiment, monkeypatch):
    monkeypatch.setenv("SIMFA_TIMEOUT_S", "1")
    job = finish(board.submit("too long", long_run(make_experiment, seq=6144), 0, "a"))
    assert job.state == FAILED and job.message == limits.overdue(1)
    assert "after 1 s" in job.message and "SIMFA_TIMEOUT_S" in job.message


def test_a_length_beyond_the_servers_is_refused_but_a_kept_answer_is_shown(board, make_experiment, monkeypatch):
    finish(board.submit("before", make_experiment(seq=512), 0, "a"))
    monkeypatch.setenv("SIMFA_SIMULATED_TOKENS", "511")
    assert board.submit("before", make_experiment(seq=512), 0, "b").state == DONE
    with pytest.raises(Refused, match=r"576 tokens are more than the 511 it takes \(SIMFA_SIMULATED_TOKENS\)"):
        board.submit("beyond", make_experiment(seq=576), 0, "a")


def test_a_killed_worker_is_replaced_and_the_run_started_again(board, make_experiment):
    job = board.submit("killed once", long_run(make_experiment), 0, "a")
    wait_for(lambda: job.progress > 0.02, "progress")
    os.kill(job.worker_pid, signal.SIGKILL)
    assert finish(job).state == DONE
    assert job.attempt == 2


def test_a_worker_killed_twice_is_reported_and_the_queue_lives_on(board, make_experiment):
    job = board.submit("killed twice", long_run(make_experiment, seq=4224), 0, "a")
    for attempt in (1, 2):
        wait_for(lambda attempt=attempt: job.attempt == attempt and job.progress > 0.02, "progress")
        os.kill(job.worker_pid, signal.SIGKILL)
        wait_for(lambda attempt=attempt: job.attempt > attempt or not job.active, "the loss being noticed")
    assert finish(job).state == FAILED
    assert "was killed" in job.message and "Run it again" in job.message
    assert finish(board.submit("after", make_experiment(seq=256), 0, "a")).state == DONE


def test_a_simulation_that_cannot_be_answered_fails_with_its_reason(board, make_experiment):
    fp32 = make_experiment(seq=512, dtype="fp32")
    job = finish(board.submit("too large a tile", fp32, 0, "a"))
    assert job.state == FAILED and "does not fit" in job.message


def test_a_failed_job_can_be_asked_for_again(board, make_experiment):
    fp32 = make_experiment(seq=512, dtype="fp32")
    first = finish(board.submit("again", fp32, 0, "a"))
    small = build(fp32.llm, fp32.gpu, fp32.kernel, {}, seq_q=256, seq_kv=256)
    second = finish(board.submit("again", small, 0, "a"))
    assert first.state == FAILED and second.state == DONE


def test_an_answer_outlives_the_board_on_disk(board, make_experiment):
    first = finish(board.submit("kept", make_experiment(seq=704), 0, "a"))
    other = JobBoard()
    again = other.recall("kept", make_experiment(seq=704), 0)
    assert again is not None and again.state == DONE and again.kept and again.worker_pid is None
    assert again.answer["record"] == first.answer["record"]
    assert again.answer["timeline"].equals(first.answer["timeline"])
    assert other.recall("kept", make_experiment(seq=832), 0) is again, "a board's key names one answer"
    assert other.recall("not yet", make_experiment(seq=832), 0) is None


def test_a_damaged_kept_answer_is_computed_again_and_said(board, make_experiment):
    finish(board.submit("damaged", make_experiment(seq=768), 0, "a"))
    folder = settings.cache_folder()
    newest = max(folder.rglob("output.pkl"), key=lambda file: file.stat().st_mtime_ns)
    newest.write_bytes(b"junk")
    again = finish(JobBoard().submit("damaged", make_experiment(seq=768), 0, "a"))
    assert again.state == DONE and not again.kept and "computed again" in again.remark


def test_a_full_disk_costs_an_answer_only_its_keeping(board, make_experiment, monkeypatch):
    monkeypatch.setenv("SIMFA_CACHE_DIR", "/dev/full/kept")
    job = finish(board.submit("full", make_experiment(seq=896), 0, "a"))
    assert job.state == DONE and "was not kept on disk" in job.remark


def alive(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="reads process states from /proc")
def test_a_killed_server_leaves_no_worker_behind():
    start = (
        "import os, time\nfrom dashboard import workers\n"
        "print(workers.shared().call(os.getpid), flush=True)\ntime.sleep(600)\n"
    )
    server = subprocess.Popen([sys.executable, "-c", start], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    worker = int(server.stdout.readline())
    assert alive(worker)
    server.kill()
    server.wait()
    wait_for(lambda: not alive(worker), "the end of the worker")
