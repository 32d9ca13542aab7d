"""compare-memory: the same launches under three models of the memory, and what the published table says."""

import json

import pytest

from simfa.__main__ import main
from simfa.validation import queues
from tests.simfa.experiments import SMALL, experiment

QUICK = [("llama3-8b", 512), ("llama3-70b", 512)]
PAPER = [(llm, length) for llm in queues.LLMS for length in queues.LENGTHS]


def row(llm: str, length: int) -> queues.Row:
    (found,) = queues.compare([experiment(f"--llm {llm} --seq {length}")])
    return found


def check(found: queues.Row) -> None:
    """Reservations stay within what DEVIATIONS.md publishes for the fifteen configurations."""
    assert -3.5 < found.difference_pct("bounded") < 0.5
    assert -1.0 < found.difference_pct("commands") < 8.0
    requests = {result["line_requests"] for result in found.results.values()}
    assert len(requests) == 1


@pytest.mark.parametrize(("llm", "length"), QUICK)
def test_short_configurations_differ_as_published(llm: str, length: int) -> None:
    check(row(llm, length))


@pytest.mark.slow
@pytest.mark.parametrize(("llm", "length"), [point for point in PAPER if point not in QUICK])
def test_all_fifteen_differ_as_published(llm: str, length: int) -> None:
    check(row(llm, length))


def test_the_command_prints_json(capsys: pytest.CaptureFixture[str]) -> None:
    options = SMALL.split()
    assert main(["compare-memory", *options, "--seq", "200,300", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [found["seq_q"] for found in rows] == [200, 300]
    for found in rows:
        longer = found["commands_cycles"] / found["reservations_cycles"] - 1
        assert found["commands_difference_pct"] == pytest.approx(100 * longer)


def test_the_command_prints_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare-memory", "--llm", "llama3-8b", "--seq", "512"]) == 0
    printed = capsys.readouterr().out
    assert "26,048" in printed
    assert "bounded queues, command-level DRAM: mean" in printed


@pytest.mark.parametrize(("options", "said"), [
    (["--gpu", "gb10", "--kernel", "fa3"], "not modelled on gb10"),
    (["--seed", "-1"], "--seed"),
    (["--set", "l2_timing.mode=x"], "unknown key"),
])  # fmt: skip
def test_bad_input_is_refused(capsys: pytest.CaptureFixture[str], options: list[str], said: str) -> None:
    assert main(["compare-memory", *options]) in (2, 3)
    assert said in capsys.readouterr().err


def test_as_a_study_the_reference_is_the_finest_model() -> None:
    found = row("llama3-8b", 512)
    study = queues.study([found])
    assert study.points[0].reference == found.cycles("commands")
    assert study.summary()["points"] == 1
