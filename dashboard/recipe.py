"""An experiment as people set it: names and numbers of the sidebar, the command line or a URL, not yet resolved.

An `Experiment` has its presets resolved; a `Recipe` still knows which were named and what was changed, so that
another GPU, length or preset value can be put in its place, and so that it fits into a URL.
"""

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any
from urllib.parse import parse_qsl, urlencode

from dashboard.citation import overrides
from presets import loader, params
from presets.arguments import bare_shape, build, parse_settings
from presets.errors import PresetError, unknown
from presets.experiment import DTYPES, MAX_LENGTH, Experiment, Params
from presets.specs import GpuSpec, KernelSpec, LlmSpec, Spec

Value = str | int | bool
Load = Callable[..., Any]
BARE = "bare"
OWN = "auto"
LARGEST = {
    "heads_q": 4096,
    "heads_kv": 4096,
    "head_dim": 1024,
    "seq": MAX_LENGTH,
    "seq_kv": MAX_LENGTH,
    "batch": 65_536,
    "tp": 1024,
    "sm": 1023,  # of the Timeline page, as the two that follow
    "nth_cta": 100_000,
    "nth_tile": 100_000,
}
TEXT_LIMIT = 16_000  # characters of a text in a URL; the server reads addresses up to 64 KiB
_SAID = 40  # characters of a wrong value that a sentence repeats
_SWITCH = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
_OTHER_LARGEST = 100
# What a sweep may vary beside preset values; `seq` is L and S together unless they are set apart.
WORKLOAD = ("seq", "seq_kv", "batch", "causal", "dtype", "tp", "params")
PRESETS: dict[str, type[Spec]] = {"llm": LlmSpec, "gpu": GpuSpec, "kernel": KernelSpec}


@dataclass(frozen=True)
class Recipe:
    """The sidebar's values under the names they have in the URL; the defaults are the worked example."""

    llm: str = "llama3-8b"
    heads_q: int = 16
    heads_kv: int = 16
    head_dim: int = 128
    seq: int = 4096
    split: bool = False
    seq_kv: int = 4096
    batch: int = 1
    dtype: str = "fp16"
    causal: bool = False
    tp: int = 1
    gpu: str = "h800"
    kernel: str = OWN
    params: str = OWN
    set: str = ""

    def experiment(self, load: Load = loader.load) -> Experiment:
        """The checked experiment. Raises PresetError that says what is wrong with which value."""
        llm = (
            bare_shape(self.heads_q, self.heads_kv, self.head_dim) if self.llm == BARE else load(LlmSpec, self.llm)
        )
        gpu: GpuSpec = load(GpuSpec, self.gpu)
        kernel = load(KernelSpec, gpu.default_kernel if self.kernel == OWN else self.kernel)
        workload = {
            "batch": self.batch,
            "seq_q": self.seq,
            "seq_kv": self.seq_kv if self.split else self.seq,
            "causal": self.causal,
            "dtype": self.dtype,
            "tensor_parallel": self.tp,
        }
        chosen = parameter_set(self.params)
        return build(llm, gpu, kernel, self.settings(), chosen, **workload)

    def settings(self) -> dict[str, str]:
        """The changed preset values, by dotted key. Raises PresetError on a line without a key or a value."""
        return parse_settings([line for line in self.set.splitlines() if line.strip()])

    def what_if(self, experiment: Experiment) -> str:
        """The preset values that are changed in this recipe's experiment, to end a line of words; or nothing."""
        changed = overrides(experiment)
        said = ", ".join(f"{key}={value}" for key, value in self.settings().items() if key in changed)
        return f", what if {said}" if said else ""

    def changed(self, changes: Mapping[str, str]) -> "Recipe":
        """This recipe with some values replaced: workload, preset names, or any dotted preset key, as text."""
        own: dict[str, Any] = {}
        settings = self.settings()
        for key, text in changes.items():
            if key in WORKLOAD or key in PRESETS:
                own[key] = typed(key, text)
            elif key in preset_keys():
                settings[key] = text
            else:
                raise PresetError(unknown("parameter", key, variables()))
        if "seq_kv" in own:
            own["split"] = True
        text = "\n".join(f"{key}={value}" for key, value in settings.items())
        return replace(self, **own, set=text)

    def query(self) -> str:
        """As the query of a URL: what differs from the defaults, and always model and length."""
        shown = {f.name: getattr(self, f.name) for f in fields(self)}
        kept = {key: value for key, value in shown.items() if key in ("llm", "seq") or value != DEFAULTS[key]}
        return urlencode({key: in_url(value) for key, value in kept.items()})

    @classmethod
    def from_query(cls, text: str, choices: Mapping[str, list[str]]) -> "Recipe":
        """The recipe a URL holds; keys of other things are left alone. Raises PresetError on a wrong value."""
        given = dict(parse_qsl(text))
        known = {key: read(given[key], key, DEFAULTS[key], choices) for key in DEFAULTS if key in given}
        return cls(**known)  # type: ignore[arg-type]


def parameter_set(name: str) -> Params | None:
    """The parameter set of that name, None for the usual one. Raises PresetError with the allowed names."""
    if name == OWN:
        return None
    for known in params.SETS:
        if known == name:
            return known
    raise PresetError(f"params: {unknown('parameter set', name, (OWN, *params.SETS))}")


DEFAULTS: dict[str, Value] = {f.name: f.default for f in fields(Recipe)}  # type: ignore[misc]


def choices() -> dict[str, list[str]]:
    """The names that may stand in a URL; files are for the command line only."""
    llms, gpus, kernels = (loader.names(kind) for kind in (LlmSpec, GpuSpec, KernelSpec))
    return {
        "llm": [*llms, BARE],
        "gpu": gpus,
        "kernel": [OWN, *kernels],
        "dtype": list(DTYPES),
        "params": [OWN, *params.SETS],
    }


@cache
def preset_keys() -> tuple[str, ...]:
    """Every dotted key that a GPU, kernel or model preset may hold."""
    return tuple(dict.fromkeys(key for kind in (GpuSpec, KernelSpec, LlmSpec) for key in loader.leaf_keys(kind)))


def variables() -> list[str]:
    """Everything a sweep may vary."""
    return [*WORKLOAD, *PRESETS, *preset_keys()]


def in_url(value: Value) -> str:
    """A value as it stands in a URL."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def read(given: str, key: str, default: Value, choices: Mapping[str, list[str]]) -> Value:
    """A URL's text as a value of its default's type. Raises PresetError naming key, value and what is right."""
    said = f"{key}: '{given[:_SAID]}'"
    if isinstance(default, bool):
        if given.lower() not in _SWITCH:
            raise PresetError(f"{said} is neither true nor false")
        return _SWITCH[given.lower()]
    if isinstance(default, int):
        largest = LARGEST.get(key, _OTHER_LARGEST)
        digits = given.isascii() and given.isdigit() and len(given) < 12
        if not digits or not min(1, default) <= int(given) <= largest:
            raise PresetError(f"{said} is no whole number from {min(1, default)} to {largest:,}")
        return int(given)
    if key in choices and given not in choices[key]:
        raise PresetError(f"{key}: {unknown('name', given[:_SAID], choices[key])}")
    if len(given) > TEXT_LIMIT:
        raise PresetError(f"{said}... has {len(given):,} characters, {TEXT_LIMIT:,} are allowed")
    return given


def typed(key: str, text: str) -> Value:
    """A workload value or preset name from text. Raises PresetError naming the key and what is right."""
    default = DEFAULTS[key]
    if isinstance(default, bool):
        if text.lower() not in ("true", "false"):
            raise PresetError(f"{key}: '{text}' is neither true nor false")
        return text.lower() == "true"
    if isinstance(default, int):
        try:
            return int(text.replace("_", ""))
        except ValueError:
            raise PresetError(f"{key}: '{text}' is not a whole number") from None
    if key == "dtype" and text not in DTYPES:
        raise PresetError(f"dtype: {unknown('dtype', text, DTYPES)}")
    return text


def from_options(args: argparse.Namespace) -> Recipe:
    """The recipe of one experiment that command-line options describe. Raises PresetError."""
    for option, text in (("--seq", args.seq), ("--llm", args.llm)):
        if text and "," in text:
            raise PresetError(
                f"{option}: {text} are several, one is meant here; a sweep varies them: --vary {option[2:]}={text}"
            )
    bare = args.heads_q is not None
    if bare and (args.llm or args.head_dim is None):
        raise PresetError("a bare shape is --heads-q N --heads-kv N --head-dim N, without --llm")
    try:
        length = int((args.seq or "4096").replace("_", ""))
    except ValueError:
        raise PresetError(f"--seq: '{args.seq}' is not a whole number of tokens") from None
    settings = [*args.set, *([f"sm.clock_hz={args.clock_mhz!r}MHz"] if args.clock_mhz is not None else [])]
    shape = {"heads_q": args.heads_q, "heads_kv": args.heads_kv or args.heads_q, "head_dim": args.head_dim}
    return Recipe(
        llm=BARE if bare else args.llm or "llama3-8b",
        **(shape if bare else {}),
        seq=length,
        split=args.seq_kv is not None,
        seq_kv=args.seq_kv or length,
        batch=args.batch,
        dtype=args.dtype,
        causal=args.causal,
        tp=args.tensor_parallel,
        gpu=args.gpu,
        kernel=args.kernel or OWN,
        params=args.params or OWN,
        set="\n".join(settings),
    )
