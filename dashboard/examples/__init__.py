"""Stored answers of the simulator, valid for its sources only: the worked example, the validation studies.

`python -m dashboard example` writes them anew; tests fail when they no longer match the simulator.
"""

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

from dashboard import spans
from dashboard.recipe import Recipe
from presets.experiment import Experiment
from simfa.coverage import answer_key, study_digest

FILE = Path(__file__).parent / "llama3-8b_h800_4096.json.gz"
STUDIES_FILE = Path(__file__).parent / "validation.json.gz"
SEED, TIMELINE_SM = 0, 0


def experiment() -> Experiment:
    """Llama 3 8B, 4,096 tokens, H800, FlashAttention-3, usual parameters: what a page opens with."""
    return Recipe().experiment()


@cache
def stored() -> dict[str, Any]:
    """The stored answer: its key, and the answer as plain values."""
    answer: dict[str, Any] = json.loads(gzip.decompress(FILE.read_bytes()))
    return answer


def answer_for(key: str) -> dict[str, Any] | None:
    """The stored answer, as the queue gives one, if `key` names it (same experiment, same simulator sources)."""
    return _answer() if FILE.is_file() and stored()["key"] == key else None


@cache
def _answer() -> dict[str, Any]:
    return spans.unpacked(stored()["answer"])


def current() -> tuple[Experiment, dict[str, Any]] | None:
    """The worked example and its answer, if these very sources gave it."""
    todo = experiment()
    given = answer_for(answer_key(todo, SEED, TIMELINE_SM))
    return None if given is None else (todo, given)


def studies() -> list[dict[str, Any]]:
    """The stored validation studies: summaries and points, as the simulator's sources gave them."""
    return list(json.loads(gzip.decompress(STUDIES_FILE.read_bytes()))["studies"])


def studies_are_current() -> bool:
    """Whether the stored studies were computed by these very sources."""
    return bool(json.loads(gzip.decompress(STUDIES_FILE.read_bytes()))["digest"] == study_digest())


def write_studies() -> Path:
    """Run every validation study and store its points."""
    from simfa.validate_command import STUDIES

    answer = {"digest": study_digest(), "studies": [run().record() for run in STUDIES.values()]}
    STUDIES_FILE.write_bytes(gzip.compress(json.dumps(answer).encode(), mtime=0))
    return STUDIES_FILE


def write() -> Path:
    """Simulate the example and store it. Deterministic but for `wall_s`."""
    from simfa import simulate

    todo = experiment()
    run = simulate.run(todo, SEED, TIMELINE_SM)
    answer = {"key": answer_key(todo, SEED, TIMELINE_SM), "answer": spans.packed(spans.answer(todo, run))}
    FILE.write_bytes(gzip.compress(json.dumps(answer).encode(), mtime=0))
    stored.cache_clear()
    _answer.cache_clear()
    return FILE
