"""The record that every estimator answers with: the same keys everywhere, plain numbers, exact bytes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from presets.experiment import ONE_LAYER, Experiment

KEYS = (
    "llm gpu kernel estimator batch seq_q seq_kv causal latency_us tflops flops l2_bytes dram_bytes "
    "dram_read_bytes dram_write_bytes regime waves bottleneck tensor_core_utilization"
).split()


@dataclass(frozen=True)
class Result:
    """One estimator's answer for one layer's attention forward pass.

    Times in seconds, traffic in exact bytes, `flops` as an exact count. None means that the estimator does
    not say. `extra` holds what only this estimator knows, under its record key; `notes` what a reader must know.
    """

    estimator: str
    latency_s: float | None
    flops: int | None
    l2_bytes: int | None = None
    dram_read_bytes: int | None = None
    dram_write_bytes: int | None = None
    regime: str | None = None
    waves: int | None = None
    bottleneck: str | None = None
    tensor_core_utilization: float | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def dram_bytes(self) -> int | None:
        """DRAM reads and writes together, bytes."""
        if self.dram_read_bytes is None or self.dram_write_bytes is None:
            return None
        return self.dram_read_bytes + self.dram_write_bytes


def to_record(experiment: Experiment, result: Result) -> dict[str, Any]:
    """The flat record of a result: the common keys first, then the estimator's own, then context."""
    work, llm = experiment.workload, experiment.llm
    latency_s, flops = result.latency_s, result.flops
    common = {
        "llm": llm.name or None,
        "gpu": experiment.gpu.name,
        "kernel": experiment.kernel.name,
        "estimator": result.estimator,
        "batch": work.batch,
        "seq_q": work.seq_q,
        "seq_kv": work.seq_kv,
        "causal": work.causal,
        "latency_us": None if latency_s is None else latency_s * 1e6,
        "tflops": flops / latency_s / 1e12 if latency_s and flops is not None else None,
        "flops": flops,
        "l2_bytes": result.l2_bytes,
        "dram_bytes": result.dram_bytes,
        "dram_read_bytes": result.dram_read_bytes,
        "dram_write_bytes": result.dram_write_bytes,
        "regime": result.regime,
        "waves": result.waves,
        "bottleneck": result.bottleneck,
        "tensor_core_utilization": result.tensor_core_utilization,
    }
    layers = llm.layers
    context = {
        "params": experiment.params,
        "dtype": work.dtype,
        "tensor_parallel": work.tensor_parallel,
        "heads_q": experiment.heads_q,
        "heads_kv": experiment.heads_kv,
        "head_dim": llm.head_dim,
        "clock_mhz": experiment.gpu.sm.clock_hz / 1e6,
        "latency_of": ONE_LAYER,
        "layers": layers,
        "model_latency_us": latency_s * 1e6 * layers if latency_s is not None and layers else None,
        "notes": [*experiment.cautions(), *result.notes],
    }
    return common | dict(result.extra) | context
