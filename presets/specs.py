"""What a GPU, a language model and an attention kernel are, as typed, frozen, validated records.

Every name ends in its unit; a count has none. Where each value comes from is kept beside the values, in
`Spec.provenance`, keyed by the dotted name (`l2.bytes`).
"""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from presets import units
from presets.bounds import AtMost, Bytes, Count, NonNegative, Positive, Share, Whole
from presets.quantity import Provenance

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


class IssueSpec(Section):
    """Cycles from an instruction's issue, or its wait's end, to the warpgroup's next instruction; absent: none."""

    wgmma_cycles: Whole
    tma_cycles: Whole
    mbarrier_wait_cycles: Whole
    stage_acquire_cycles: Whole = Field(description="until a released stage is seen to be free")
    named_barrier_cycles: Whole
    gemm_gap_cycles: Whole = Field(description="tensor core idle before the first WGMMA of a group")
    wgmma_tail_cycles: Whole = Field(description="from a WGMMA's end on the tensor core to its wait's end")


class SoftmaxSpec(Section):
    """CUDA-core work of softmax per warp instruction (32 values) and sub-partition, as phases on shared pipes."""

    max_cycles: NonNegative
    exp_cycles: NonNegative = Field(description="MUFU, shared by the SM's warpgroups")
    convert_cycles: NonNegative
    mask_cycles: NonNegative = Field(description="on the FP32 pipe, for scores under a mask")
    exchange_latency_cycles: Whole = Field(description="of a row maximum or sum between lanes")
    operands_per_cycle: Positive = Field(description="register operands of a sub-partition per cycle, in warps")
    operand_factor: Positive = Field(description="operand reads issued over those the arithmetic needs")
    wgmma_operand_share: Share = Field(description="of the operand reads that a WGMMA under way takes")
    shared_store_bytes_per_cycle: Positive = Field(description="P to shared memory, per SM")


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
    deduplicate: bool | None = Field(
        default=None, description="false: every element of a tensor map's box is a request of its own; absent: true"
    )
    request_bytes: Literal[1, 2, 4, 8, 16, 32, 64, 128, 256] | None = Field(
        default=None, description="what one request asks for where deduplicate is false; absent: one element"
    )
    descriptor_cache_entries: Annotated[int, Field(ge=1, le=64)] | None = Field(
        default=None, description="tensor maps that an SM keeps; absent: every request pays the setup"
    )
    descriptor_hit_cycles: Whole | None = Field(
        default=None, description="in place of the setup where the SM keeps the map; absent: 0"
    )
    multicast_latency_cycles: Whole | None = Field(
        default=None, description="by which lines of a multicast load answer later; absent: 0"
    )
    remote_release_cycles: Annotated[int, Field(ge=2, le=4000)] | None = Field(
        default=None, description="from a release to its arrival in another CTA of the cluster; absent: 2"
    )


class CoalescerSpec(Section):
    """L2 request coalescer (LRC): how many SMs share one; 1 means no merging between SMs."""

    sms: Annotated[int, Field(ge=1, le=2)]


class L2Spec(Section):
    """The L2 cache: nominal and effective capacity, line, slices and what a slice serves per L2 cycle."""

    bytes: Bytes
    effective_bytes: Annotated[Bytes, AtMost("l2.bytes")] = Field(
        description="capacity that Eq. (4) compares with one K and one V head"
    )
    line_bytes: Literal[32, 64, 128, 256]
    slices: Count
    slice_bytes_per_cycle: Positive
    clock_hz: Positive | None = Field(default=None, description="absent: the L2 runs at the SM clock")
    ways: Annotated[int, Field(ge=1, le=64)] | None = Field(
        default=None, description="for the launch-order closed form; absent: l2_timing.ways, or a sharp Eq. (4)"
    )


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
    set_hash: Literal["rotated", "scattered"] | None = Field(
        default=None, description="scattered: sets fill as if at random; absent: rotated, evenly"
    )
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


class BandwidthProbeSpec(Section):
    """What a loop of TMA copies and waits sees beside the machine modelled: for validation, not for kernels."""

    copy_cycles: NonNegative = Field(description="of a round beside the copy and the mbarrier wait")
    sustained_dram_share: Annotated[float, Field(gt=0, le=1)] = Field(
        description="of the DRAM's bandwidth, at best"
    )


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
    aperture: Literal["device", "sysmem"] | None = Field(
        default=None, description="sysmem: memory shared with the CPU, without dram__ counters; absent: device"
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
    overhead_s: NonNegative | None = Field(
        default=None, description="of a kernel's time, outside the simulated cycles; absent: none"
    )
    l2_state: Literal["cold", "warm"] | None = Field(
        default=None, description="warm: the L2 holds what an equal launch before left in it; absent: cold"
    )


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
    issue: IssueSpec | None = None
    softmax: SoftmaxSpec | None = None
    bandwidth_probe: BandwidthProbeSpec | None = None

    @model_validator(mode="after")
    def _effective_within_nominal(self) -> "GpuSpec":
        if self.l2.effective_bytes > self.l2.bytes:
            effective, whole = (units.shown("bytes", size) for size in (self.l2.effective_bytes, self.l2.bytes))
            raise ValueError(f"l2.effective_bytes ({effective}) must not exceed l2.bytes ({whole})")
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

    def l2_ways(self) -> int | None:
        """Ways of an L2 set where a preset says, for closed forms."""
        return self.l2.ways or (self.l2_timing.ways if self.l2_timing else None)

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
    schedule: Literal["one_tile", "static", "dynamic"] | None = Field(
        default=None,
        description="one_tile: a CTA per tile; persistent CTAs: static in grid order, or dynamic in tile_order",
    )
    tile_order: Literal["heaviest_first", "grid"] | None = Field(
        default=None, description="order in which a dynamic schedule hands out tiles; absent: heaviest_first"
    )
    tile_overhead_cycles: Whole | None = Field(
        default=None, description="of a consumer and tile, beyond what is modelled; for persistent CTAs"
    )
    p_in_shared: bool | None = Field(default=None, description="P goes to P V through shared memory; absent: no")
    section_bytes: Bytes | None = Field(
        default=None, description="K and V of the heads that a dynamic schedule goes through together"
    )
    grid_order: Literal["block_fastest", "head_fastest"] | None = Field(
        default=None, description="which index of the grid runs fastest; absent: block_fastest"
    )
    live_heads: Count | None = Field(
        default=None, description="KV heads in flight together; absent: as SMs, occupancy and grid order give"
    )
    kv_traversal: Literal["cyclic", "sawtooth"] | None = Field(
        default=None, description="K/V passes in one direction, or every other one backwards; absent: cyclic"
    )
    pack_gqa_below: NonNegative | None = Field(
        default=None,
        description="persistent CTAs take a KV head's query heads into one tile where a head alone would fill less "
        "than this share of what packing fills; absent: never",
    )
    rescale_before_pv: bool | None = Field(
        default=None, description="O is rescaled before P V is issued, not after; absent: beyond head dimension 128"
    )
    intra_warpgroup_overlap: bool | None = Field(
        default=None, description="the next Q K^T and the last P V of a warpgroup run beside softmax; absent: true"
    )
    prologue_overlap: bool | None = Field(
        default=None, description="a persistent CTA loads its next tile during the last epilogue; absent: true"
    )
    softmax: Literal["phases", "bubbles"] | None = Field(
        default=None, description="persistent CTAs': phases on shared pipes, or the paper's bubble; absent: phases"
    )
    multicast: bool | None = Field(
        default=None, description="each CTA of a cluster loads its share of K/V tiles for all; absent: false"
    )


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

    @model_validator(mode="after")
    def _rows_divide_among_the_cluster(self) -> "KernelSpec":
        if self.pipeline.multicast and self.tile.kv_rows % self.pipeline.cluster_ctas:
            raise ValueError(
                f"with pipeline.multicast tile.kv_rows ({self.tile.kv_rows}) must be a multiple of "
                f"pipeline.cluster_ctas ({self.pipeline.cluster_ctas})"
            )
        return self

    def shared_memory_bytes(self, head_dim: int, precision_bytes: int) -> int:
        """Shared memory of one CTA: one Q tile (reused for O) and the K and V ring buffers, bytes."""
        kv_tiles = self.pipeline.k_stages + self.pipeline.v_stages
        return precision_bytes * head_dim * (self.tile.query_rows + kv_tiles * self.tile.kv_rows)

    def accumulator_registers(self, head_dim: int) -> int:
        """32-bit registers that the accumulators of one CTA take at least: FP32 O (T_M x D) and S (T_M x T_N)."""
        return self.tile.query_rows * (head_dim + self.tile.kv_rows)
