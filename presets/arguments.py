"""Command-line options that describe experiments, shared by every command of the project."""

import argparse
import itertools
import json
import math
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from presets import loader, params
from presets.errors import PresetError, unknown
from presets.experiment import Experiment, Params, make_experiment, make_workload
from presets.specs import GpuSpec, KernelSpec, LlmSpec, Spec

_EXPERIMENT_ONLY = ("llm", "heads_q", "heads_kv", "head_dim", "kernel", "seq", "seq_kv", "causal")
BARE_OPTIONS = "--heads-q --heads-kv --head-dim"
_KINDS: dict[str, type[Spec]] = {"gpu": GpuSpec, "kernel": KernelSpec, "llm": LlmSpec}


class Parser(argparse.ArgumentParser):
    """An argument parser that answers bad input with PresetError instead of a usage text."""

    def error(self, message: str) -> Any:
        raise PresetError(f"{self.prog}: {message}")


class LastOfKey(argparse.Action):
    """KEY=VALUE options in their order; a later one of the same key takes the place of the earlier one."""

    def __call__(self, _parser: Any, namespace: argparse.Namespace, value: Any, _option: str | None = None) -> None:
        key = _key(value)
        earlier = [pair for pair in getattr(namespace, self.dest) or [] if _key(pair) != key]
        setattr(namespace, self.dest, [*earlier, value])


def add_experiment_options(
    parser: argparse.ArgumentParser, seq_required: bool = True, parameters: Params | None = "paper"
) -> None:
    """--llm or a bare shape, --gpu, --kernel, workload, and --set.

    `parameters` is the parameter set where none is named; None: the calibrated one where there is one.
    """
    llms = ", ".join(loader.names(LlmSpec))
    parser.add_argument("--llm", help=f"model names, comma-separated ({llms}), or a .toml file")
    parser.add_argument("--heads-q", type=int, help="bare shape in place of --llm: query heads")
    parser.add_argument("--heads-kv", type=int, help="bare shape: KV heads (default: as many as query heads)")
    parser.add_argument("--head-dim", type=int, help="bare shape: head dimension")
    gpus = ", ".join(loader.names(GpuSpec))
    parser.add_argument("--gpu", default="h800", help=f"GPU preset ({gpus}), or a .toml file")
    kernels = ", ".join(loader.names(KernelSpec))
    parser.add_argument("--kernel", help=f"kernel preset ({kernels}); default: the GPU's own")
    parser.add_argument("--seq", required=seq_required, help="query lengths L in tokens, comma-separated")
    parser.add_argument("--seq-kv", type=int, help="K/V length S in tokens (default: L)")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--causal", action="store_true", help="causal mask, aligned bottom-right")
    parser.add_argument("--dtype", default="fp16", help="fp8, fp16, bf16 or fp32")
    parser.add_argument("--tensor-parallel", type=int, default=1, help="GPUs that share the heads")
    usual = "paper" if parameters else "calibrated where there is such a set"
    parser.add_argument(
        "--params",
        choices=params.SETS,
        default=parameters,
        help=f"parameter set: the paper's, or the calibrated one; default: {usual}",
    )
    parser.add_argument("--clock-mhz", type=float, help="SM clock, as --set sm.clock_hz")
    parser.add_argument(
        "--set",
        action=LastOfKey,
        default=[],
        metavar="KEY=VALUE",
        help="change a preset value: l2.bytes=100MiB; the last one of a key holds",
    )


def experiments(args: argparse.Namespace) -> list[Experiment]:
    """Every experiment the options describe: models x lengths, in the order given. Raises PresetError."""
    settings = parse_settings(args.set)
    if args.clock_mhz is not None:
        settings |= _clock_setting(args.clock_mhz, settings)
    gpu = loader.load(GpuSpec, args.gpu)
    kernel = loader.load(KernelSpec, args.kernel or gpu.default_kernel)
    lengths = [_whole(text, "--seq") for text in args.seq.split(",")]
    return [
        build(llm, gpu, kernel, settings, args.params, **_workload_options(args, length))
        for llm, length in itertools.product(_models(args), lengths)
    ]


def gpu_options(args: argparse.Namespace) -> GpuSpec:
    """The GPU that --gpu, --set and --clock-mhz describe, where there is no experiment. Raises PresetError."""
    given = [f"--{key.replace('_', '-')}" for key in _EXPERIMENT_ONLY if getattr(args, key) not in (None, False)]
    if given:
        raise PresetError(f"a trace says what runs; it excludes {', '.join(given)}")
    settings = parse_settings(args.set)
    if args.clock_mhz is not None:
        settings |= _clock_setting(args.clock_mhz, settings)
    for key in settings:
        if key not in loader.leaf_keys(GpuSpec):
            raise PresetError(f"--set: {unknown('key', key, loader.leaf_keys(GpuSpec))}")
    gpu = loader.load(GpuSpec, args.gpu)
    gpu = params.calibrated_gpu(gpu) if args.params == "calibrated" else gpu
    return apply_settings({"gpu": gpu}, settings)["gpu"]  # type: ignore[return-value]


def build(
    llm: LlmSpec,
    gpu: GpuSpec,
    kernel: KernelSpec,
    settings: Mapping[str, str],
    parameter_set: Params | None = "paper",
    **workload: object,
) -> Experiment:
    """One checked experiment from presets, a parameter set, `key=value` settings and workload options.

    Without a parameter set it is the usual one: calibrated where there is such a set, else the paper's.
    """
    checked = make_workload(**workload)
    parameter_set = parameter_set or params.usual(gpu, kernel, llm, checked)
    if parameter_set == "calibrated":
        gpu, kernel = params.calibrated_gpu(gpu), params.kernel_as_built(kernel, llm, checked)
    parts = apply_settings({"llm": llm, "gpu": gpu, "kernel": kernel}, settings)
    return make_experiment(**parts, workload=checked, parameter_set=parameter_set)  # type: ignore[arg-type]


def parse_settings(pairs: Sequence[str]) -> dict[str, str]:
    """`["l2.bytes=100MiB"]` as a mapping; PresetError on a pair without a key or a value, or a key given twice."""
    settings: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not (equals and key.strip() and value.strip()):
            raise PresetError(f"--set {pair}: write it as KEY=VALUE, for example l2.bytes=100MiB")
        name, given = key.strip(), value.strip()
        if name in settings:
            raise PresetError(f"--set: {name} is given twice, as {settings[name]} and as {given}; give it once")
        settings[name] = given
    return settings


def apply_settings(parts: Mapping[str, Spec], settings: Mapping[str, str]) -> dict[str, Spec]:
    """Each setting applied to the preset that owns its key. Raises PresetError on a key nobody owns."""
    owner = {key: part for part, kind in _KINDS.items() for key in loader.leaf_keys(kind)}
    for key in settings:
        if key not in owner:
            raise PresetError(f"--set: {unknown('key', key, owner)}")
    result = {}
    for part, spec in parts.items():
        own = {key: value for key, value in settings.items() if owner[key] == part}
        result[part] = loader.override(spec, own) if own else spec
    return result


def bare_shape(heads_q: int, heads_kv: int | None, head_dim: int, where: str = BARE_OPTIONS) -> LlmSpec:
    """A model that is only its attention shape: no name, no layers. Raises PresetError; `where` names the input."""
    kv = heads_q if heads_kv is None else heads_kv
    title = f"{heads_q} query and {kv} KV heads of {head_dim}"
    return loader.from_values(
        LlmSpec,
        {"name": "", "title": title, "heads_q": heads_q, "heads_kv": kv, "head_dim": head_dim},
        where,
    )


def exit_with(main: Callable[[], int]) -> NoReturn:
    """Run a command's `main` and exit with its status; a reader that closes the pipe early is no error."""
    try:
        status = main()
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python would complain at exit
        status = 0
    sys.exit(status)


def print_json(value: object) -> None:
    """JSON on standard output; numbers plain, no NaN."""
    print(json.dumps(value, indent=2, allow_nan=False))


def _key(pair: str) -> str:
    return pair.partition("=")[0].strip()


def _clock_setting(clock_mhz: float, settings: Mapping[str, str]) -> dict[str, str]:
    if "sm.clock_hz" in settings:
        raise PresetError("--clock-mhz and --set sm.clock_hz set the same clock; give one of them")
    if not (math.isfinite(clock_mhz) and clock_mhz > 0):
        raise PresetError(f"--clock-mhz: {clock_mhz} is out of range; allowed: a finite number of MHz above 0")
    return {"sm.clock_hz": f"{clock_mhz!r}MHz"}


def _models(args: argparse.Namespace) -> list[LlmSpec]:
    bare = [args.heads_q, args.heads_kv, args.head_dim]
    if args.llm and any(option is not None for option in bare):
        raise PresetError(f"--llm and a bare shape ({BARE_OPTIONS}) exclude each other")
    if args.llm:
        return [loader.load(LlmSpec, name.strip()) for name in args.llm.split(",")]
    if args.heads_q is None or args.head_dim is None:
        raise PresetError("give --llm NAME, or a bare shape: --heads-q N --heads-kv N --head-dim N")
    return [bare_shape(args.heads_q, args.heads_kv, args.head_dim)]


def _workload_options(args: argparse.Namespace, length: int) -> dict[str, object]:
    return {
        "batch": args.batch,
        "seq_q": length,
        "seq_kv": length if args.seq_kv is None else args.seq_kv,
        "causal": args.causal,
        "dtype": args.dtype,
        "tensor_parallel": args.tensor_parallel,
    }


def _whole(text: str, option: str) -> int:
    try:
        return int(text.replace("_", ""))
    except ValueError:
        raise PresetError(f"{option}: '{text}' is not a whole number of tokens") from None
