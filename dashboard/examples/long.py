"""Stored answers that take minutes: studies on request, the fifteen launches of section 5.3, one pipeline.

Every part carries a digest of the sources that gave it, so that a page can say what an earlier version of the
simulator gave. `python -m dashboard example --all` computes what the present sources did not give.
"""

import gzip
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from dashboard import spans
from presets import loader
from presets.arguments import build
from presets.experiment import Experiment, Params
from presets.record import to_record
from presets.specs import GpuSpec, KernelSpec, LlmSpec
from simfa.coverage import model_digest, study_digest
from simfa.validation.cases import GPU, KERNEL, LENGTHS, MODELS, PIPELINE

FILE = Path(__file__).parent / "validation_long.json.gz"
SEED, TIMELINE_SM = 0, 0
SETS: tuple[Params, ...] = ("paper", "calibrated")
LAUNCHES, FIG7 = "launches", "pipeline"
KEPT_CYCLES = 60_000  # of the pipeline: its start, and some ten K/V tiles in steady state


def launch(llm: str, tokens: int, chosen: Params) -> Experiment:
    """One launch of section 5.3: FP16, no mask, batch 1, on the paper's GPU."""
    spec, gpu, kernel = loader.load(LlmSpec, llm), loader.load(GpuSpec, GPU), loader.load(KernelSpec, KERNEL)
    return build(spec, gpu, kernel, {}, chosen, seq_q=tokens, seq_kv=tokens)


@cache
def stored() -> dict[str, dict[str, Any]]:
    """Every stored part by name: `digest` and `answer`; empty without the file."""
    if not FILE.is_file():
        return {}
    found: dict[str, dict[str, Any]] = json.loads(gzip.decompress(FILE.read_bytes()))
    return found


def studies() -> list[dict[str, Any]]:
    """The stored studies on request."""
    return [part["answer"] for name, part in stored().items() if name not in (LAUNCHES, FIG7)]


def launches() -> list[dict[str, Any]]:
    """Records of the fifteen launches of section 5.3, of each parameter set; none without the file."""
    return list(stored()[LAUNCHES]["answer"]) if LAUNCHES in stored() else []


def pipeline() -> dict[str, Any] | None:
    """The answer of Fig. 7's launch, timeline and queues cut to KEPT_CYCLES; None without the file."""
    return spans.unpacked(stored()[FIG7]["answer"]) if FIG7 in stored() else None


def is_current(name: str) -> bool:
    """Whether these very sources gave the stored part."""
    return name in stored() and stored()[name]["digest"] == _digest(name)


def write() -> Path:
    """Compute every part that is not current, minutes each, and store it as soon as it is there."""
    from simfa.validate_command import ON_REQUEST

    parts: dict[str, Callable[[], Any]] = {LAUNCHES: _launches, FIG7: _pipeline}
    parts |= {name: _study(run) for name, run in ON_REQUEST.items()}
    for name, run in parts.items():
        if is_current(name):
            continue
        kept = {part: stored()[part] for part in parts if part in stored()}
        found = kept | {name: {"digest": _digest(name), "answer": run()}}
        FILE.write_bytes(gzip.compress(json.dumps(found).encode(), mtime=0))
        stored.cache_clear()
    return FILE


def _digest(name: str) -> str:
    return model_digest() if name in (LAUNCHES, FIG7) else study_digest()


def _study(run: Callable[[], Any]) -> Callable[[], Any]:
    return lambda: run().record()


def _launches() -> list[dict[str, Any]]:
    from simfa import simulate

    todo = [launch(llm, tokens, chosen) for chosen in SETS for llm in MODELS for tokens in LENGTHS]
    return [to_record(experiment, simulate.run(experiment, SEED).result) for experiment in todo]


def _pipeline() -> dict[str, Any]:
    from simfa import simulate

    todo = launch(*PIPELINE, "paper")
    answer = spans.answer(todo, simulate.run(todo, SEED, TIMELINE_SM))
    timeline, occupancy = answer["timeline"], answer["occupancy"]
    kept = {
        "timeline": timeline[timeline["start_cycle"] < KEPT_CYCLES],
        "occupancy": occupancy[occupancy["start_cycle"] < KEPT_CYCLES],
        "ctas": answer["ctas"][:0],
    }
    return spans.packed(answer | kept)
