"""Worker processes: lent in order, each alone with its fate, and gone with their server however that ends."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from dashboard.workers import Overdue, WorkerLost, Workers

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def pool():
    pool = Workers(2)
    yield pool
    pool.close()


def gone(pid):
    try:
        return "State:\tZ" in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return True


def workers_of(pid):
    tasks = Path(f"/proc/{pid}/task").iterdir()
    found = {int(child) for task in tasks for child in (task / "children").read_text().split()}
    return [child for child in found if "popen_loky" in Path(f"/proc/{child}/cmdline").read_text()]


def until(condition, within_s=60):
    end = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_call_runs_in_another_process_and_the_next_one_in_the_same(pool):
    assert pool.call(os.getpid) == pool.call(os.getpid) != os.getpid()


def test_a_worker_gives_way_to_the_pages(pool):
    assert pool.call(os.nice, 0) > os.nice(0)


def test_errors_come_back_as_they_are(pool):
    with pytest.raises(ZeroDivisionError):
        pool.call(divmod, 1, 0)


def test_a_process_that_dies_is_replaced_and_its_neighbour_lives_on(pool):
    with pool.lease() as one, pool.lease() as other:
        pids = one.call(os.getpid), other.call(os.getpid)
        with pytest.raises(WorkerLost):
            one.call(os.kill, pids[0], signal.SIGKILL)
        assert other.call(os.getpid) == pids[1]
        assert one.call(os.getpid) not in pids


def test_a_process_that_died_between_two_calls_is_replaced_before_the_next(pool):
    with pool.lease() as worker:
        pid = worker.call(os.getpid)
        os.kill(pid, signal.SIGKILL)
        until(lambda: worker._executor._flags.broken)
        assert worker.call(os.getpid) != pid


def test_a_call_that_takes_too_long_is_ended_with_its_process(pool):
    with pool.lease() as worker:
        pid = worker.call(os.getpid)
        with pytest.raises(Overdue):
            worker.call(time.sleep, 600, within_s=0.5)
        until(lambda: gone(pid))
        assert worker.call(os.getpid) != pid


def test_slots_are_lent_in_the_order_of_asking():
    """Whoever gives a slot back and asks again at once stands behind those who waited."""
    pool, served, started = Workers(1), [], threading.Event()

    def waiter(name):
        started.set()
        with pool.lease():
            served.append(name)

    with pool.lease():
        threads = []
        for name in ("first", "second"):
            started.clear()
            threads.append(threading.Thread(target=waiter, args=(name,)))
            threads[-1].start()
            started.wait()
            until(lambda: len(pool._line) == len(threads))
    with pool.lease():
        served.append("again")
    for thread in threads:
        thread.join()
    assert served == ["first", "second", "again"]


def test_a_closed_pool_starts_nothing_any_more():
    pool = Workers(1)
    pid = pool.call(os.getpid)
    pool.close()
    with pytest.raises(WorkerLost):
        pool.call(os.getpid)
    until(lambda: gone(pid))


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="reads process states from /proc")
@pytest.mark.parametrize("ending", ["the end of the program", signal.SIGINT, signal.SIGKILL])
def test_a_server_takes_its_busy_workers_with_it(ending):
    """Without help loky would wait for the call, and a killed server could not tell its workers."""
    program = (
        "import os, signal, threading, time\nfrom dashboard import workers\npool = workers.shared()\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a shell's background job would ignore it
        "print(pool.call(os.getpid), flush=True)\n"
        "for _ in range(2):\n"
        "    threading.Thread(target=pool.call, args=(time.sleep, 600), daemon=True).start()\n"
        f"until = time.time() + {600 if isinstance(ending, signal.Signals) else 5}\n"
        "while time.time() < until:\n"
        "    time.sleep(0.1)\n"  # one long sleep would not see a signal that came just before it
    )
    server = subprocess.Popen(
        [sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    server.stdout.readline()
    until(lambda: len(workers_of(server.pid)) == 2)
    workers = workers_of(server.pid)
    if isinstance(ending, signal.Signals):
        server.send_signal(ending)
    server.wait(30)
    until(lambda: all(map(gone, workers)))
    assert len(workers) == 2 and all(map(gone, workers))


@pytest.mark.parametrize("step", ["_adjust_process_count", "_start_executor_manager_thread"])
def test_a_server_that_ends_while_a_worker_starts_leaves_no_process(step):
    program = (
        "import threading, time\nfrom joblib.externals.loky.process_executor import ProcessPoolExecutor\n"
        "from dashboard.workers import shared, WorkerLost\n"
        f"step, starting = ProcessPoolExecutor.{step}, threading.Event()\n"
        "def slow(executor):\n"
        "    step(executor)\n"
        "    print(*executor._processes, flush=True)\n"
        "    starting.set()\n"
        "    time.sleep(1)\n"
        f"ProcessPoolExecutor.{step} = slow\n"
        "def ask():\n"
        "    try:\n"
        "        shared().call(time.sleep, 600)\n"
        "    except WorkerLost:\n"
        "        pass\n"
        "threading.Thread(target=ask, daemon=True).start()\n"
        "starting.wait()\n"
    )
    command = [sys.executable, "-c", program]
    server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    said, complaints = server.communicate(timeout=60)
    worker = int(said.splitlines()[0])
    until(lambda: gone(worker))
    assert gone(worker) and (complaints, server.returncode) == ("", 0)
