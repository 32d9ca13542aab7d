"""The FlashAttention estimate as LLM-Viewer computes it, shown as a labelled peer.

Equal to LLM-Viewer 472f71f with its FlashAttention switch on (`presets/measured/llmviewer_reference.csv`). It reads
K and V once per 128 query rows and *query* head, which ignores that grouped query heads share them, and stores
an L x S output; both are published complaints (issues 26 and 12 of that project). What it calls memory access
is close to L2 traffic (its K/V part is Eq. (2)'s at T_M = 128), but it is divided by DRAM bandwidth.
"""

from dataclasses import dataclass

from analytical import equations as eq
from analytical.numbers import ceil_div
from presets.experiment import Experiment
from presets.record import Result

NAME = "llm-viewer"
BLOCK_ROWS = 128
SOFTMAX_OPS_PER_SCORE = 5


@dataclass(frozen=True)
class LlmViewerEstimate:
    """LLM-Viewer's counts: bytes by tensor, operations (softmax included), time in seconds."""

    ops: int
    query_bytes: int
    kv_bytes: int
    output_bytes: int
    compute_s: float
    memory_s: float

    @property
    def memory_access_bytes(self) -> int:
        """All bytes that LLM-Viewer sends through DRAM bandwidth."""
        return self.query_bytes + self.kv_bytes + self.output_bytes

    @property
    def latency_s(self) -> float:
        """A plain roofline: the longer of compute and memory."""
        return max(self.compute_s, self.memory_s)


def estimate(
    B: int, H: int, L: int, S: int, D: int, P: int, peak_flop_per_s: float, dram_bytes_per_s: float
) -> LlmViewerEstimate:
    """LLM-Viewer's view of one attention layer with H query heads."""
    ops = eq.eq1_flops(B, H, 1, L, S, D) + SOFTMAX_OPS_PER_SCORE * B * H * L * S
    query_bytes = P * B * H * L * D
    kv_bytes = P * B * H * 2 * S * D * ceil_div(L, BLOCK_ROWS)
    output_bytes = P * B * H * 2 * L * S
    memory_s = (query_bytes + kv_bytes + output_bytes) / dram_bytes_per_s
    return LlmViewerEstimate(ops, query_bytes, kv_bytes, output_bytes, ops / peak_flop_per_s, memory_s)


def run(experiment: Experiment) -> Result:
    """The LLM-Viewer-style Result for one experiment; `flops` leaves its softmax operations out."""
    work, gpu = experiment.workload, experiment.gpu
    answer = estimate(
        work.batch,
        experiment.heads_q,
        work.seq_q,
        work.seq_kv,
        experiment.llm.head_dim,
        experiment.precision_bytes,
        gpu.peak_flop_per_s(work.dtype),
        gpu.dram.bandwidth_bytes_per_s,
    )
    return Result(
        estimator=NAME,
        latency_s=answer.latency_s,
        flops=eq.eq1_flops(work.batch, experiment.heads_q, 1, work.seq_q, work.seq_kv, experiment.llm.head_dim),
        dram_read_bytes=answer.query_bytes + answer.kv_bytes,
        dram_write_bytes=answer.output_bytes,
        bottleneck="tensor_cores" if answer.compute_s >= answer.memory_s else "memory",
        tensor_core_utilization=answer.compute_s / answer.latency_s,
        extra={
            "dram_ideal_bytes": None,
            "dram_real_bytes": None,
            "traffic_ratio": None,
            "intensity": None,
            "memory_access_bytes": answer.memory_access_bytes,
        },
    )
