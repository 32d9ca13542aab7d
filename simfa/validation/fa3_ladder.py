"""What matters in FlashAttention-3: one mechanism taken out at a time, and one fitted value moved at a time.

Nothing is fitted again, so an error tells what a mechanism is worth to this model with its values, not what the
best model without it could reach.
"""

from collections.abc import Mapping

from presets import loader, params
from presets.quantity import Provenance
from presets.specs import GpuSpec
from simfa.validation import cases, fa3
from simfa.validation.study import Point, Study

SENSITIVITY = 0.1
FULL = "full model"
SOURCE = "FlashGPU-Sim test baselines (Nsight Compute, H100 SXM at 1500 MHz, cold cache)"


def ladder() -> dict[str, dict[str, str]]:
    """Mechanisms taken out of the calibrated set, or changed, each as values set."""
    paper = loader.load(GpuSpec, "h100-sxm")
    peak = paper.dram.channel_bandwidth_bytes_per_s
    return {
        "64 lines in flight": {"tma.inflight_lines": _text(paper, "tma.inflight_lines")},
        "static schedule": {"pipeline.schedule": "static"},
        "dynamic schedule in grid order": {"pipeline.tile_order": "grid"},
        "tiles one after the other": {"pipeline.prologue_overlap": "false"},
        "tile overhead 0": {"pipeline.tile_overhead_cycles": "0"},
        "softmax as bubbles": {"pipeline.softmax": "bubbles"},
        "no softmax beside P V": {"pipeline.intra_warpgroup_overlap": "false"},
        "WGMMA takes no operands": {"softmax.wgmma_operand_share": "0"},
        "operand factor 1.5": {"softmax.operand_factor": fa3.UNFIT["softmax.operand_factor"]},
        "O rescaled before P V": {"pipeline.rescale_before_pv": "true"},
        "masks cost nothing": {"softmax.mask_cycles": "0"},
        "P stays in registers": {"pipeline.p_in_shared": "false"},
        "no ping-pong": {"pipeline.ping_pong": "false"},
        "no gap before a GEMM": {"issue.gemm_gap_cycles": "0"},
        "no latency of barriers": {"issue.mbarrier_wait_cycles": "0", "issue.named_barrier_cycles": "0"},
        "no WGMMA tail": {"issue.wgmma_tail_cycles": "0"},
        "cluster of 1": {"pipeline.cluster_ctas": "1"},
        "no multicast": {"pipeline.multicast": "false"},
        "L2 at the SM's clock": {"l2.clock_hz": f"{cases.LOCKED_MHZ}MHz"},
        "warm L2": {"launch.l2_state": "warm"},
        "DRAM at its peak rate": {"dram.channel_bandwidth_bytes_per_s": repr(peak)},
        "no launch overhead": {"launch.overhead_s": "0"},
    }


def fitted_values() -> dict[str, tuple[float, Provenance]]:
    """What the calibrated set fits to these kernels, by key, each with where it comes from."""
    gpu = params.calibrated_gpu(loader.load(GpuSpec, "h100-sxm"))
    kernel = params.official_case(fa3.KERNEL, 128, "fp16", causal=False)
    values = loader.flatten(gpu) | loader.flatten(kernel)
    origins = {**gpu.provenance, **kernel.provenance}
    return {key: (float(values[key]), origins[key]) for key in fa3.FITTED}


def sensitivities() -> dict[str, dict[str, str]]:
    """Each fitted value a tenth lower and higher."""
    found = {}
    for key, (value, _) in fitted_values().items():
        for sign in (-1, 1):
            moved = value * (1 + sign * SENSITIVITY)
            text = str(round(moved)) if key.endswith("_cycles") else f"{moved:g}"
            found[f"{key} {sign * SENSITIVITY * 100:+.0f} %"] = {key: text}
    return found


def ladder_study() -> Study:
    """Errors at 512 and 2,048 tokens after each mechanism is taken out."""
    return Study(
        "fa3-ladder",
        "FlashAttention-3 on H100 with one mechanism or value taken out of the calibrated set",
        SOURCE,
        "nothing is fitted again",
        _points(ladder()),
        "What a mechanism is worth to this model with its values; others are not fitted again.",
        x_title="sequence length (tokens)",
    )


def fit_study() -> Study:
    """The fitted values, and errors at 512 and 2,048 tokens with each moved by a tenth."""
    listed = "; ".join(f"{key} = {value:g} ({origin.source})" for key, (value, origin) in fitted_values().items())
    return Study(
        "fa3-fit",
        "FlashAttention-3 on H100 with each fitted value 10 % lower and higher",
        SOURCE,
        listed,
        _points(sensitivities()),
        "How sharply the measurements determine what was fitted.",
        x_title="sequence length (tokens)",
    )


def _points(variants: Mapping[str, Mapping[str, str]]) -> list[Point]:
    rows = cases.locked(("512", "2048"))
    named: dict[str, Mapping[str, str]] = {FULL: {}, **variants}
    jobs: list[fa3.Job] = [(row, "calibrated", changes, fa3.KERNEL) for changes in named.values() for row in rows]
    names = [name for name in named for _ in rows]
    times = zip(jobs, fa3.latencies_us(jobs), names, strict=True)
    return [fa3.point(job[0], us, name, fitted=job[0]["seq_q"] in fa3.FIT_LENGTHS) for job, us, name in times]


def _text(spec: GpuSpec, key: str) -> str:
    return str(loader.flatten(spec)[key])
