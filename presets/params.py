"""Parameter sets: the paper's values as printed, or those calibrated on public measurements.

A preset file of a GPU or kernel holds the paper's set. The calibrated one lays `calibrated/CAPABILITY.toml` over
the GPU and takes the kernel as it is built for the case at hand, from a folder of kernel presets.
"""

from pathlib import Path

from presets import loader
from presets.errors import PresetError
from presets.experiment import DTYPES, Params, Workload
from presets.specs import GpuSpec, KernelSpec, LlmSpec

SETS: tuple[Params, ...] = ("paper", "calibrated")
FOLDER = loader.ROOT / "calibrated"
HEAD_DIMS = (64, 128, 256)  # for which the official kernel has tiles of its own


def available(gpu: GpuSpec) -> tuple[Params, ...]:
    """The parameter sets that exist for a GPU."""
    return SETS if (FOLDER / f"{gpu.compute_capability}.toml").is_file() else SETS[:1]


def usual(gpu: GpuSpec, kernel: KernelSpec, llm: LlmSpec, workload: Workload) -> Params:
    """The set a what-if starts from: the calibrated one where there is one for all of this, else the paper's."""
    if "calibrated" not in available(gpu):
        return "paper"
    try:
        kernel_as_built(kernel, llm, workload)
    except PresetError:
        return "paper"
    return "calibrated"


def calibrated_gpu(gpu: GpuSpec) -> GpuSpec:
    """The GPU with its calibrated values laid over. Raises PresetError where there are none."""
    if "calibrated" not in available(gpu):
        raise PresetError(
            f"--params: there is no calibrated set for {gpu.name} (compute capability {gpu.compute_capability}); "
            "allowed: paper"
        )
    return loader.overlay(gpu, FOLDER / f"{gpu.compute_capability}.toml")


def kernel_as_built(kernel: KernelSpec, llm: LlmSpec, workload: Workload) -> KernelSpec:
    """The official kernel's preset for a head dimension, dtype and mask; others are as their preset says."""
    if not _folder(kernel.name).is_dir():
        return kernel
    dtype = workload.dtype
    if DTYPES[dtype] > 2:
        raise PresetError(f"--dtype: the official {kernel.name} kernel has no {dtype}; allowed: fp8, fp16, bf16")
    width = next((width for width in HEAD_DIMS if llm.head_dim <= width), None)
    if width is None:
        raise PresetError(
            f"--head-dim: the official {kernel.name} kernel ends at {HEAD_DIMS[-1]}, got {llm.head_dim}"
        )
    return official_case(kernel.name, width, dtype, workload.causal)


def official_case(name: str, head_dim: int, dtype: str, causal: bool) -> KernelSpec:
    """The official kernel `name` for one of HEAD_DIMS; 2-byte dtypes share a tile."""
    case = f"{'fp8' if dtype == 'fp8' else 'fp16'}-d{head_dim}{'-causal' if causal else ''}"
    return loader.load(KernelSpec, str(_folder(name) / f"{case}.toml"))


def _folder(name: str) -> Path:
    return loader.ROOT / loader.FOLDERS[KernelSpec] / f"{name}-official"
