"""A GenZ-style ideal-cache baseline: every tensor crosses DRAM once, two operators, no L2, no causal mask.

Equal to GenZ 0.0.16 on the rows of `presets/measured/genz_reference.csv`. Per layer, Logit moves Q and K, Attend
moves V and O; the score matrix stays on chip and costs time there at GenZ's fixed 18000 GiB/s. Each operator
takes the longer of compute and memory; the two add. In decode (one query row) Q, scores and O stay on chip.
"""

from dataclasses import dataclass

from analytical import equations as eq
from presets.experiment import Experiment
from presets.record import Result

NAME = "genz"
ONCHIP_BYTES_PER_S = 18_000 * 2**30


@dataclass(frozen=True)
class GenzEstimate:
    """Traffic in exact bytes, times in seconds; `compute_s` and `memory_s` are those of one operator."""

    flops: int
    offchip_read_bytes: int
    offchip_write_bytes: int
    compute_s: float
    memory_s: float

    @property
    def latency_s(self) -> float:
        """Logit and Attend, one after the other, each at its own bound."""
        return 2 * max(self.compute_s, self.memory_s)


def estimate(
    B: int,
    H_KV: int,
    G: int,
    L: int,
    S: int,
    D: int,
    P: int,
    peak_flop_per_s: float,
    dram_bytes_per_s: float,
) -> GenzEstimate:
    """GenZ's view of one attention layer, in the paper's symbols; bandwidth in bytes/s (GenZ enters GiB/s)."""
    query_bytes = P * B * H_KV * G * L * D  # Q, and O
    kv_bytes = P * B * H_KV * S * D  # K, and V
    score_bytes = P * B * H_KV * G * L * S
    decode = L == 1
    offchip_bytes = kv_bytes if decode else query_bytes + kv_bytes
    onchip_bytes = score_bytes + (query_bytes if decode else 0)
    flops = eq.eq1_flops(B, H_KV, G, L, S, D)
    return GenzEstimate(
        flops=flops,
        offchip_read_bytes=2 * kv_bytes + (0 if decode else query_bytes),
        offchip_write_bytes=0 if decode else query_bytes,
        compute_s=flops / 2 / peak_flop_per_s,
        memory_s=offchip_bytes / dram_bytes_per_s + onchip_bytes / ONCHIP_BYTES_PER_S,
    )


def run(experiment: Experiment) -> Result:
    """The GenZ-style Result for one experiment, at the preset's peak and DRAM bandwidth."""
    work, gpu = experiment.workload, experiment.gpu
    answer = estimate(
        work.batch,
        experiment.heads_kv,
        experiment.heads_q // experiment.heads_kv,
        work.seq_q,
        work.seq_kv,
        experiment.llm.head_dim,
        experiment.precision_bytes,
        gpu.peak_flop_per_s(work.dtype),
        gpu.dram.bandwidth_bytes_per_s,
    )
    total = answer.offchip_read_bytes + answer.offchip_write_bytes
    return Result(
        estimator=NAME,
        latency_s=answer.latency_s,
        flops=answer.flops,
        dram_read_bytes=answer.offchip_read_bytes,
        dram_write_bytes=answer.offchip_write_bytes,
        regime="ideal",
        bottleneck="tensor_cores" if answer.compute_s >= answer.memory_s else "memory",
        tensor_core_utilization=2 * answer.compute_s / answer.latency_s,
        extra={
            "dram_ideal_bytes": total,
            "dram_real_bytes": None,
            "traffic_ratio": None,
            "intensity": None,
        },
    )
