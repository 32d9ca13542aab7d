"""Experiments and records that the dashboard's tests share."""

import pytest

from presets import loader
from presets.arguments import build
from presets.experiment import Experiment
from presets.specs import GpuSpec, KernelSpec, LlmSpec


def experiment(llm: str = "llama3-8b", gpu: str = "h800", **workload: object) -> Experiment:
    """A shipped model on a shipped GPU with its own kernel, `seq` tokens."""
    seq = workload.pop("seq", 512)
    spec = loader.load(GpuSpec, gpu)
    kernel = loader.load(KernelSpec, spec.default_kernel)
    return build(loader.load(LlmSpec, llm), spec, kernel, {}, **{"seq_q": seq, "seq_kv": seq} | workload)


@pytest.fixture
def make_experiment():
    return experiment
