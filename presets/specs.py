"""What a GPU, a language model and an attention kernel are, as typed, frozen, validated records.

Every name ends in its unit; a count has none. Where each value comes from is kept beside the values, in
`Spec.provenance`, keyed by the dotted name (`l2.bytes`).
"""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from presets.quantity import Provenance

Count = Annotated[int, Field(gt=0, le=2**31 - 1)]
Whole = Annotated[int, Field(ge=0, le=2**40)]
Bytes = Annotated[int, Field(gt=0, le=2**50)]
Positive = Annotated[float, Field(gt=0)]
NonNegative = Annotated[float, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]
Instruction = Literal["wgmma", "mma.sync"]


class Section(BaseModel):
    """A frozen group of values; unknown keys, wrong types and non-finite numbers are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class SmSpec(Section):
    """Streaming multiprocessors: how many, at which clock, and what one CTA may occupy."""

    count: Count
    clock_hz: Positive
    shared_memory_bytes: Bytes = Field(description="shared memory of one SM")
    cta_shared_memory_bytes: Bytes = Field(description="largest shared memory of one CTA")
    registers: Count = Field(description="32-bit registers of one SM")
    threads: Count = Field(description="largest number of resident threads of one SM")
    scheduler: Literal["gto", "lrr"] | None = Field(
        default=None, description="greedy-then-oldest or loose round robin; absent: gto"
    )
    issue_per_cycle: Annotated[int, Field(ge=1, le=4)] | None = Field(
        default=None, description="instructions issued per cycle, one per warpgroup at most; absent: 1"
    )


class TensorSpec(Section):
    """Tensor cores of one SM: instruction, dense rates (FLOP per cycle per SM), WGMMA issue buffer."""

    instruction: Instruction
    fp16_flop_per_cycle: Positive
    fp8_flop_per_cycle: Positive
    fp32_flop_per_cycle: Positive = Field(description="TF32 inputs, FP32 accumulate")
    issue_buffer_entries: Count
    shared_bytes_per_cycle: Positive | None = Field(
        default=None, description="shared-memory bytes per cycle that feed WGMMA operands; absent: no limit"
    )
    minimum_wgmma_cycles: Whole | None = Field(default=None, description="the shortest WGMMA; absent: no minimum")


class AluSpec(Section):
    """CUDA-core pipes of one SM, operations per cycle: FP32, packed FP16, and MUFU (exp2)."""

    fp32_op_per_cycle: Positive
    fp16_op_per_cycle: Positive
    mufu_op_per_cycle: Positive


class TmaSpec(Section):
    """Tensor Memory Accelerator of one SM (paper, Table 2 and section 4.3)."""

    launch_latency_cycles: Whole
    tensor_map_setup_cycles: Whole
    lines_per_cycle: Count
    inflight_lines: Count


class CoalescerSpec(Section):
    """L2 request coalescer (LRC): how many SMs share one; 1 means no merging between SMs."""

    sms: Annotated[int, Field(ge=1, le=2)]


class L2Spec(Section):
    """The L2 cache: nominal and effective capacity, line, slices and what a slice serves per L2 cycle."""

    bytes: Bytes
    effective_bytes: Bytes = Field(description="capacity that Eq. (4) compares with one K and one V head")
    line_bytes: Literal[32, 64, 128, 256]
    slices: Count
    slice_bytes_per_cycle: Positive
    clock_hz: Positive | None = Field(default=None, description="absent: the L2 runs at the SM clock")


class L2TimingSpec(Section):
    """What the cycle simulator needs beyond capacity and bandwidth: latencies, ways, MSHRs, queues, hash."""

    near_latency_cycles: Count
    far_latency_cycles: Count
    partitions: Annotated[int, Field(ge=1, le=2)]
    ways: Annotated[int, Field(ge=1, le=64)]
    mshr_entries: Annotated[int, Field(ge=1, le=512)]
    request_queue_entries: Count
    response_queue_entries: Count
    slice_hash: Literal["xor", "modulo"]
    remote_copy_probability: Share = Field(description="that a far read leaves a near copy; 0 turns the proxy off")
    remote_copy_way_share: Share = Field(description="ways of a set that near copies may hold")
    queues: Literal["reservations", "bounded"] | None = Field(
        default=None,
        description="bounded: queues, MSHRs and DRAM push back; absent: reservations, without queues",
    )
    request_latency_share: Share | None = Field(
        default=None, description="share of the latency that lies before the slice; bounded queues need it"
    )


class LatencyProbeSpec(Section):
    """What a pointer-chase microbenchmark sees beside the L2: for validation, not for kernels."""

    load_path_cycles: NonNegative = Field(description="issue, translation and return of a plain load")
    mbarrier_wait_cycles: NonNegative = Field(description="from the last byte to the waiting thread going on")
    shared_memory_load_cycles: NonNegative = Field(description="reading the next pointer that TMA delivered")


class DramSpec(Section):
    """Device memory: standard, total bandwidth for rooflines, channels and latency for the simulator."""

    standard: str
    bandwidth_bytes_per_s: Positive
    channels: Count
    channel_bandwidth_bytes_per_s: Positive
    latency_s: NonNegative = Field(description="unloaded, from the L2 miss to the line's arrival in L2")
    channel_model: Literal["in-order", "commands"] | None = Field(
        default=None, description="commands: every DRAM command, with bounded queues only; absent: in-order"
    )
    channel_preset: str | None = Field(default=None, description="timings of the command-level channel")
    mapping: str | None = Field(default=None, description="address mapping within it; absent: its preset's own")
    refresh: Literal["none", "all-bank"] | None = Field(default=None, description="absent: all-bank")
    queue_lines: Count | None = Field(
        default=None, description="lines that wait at an in-order channel; bounded queues need it"
    )


class LaunchSpec(Section):
    """The shortest time a kernel launch can take, whatever it computes."""

    floor_s: NonNegative


class Spec(Section):
    """A preset: identity, values, and the provenance of every value."""

    name: str
    title: str
    note: str = ""
    provenance: Mapping[str, Provenance] = Field(default_factory=dict, repr=False, exclude=True)


class GpuSpec(Spec):
    """A GPU preset. `tma`, `coalescer` and `l2_timing` may be absent: then only closed forms answer."""

    compute_capability: str
    default_kernel: str
    sm: SmSpec
    tensor: TensorSpec
    alu: AluSpec
    tma: TmaSpec | None = None
    coalescer: CoalescerSpec | None = None
    l2: L2Spec
    l2_timing: L2TimingSpec | None = None
    dram: DramSpec
    launch: LaunchSpec
    latency_probe: LatencyProbeSpec | None = None

    @model_validator(mode="after")
    def _effective_within_nominal(self) -> "GpuSpec":
        if self.l2.effective_bytes > self.l2.bytes:
            raise ValueError(
                f"l2.effective_bytes ({self.l2.effective_bytes}) must not exceed l2.bytes ({self.l2.bytes})"
            )
        return self

    def tensor_flop_per_cycle(self, dtype: str) -> float:
        """Dense tensor-core FLOP per cycle per SM for a dtype of `presets.experiment.DTYPES`."""
        rates = self.tensor
        return {
            "fp8": rates.fp8_flop_per_cycle,
            "fp16": rates.fp16_flop_per_cycle,
            "bf16": rates.fp16_flop_per_cycle,
            "fp32": rates.fp32_flop_per_cycle,
        }[dtype]

    def peak_flop_per_s(self, dtype: str) -> float:
        """Dense tensor-core peak of the whole GPU, FLOP/s."""
        return self.sm.count * self.tensor_flop_per_cycle(dtype) * self.sm.clock_hz

    def l2_bandwidth_bytes_per_s(self) -> float:
        """What all L2 slices serve together, bytes/s."""
        return self.l2.slices * self.l2.slice_bytes_per_cycle * self.l2_clock_hz()

    def l2_clock_hz(self) -> float:
        """The clock of the L2 slices: their own where the preset has one, else that of the SMs."""
        return self.l2.clock_hz or self.sm.clock_hz


class LlmSpec(Spec):
    """Attention of a language model: query and KV heads, head dimension, layers (Table 6)."""

    heads_q: Count
    heads_kv: Count
    head_dim: Annotated[int, Field(gt=0, le=1024)]
    layers: Count | None = None
    hidden_size: Count | None = None

    @model_validator(mode="after")
    def _heads_divide(self) -> "LlmSpec":
        if self.heads_q % self.heads_kv:
            divisors = [h for h in range(1, self.heads_q + 1) if self.heads_q % h == 0]
            raise ValueError(
                f"heads_q ({self.heads_q}) must be a multiple of heads_kv ({self.heads_kv}); "
                f"allowed for heads_kv: {', '.join(map(str, divisors))}"
            )
        return self


class TileSpec(Section):
    """Rows of Q that one CTA owns (T_M of the whole CTA) and rows of K/V it reads at a time (T_N)."""

    query_rows: Annotated[int, Field(gt=0, le=4096)]
    kv_rows: Annotated[int, Field(gt=0, le=4096)]


class PipelineSpec(Section):
    """Warp specialisation: consumer warpgroups, K and V stages, resident CTAs per SM, cluster size."""

    consumer_warpgroups: Annotated[int, Field(ge=1, le=3)]
    k_stages: Annotated[int, Field(ge=1, le=8)]
    v_stages: Annotated[int, Field(ge=1, le=8)]
    occupancy_ctas: Annotated[int, Field(ge=1, le=32)]
    cluster_ctas: Annotated[int, Field(ge=1, le=2)]
    ping_pong: bool
    kv_order: Literal["last_to_first", "first_to_last"]


class KernelSpec(Spec):
    """An attention kernel: the tensor instruction it is built on, its tile and its pipeline."""

    instruction: Instruction
    tile: TileSpec
    pipeline: PipelineSpec

    @model_validator(mode="after")
    def _rows_divide_among_consumers(self) -> "KernelSpec":
        if self.tile.query_rows % self.pipeline.consumer_warpgroups:
            raise ValueError(
                f"tile.query_rows ({self.tile.query_rows}) must be a multiple of "
                f"pipeline.consumer_warpgroups ({self.pipeline.consumer_warpgroups})"
            )
        return self

    def shared_memory_bytes(self, head_dim: int, precision_bytes: int) -> int:
        """Shared memory of one CTA: one Q tile (reused for O) and the K and V ring buffers, bytes."""
        kv_tiles = self.pipeline.k_stages + self.pipeline.v_stages
        return precision_bytes * head_dim * (self.tile.query_rows + kv_tiles * self.tile.kv_rows)
