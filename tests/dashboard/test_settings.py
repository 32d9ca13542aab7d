"""What a server may set: every variable is read, takes hold where it should, and a bad value is named."""

import pytest

from dashboard import limits, settings
from dashboard.__main__ import main
from dashboard.recipe import Recipe
from dashboard.sweep import evaluate, plan
from dashboard.workers import Workers, shared
from presets.errors import PresetError

GOOD = {
    "SIMFA_CACHE_BYTES": ("500MiB", 500 * 2**20, settings.cache_bytes),
    "SIMFA_SIMULATIONS": ("7", 7, settings.simulations),
    "SIMFA_SIMULATED_TOKENS": ("65_536", 65_536, settings.simulated_tokens),
    "SIMFA_TIMEOUT_S": ("600s", 600, settings.timeout_s),
    "SIMFA_SWEEP_POINTS": ("20", 20, settings.sweep_points),
    "SIMFA_QUEUE": ("3", 3, settings.queue),
    "SIMFA_QUEUE_PER_SESSION": ("1", 1, settings.queue_per_session),
    "SIMFA_QUEUE_PATIENCE_S": ("60", 60, settings.queue_patience_s),
}


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch):
    for name in (*settings.NUMBERS, "SIMFA_DASK_SCHEDULER"):
        monkeypatch.delenv(name, raising=False)


def test_every_number_is_covered_here():
    assert set(GOOD) == set(settings.NUMBERS)


@pytest.mark.parametrize("name", GOOD)
def test_a_number_is_read_with_its_unit_and_has_a_default(name, monkeypatch):
    text, meant, read = GOOD[name]
    assert read() == settings.NUMBERS[name].default
    monkeypatch.setenv(name, text)
    assert read() == meant and settings.problems() == []


@pytest.mark.parametrize("name", GOOD)
@pytest.mark.parametrize("text", ["many", "", "-1", "1.5", "99999999999999999999", "10Hz", "NaN", "\u0663"])
def test_a_bad_value_is_named_with_what_would_be_right(name, text, monkeypatch):
    monkeypatch.setenv(name, text)
    (problem,) = settings.problems()
    assert name in problem and settings.NUMBERS[name].typed in problem


@pytest.mark.parametrize("address", ["tcp://10.0.0.1:8786", "10.0.0.1:8786", "tls://[::1]:8786"])
def test_an_address_of_a_scheduler(address, monkeypatch):
    monkeypatch.setenv("SIMFA_DASK_SCHEDULER", address)
    assert settings.dask_scheduler() == address


def test_what_is_no_address_is_named(monkeypatch):
    monkeypatch.setenv("SIMFA_DASK_SCHEDULER", "my-cluster")
    assert settings.problems() == [
        "SIMFA_DASK_SCHEDULER: 'my-cluster' is no address; write it as tcp://10.0.0.1:8786"
    ]


def test_the_server_does_not_start_with_bad_values(monkeypatch, capsys):
    monkeypatch.setenv("SIMFA_QUEUE", "none")
    monkeypatch.setenv("SIMFA_TIMEOUT_S", "0")
    assert main([]) == 2
    said = capsys.readouterr().err
    assert "SIMFA_QUEUE: 'none' is not a whole number" in said and "SIMFA_TIMEOUT_S: 0 is out of range" in said


def test_the_command_lists_what_is_in_force_and_names_a_slip(monkeypatch, capsys):
    monkeypatch.setenv("SIMFA_TIMEOUT_S", "600s")
    monkeypatch.setenv("SIMFA_TIMEOUTS", "600s")
    assert main(["settings"]) == 0
    said = capsys.readouterr().out
    assert "SIMFA_TIMEOUT_S=600  (set)" in said and "SIMFA_QUEUE=100  (default)" in said
    assert "SIMFA_TIMEOUTS is set, but no setting has that name" in said


def test_points_of_a_sweep_are_limited(monkeypatch):
    monkeypatch.setenv("SIMFA_SWEEP_POINTS", "4")
    assert len(plan.make(Recipe(), plan.GRID, "seq=512,1024\nbatch=1,2").points) == 4
    for text in ("seq=512..4096+512", "seq=512,1024,2048\nbatch=1,2"):
        with pytest.raises(PresetError, match="SIMFA_SWEEP_POINTS"):
            plan.make(Recipe(), plan.GRID, text)


def test_lengths_beyond_the_servers_are_not_simulated_but_answered_by_closed_forms(monkeypatch):
    monkeypatch.setenv("SIMFA_SIMULATED_TOKENS", "1024")
    made = plan.make(Recipe(), plan.LIST, "seq=1024,1025")
    simulated = [evaluate.impossible(made, point, "sim-fa") for point in made.points]
    assert simulated[0] is None and "SIMFA_SIMULATED_TOKENS" in simulated[1]["reason"]
    assert [row["state"] for row in evaluate.instant(made, "simfa-python")] == ["done", "done"]
    assert limits.refusal(Recipe(split=True, seq=1, seq_kv=1025).experiment()).startswith("not simulated on this")


def test_simulations_at_once_are_the_slots_of_the_server(monkeypatch):
    from dashboard import workers

    monkeypatch.setattr(workers, "_shared", None)
    monkeypatch.setenv("SIMFA_SIMULATIONS", "3")
    assert isinstance(shared(), Workers) and shared().slots == 3
