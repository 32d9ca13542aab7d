"""Who the citation of the Measured page names: estimators that answered, and for how many kernels."""

from typing import Any

from dashboard.measured import comparison
from dashboard.measured.case import Case, Match, Reading
from dashboard.report import measured

NAMES = ["simfa-python", "genz", "sim-fa"]


def kernel(seq: int, **values: Reading) -> Case:
    match = Match(gpu="h800", heads_q=32, heads_kv=8, head_dim=128, seq_q=seq)
    return Case(id=str(seq), file="f", kernel_name="k", title="k", match=match, **values)


def cited(cases: list[Case], simulated: int = 0, names: list[str] = NAMES, own: bool = True) -> str:
    """The subject with the first `simulated` kernels simulated."""
    keys = [comparison.simulation_key(case.experiment(True)) for case in cases[:simulated]]
    answers: dict[str, Any] = {key: {"latency_us": 500.0} for key in keys}
    return measured.subject(comparison.compare(cases, names, True, answers), names, own)


TIMED = [kernel(seq, latency_us=Reading(value=400.0)) for seq in (512, 1024, 2048)]


def test_the_simulator_is_named_once_it_has_simulated() -> None:
    assert cited(TIMED) == "SimFA-python, GenZ against 3 kernels of own files"
    assert cited(TIMED, 2) == "SimFA-python, GenZ, Sim-FA (2 of 3) against 3 kernels of own files"
    assert cited(TIMED, 3, own=False) == "SimFA-python, GenZ, Sim-FA against 3 public measurements"


def test_an_estimator_without_the_measured_quantity_is_not_named() -> None:
    counted = kernel(4096, l2_bytes=Reading(value=1e9))
    assert cited([counted]) == "SimFA-python against 1 kernel of own files"
    assert cited([*TIMED, counted]) == "SimFA-python, GenZ (3 of 4) against 4 kernels of own files"


def test_without_any_answer_the_citation_says_so() -> None:
    assert cited(TIMED[:1], names=["sim-fa"], own=False) == "1 public measurement, without an estimator's answer"
