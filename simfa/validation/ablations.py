"""One mechanism taken away at a time, as Table 5 does: no coalescer, simple hash, no de-duplication.

Every variant is one override. The reference of each point is our own model's time with everything on, so that the
percentages are changes of time, not errors; the paper's figures are errors against its hardware.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from presets import loader
from presets.arguments import build
from presets.specs import GpuSpec, KernelSpec, LlmSpec
from simfa import simulate
from simfa.validation.study import Point, Study

GPU, KERNEL = "h800", "fa3"
MODELS = ("llama3-8b", "llama3-70b", "llama3.1-405b")
SHORT, LONGER = (512, 1024), (512, 1024, 2048)  # tokens; the longer set where a run stays within a second


class Variant(NamedTuple):
    """A name, the override that makes it, the lengths it runs at, and what Table 5 says of it."""

    name: str
    settings: Mapping[str, str]
    lengths: Sequence[int]
    published: str = ""


VARIANTS = (
    Variant("no coalescer", {"coalescer.sms": "1"}, LONGER, "MAPE 16.8 %, full model 5.7 %"),
    Variant("simple hash", {"l2_timing.slice_hash": "modulo"}, LONGER, "MAPE 64.3 %, full model 5.7 %"),
    Variant("no de-duplication", {"tma.deduplicate": "false"}, SHORT, "MAPE 511.4 %, full model 5.7 %"),
    Variant("no de-duplication, 16 B a request", {"tma.deduplicate": "false", "tma.request_bytes": "16"}, SHORT),
)


def cycles(model: str, tokens: int, settings: Mapping[str, str]) -> int:
    """Cycles of one launch with some preset values changed."""
    llm, gpu, kernel = loader.load(LlmSpec, model), loader.load(GpuSpec, GPU), loader.load(KernelSpec, KERNEL)
    experiment = build(llm, gpu, kernel, settings, seq_q=tokens, seq_kv=tokens)
    return int(simulate.run(experiment).result.extra["cycles"])


def study(
    variants: Sequence[Variant] = VARIANTS, models: Sequence[str] = MODELS, lengths: Sequence[int] = LONGER
) -> Study:
    """Every variant on its launches, of those with `models` and `lengths`."""
    points = []
    for model in models:
        for tokens in lengths:
            full = cycles(model, tokens, {})
            for variant in variants:
                if tokens in variant.lengths:
                    label = f"{variant.name}, {loader.load(LlmSpec, model).title}, {tokens:,} tokens"
                    changed = cycles(model, tokens, variant.settings)
                    points.append(Point(label, full, changed, "cycles", series=variant.name))
    return Study(
        "ablations",
        "Time of FlashAttention-3 with one mechanism taken away (Table 5)",
        "our own model with every mechanism, preset h800, FP16, not causal, seed 0",
        "nothing",
        points,
        "Percentages are changes of our own time. Table 5 gives errors against its hardware: the two do not "
        "measure the same thing, and nothing is fitted to it. Without de-duplication every element is a "
        "request, as the paper words it. The 64 lines in flight hide most of what the coalescer saves.",
        compares="difference",
        published={variant.name: variant.published for variant in variants},
    )
