"""What pages say of a simulation that waits, is refused or runs out of time: AppTest with a board of one slot."""

import time

import pytest
from streamlit.testing.v1 import AppTest

from dashboard import state
from dashboard.jobs import JobBoard
from dashboard.workers import Workers
from tests.ui.cards import cards
from tests.ui.conftest import ROOT


@pytest.fixture(scope="module")
def pool():
    pool = Workers(1)
    yield pool
    pool.close()


@pytest.fixture
def board(pool, monkeypatch):
    board = JobBoard(pool)
    until(lambda: not board.preparing)
    monkeypatch.setattr(state, "board", lambda: board)
    return board


def until(condition):
    end = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


def opened(**query):
    app = AppTest.from_file(str(ROOT / "dashboard" / "app.py"), default_timeout=60)
    for key, value in query.items():
        app.query_params[key] = value
    return app.run()


def progress(app):
    return [bar.proto.text for bar in app.get("progress")]


def captions(app):
    return " ".join(item.value for item in app.caption)


def test_who_waits_sees_the_position_and_moves_up(board, pool):
    with pool.lease():  # the only slot is taken
        first, second = opened(seq="1088"), opened(seq="1216")
        assert progress(first) == ["Waiting for a worker, position 1 in the queue."]
        assert progress(second) == ["Waiting for a worker, position 2 in the queue."]
        first.number_input(key="seq").set_value(1344).run()
        assert progress(first) == ["Waiting for a worker, position 2 in the queue."], "behind, with another wish"
        assert progress(second.run()) == ["Waiting for a worker, position 1 in the queue."]
    for app in (first, second):
        until(lambda app=app: "Simulated: " in captions(app.run()))
        assert not app.exception and not app.error


def test_a_full_queue_is_said_and_the_closed_forms_answer(board, pool, monkeypatch):
    monkeypatch.setenv("SIMFA_QUEUE", "1")
    with pool.lease():
        opened(seq="1472")
        refused = opened(seq="1600")
        assert "1 simulations wait already" in captions(refused) and "(SIMFA_QUEUE)" in captions(refused)
        assert cards(refused)[2].value == "–" and "µs" in cards(refused)[0].value
        assert not refused.exception
    until(lambda: "Simulated: " in captions(refused.run()))


def test_a_length_the_server_does_not_simulate_is_said_without_a_button(board, monkeypatch):
    monkeypatch.setenv("SIMFA_SIMULATED_TOKENS", "1024")
    app = opened(seq="1728")
    assert "not simulated on this server: 1,728 tokens are more than the 1,024 it takes" in captions(app)
    assert not [button for button in app.button if button.label.startswith("Run")] and not app.exception


def test_a_simulation_out_of_time_is_said_and_can_be_run_again(board, monkeypatch):
    monkeypatch.setenv("SIMFA_TIMEOUT_S", "1")
    app = opened(llm="llama3.1-405b", seq="4992")
    until(lambda: app.run().error)
    assert "stopped after 1 s, the time limit of this server (SIMFA_TIMEOUT_S)" in app.error[0].value
    monkeypatch.delenv("SIMFA_TIMEOUT_S")
    assert any(button.label == "Run again" for button in app.button)
