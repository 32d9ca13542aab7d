"""What the simulator can answer, and the identity of an answer; needs no compiled code.

An answer depends on the experiment, the seed and the simulator's own sources, and on nothing else.
"""

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from presets.errors import NotModelled
from presets.experiment import Experiment
from presets.specs import CoalescerSpec, GpuSpec, L2TimingSpec, TmaSpec
from simfa import tiles


@dataclass(frozen=True)
class Hardware:
    """The preset sections that the simulator needs, all present."""

    tma: TmaSpec
    coalescer: CoalescerSpec
    timing: L2TimingSpec


def check(experiment: Experiment) -> Hardware:
    """The hardware sections, or NotModelled with the reason why this experiment cannot be simulated."""
    gpu, kernel = experiment.gpu, experiment.kernel
    hardware = check_gpu(gpu)
    _check_program(experiment)
    if kernel.pipeline.multicast and kernel.pipeline.cluster_ctas > 1 and experiment.workload.causal:
        raise NotModelled(
            "pipeline.multicast with a causal mask: the CTAs of a cluster would read different numbers of K/V "
            "tiles; the official kernel runs causal masks with pipeline.cluster_ctas=1"
        )
    need = kernel.shared_memory_bytes(experiment.llm.head_dim, experiment.precision_bytes)
    ctas = kernel.pipeline.occupancy_ctas
    if need > gpu.sm.cta_shared_memory_bytes or need * ctas > gpu.sm.shared_memory_bytes:
        raise NotModelled(
            f"the {kernel.name} tile does not fit: a CTA needs {need:,} B of shared memory at head dimension "
            f"{experiment.llm.head_dim}, {ctas} per SM; {gpu.name} allows {gpu.sm.cta_shared_memory_bytes:,} B per "
            f"CTA and {gpu.sm.shared_memory_bytes:,} B per SM"
        )
    return hardware


def check_sample(experiment: Experiment) -> None:
    """NotModelled where a sample would not stand for the whole launch, or nothing can be simulated at all."""
    check(experiment)
    if experiment.kernel.pipeline.kv_traversal == "sawtooth":
        raise NotModelled(
            "no sample of pipeline.kv_traversal=sawtooth: waves that are left out would turn the others round; "
            "simulate the whole launch (without --sample), or set pipeline.kv_traversal=cyclic"
        )
    if tiles.packed_heads(experiment) > 1:
        raise NotModelled(
            "no sample of packed query heads (pipeline.pack_gqa_below): simulate the whole launch (without "
            "--sample)"
        )
    if experiment.gpu.launch.l2_state == "warm":
        raise NotModelled(
            "no sample of a warm L2 (launch.l2_state=warm), which holds what the whole launch left: simulate the "
            "whole launch (without --sample)"
        )


def check_gpu(gpu: GpuSpec) -> Hardware:
    """The hardware sections, or NotModelled with the reason why nothing can be simulated on this GPU."""
    if gpu.tma is None or gpu.coalescer is None or gpu.l2_timing is None:
        raise NotModelled(f"{gpu.name} lacks a section the simulator needs: tma, coalescer, l2_timing")
    if gpu.dram.channels > gpu.l2.slices:
        raise NotModelled(
            f"dram.channels {gpu.dram.channels:,} exceeds l2.slices {gpu.l2.slices:,}: the simulator gives every "
            "slice one channel, the others would stand idle"
        )
    _check_queues(gpu, gpu.l2_timing)
    return Hardware(gpu.tma, gpu.coalescer, gpu.l2_timing)


def _check_program(experiment: Experiment) -> None:
    """The GPU runs the kernel's instruction, and there is a program for its schedule."""
    gpu, kernel = experiment.gpu, experiment.kernel
    pipeline = kernel.pipeline
    if kernel.instruction != gpu.tensor.instruction:
        raise NotModelled(
            f"not modelled on {gpu.name}: {kernel.name} is built on {kernel.instruction}, the simulator has the "
            f"rates of {gpu.tensor.instruction} there; a kernel that fits is {gpu.default_kernel}"
        )
    origin = kernel.provenance.get("instruction")
    if kernel.instruction == "mma.sync" and origin is not None and origin.label == "override":
        raise NotModelled(
            f"not modelled: of this kernel only the tile is known; {kernel.name}'s program would run in its place"
        )
    persistent = pipeline.schedule in ("static", "dynamic")
    if kernel.instruction == "mma.sync" and (persistent or pipeline.consumer_warpgroups > 1 or pipeline.ping_pong):
        raise NotModelled(
            f"not modelled: {kernel.name} is built on mma.sync, which runs with pipeline.schedule=one_tile, "
            "pipeline.consumer_warpgroups=1 and pipeline.ping_pong=false"
        )
    if persistent and pipeline.kv_traversal == "sawtooth":
        raise NotModelled(
            f"not modelled: {kernel.name} with pipeline.kv_traversal=sawtooth; persistent CTAs read K/V in one "
            "direction; pipeline.schedule=one_tile can turn round"
        )


def _check_queues(gpu: GpuSpec, timing: L2TimingSpec) -> None:
    """The values that bounded queues and command-level channels need are there."""
    commands = gpu.dram.channel_model == "commands"
    if timing.queues != "bounded":
        if commands:
            raise NotModelled(
                "dram.channel_model commands needs l2_timing.queues bounded: reservations know every answer at once"
            )
        return
    needed = {
        "l2_timing.request_latency_share": timing.request_latency_share,
        "dram.queue_lines": gpu.dram.queue_lines,
        "dram.channel_preset": gpu.dram.channel_preset if commands else "",
    }
    missing = [key for key, value in needed.items() if value is None]
    if missing:
        raise NotModelled(f"{gpu.name}: bounded queues need {', '.join(missing)}")


def standing(experiment: Experiment) -> str:
    """What the simulated latency of an experiment was held against, or why it was not."""
    if experiment.kernel.instruction == "mma.sync":
        return (
            "cuTile's program on inferred TMA and L2 figures: traffic is held against public counters, latency is "
            "below that of public kernels (python -m simfa validate --study gb10)"
        )
    if experiment.params == "paper":
        return (
            "paper parameter set: bytes and structure are tested; its latency lies well above H100 kernels "
            "(python -m simfa validate --study fa3-all)"
        )
    kernels = "sixteen H100 kernels (FlashAttention-3, FP16, D64 and D128, 512 to 8,192 tokens, no GQA)"
    study = "python -m simfa validate --study fa3-all"
    changed = _changed(experiment)
    if changed:
        return f"calibrated parameter set with changed values ({', '.join(changed)}): held against nothing"
    if _held_against_kernels(experiment):
        return f"calibrated parameter set, held against {kernels}: {study}"
    return f"calibrated parameter set, for a launch outside the {kernels} that it was held against: {study}"


def validated(experiment: Experiment) -> bool:
    """Whether simulated latencies of experiments like this one were held against measured kernels.

    Only the calibrated set was, unchanged but for the clock, on the kernels that `standing` names.
    """
    wgmma = experiment.kernel.instruction == experiment.gpu.tensor.instruction == "wgmma"
    calibrated = experiment.params == "calibrated" and not _changed(experiment)
    return wgmma and calibrated and _held_against_kernels(experiment)


def _changed(experiment: Experiment) -> list[str]:
    """Preset values other than the clock that were changed in this experiment."""
    return [
        key
        for spec in (experiment.gpu, experiment.kernel)
        for key, origin in spec.provenance.items()
        if origin.label == "override" and key != "sm.clock_hz"
    ]


def _held_against_kernels(experiment: Experiment) -> bool:
    work, llm = experiment.workload, experiment.llm
    return (
        experiment.gpu.name == "h100-sxm"
        and experiment.kernel.pipeline.schedule in ("static", "dynamic")
        and experiment.kernel.name.startswith("fa3-fp16")
        and llm.head_dim in (64, 128)
        and llm.heads_q == llm.heads_kv
        and work.dtype == "fp16"
        and work.seq_q == work.seq_kv
        and 512 <= work.seq_q <= 8192
    )


def answer_key(experiment: Experiment, seed: int = 0, timeline_sm: int | None = None) -> str:
    """Thirty-two hex digits that name the answer to one run: equal keys, equal cycles."""
    text = f"{model_digest()}|{experiment.model_dump_json()}|{seed}|{timeline_sm}"
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def model_digest() -> str:
    """Sixteen hex digits that change with any source of the simulator; commands and studies change no answer."""
    return _digest(with_studies=False)


def study_digest() -> str:
    """As `model_digest`, with the validation studies."""
    return _digest(with_studies=True)


@cache
def _digest(with_studies: bool) -> str:
    digest = hashlib.sha256()
    root = Path(__file__).parent
    for path in sorted(root.rglob("*.py")):
        command = path.name.endswith(("_command.py", "__main__.py"))
        if not command and (with_studies or "validation" not in path.parts):
            digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def line_requests(experiment: Experiment) -> int:
    """Lines that the TMA engines will request, from Eq. (2) without a mask: what a run's time goes by."""
    work, tile = experiment.workload, experiment.kernel.tile
    query_tiles = -(-work.seq_q // tile.query_rows)
    rows = 2 * work.seq_q + 2 * query_tiles * work.seq_kv
    row_bytes = experiment.llm.head_dim * experiment.precision_bytes
    return work.batch * experiment.heads_q * rows * row_bytes // experiment.gpu.l2.line_bytes
