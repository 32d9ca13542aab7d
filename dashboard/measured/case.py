"""One measured kernel made ready for comparison: its values with their sources, and the workload it ran.

Everything here is frozen, validated data that travels through the record file and back. A preset is only ever
taken by its shipped name, so no text of an upload reaches the disk as a path.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Annotated, Literal, TypeVar

from pydantic import Field

from presets import loader
from presets.arguments import bare_shape, build, parse_settings
from presets.errors import PresetError, unknown
from presets.experiment import DTYPES, MAX_LENGTH, Experiment
from presets.specs import GpuSpec, KernelSpec, Section, Spec

Number = Annotated[int, Field(ge=1, le=MAX_LENGTH)]
Text = Annotated[str, Field(max_length=10_000)]
Line = Annotated[str, Field(max_length=2_000)]
MASKS = ("none", "causal")
S = TypeVar("S", bound=Spec)


class Match(Section):
    """The workload behind a measured kernel, as far as it is known; empty and None mean not known.

    A blank batch, K/V length, number of KV heads, mask, dtype or kernel takes the default of the command
    line: 1, the query length, the query heads, no mask, fp16, the GPU's own kernel. `settings` changes preset
    values, `key=value` separated by semicolons, over those of the parameter set `params`; blank: the calibrated
    one where there is one, else the paper's.
    """

    gpu: Line = ""
    kernel: Line = ""
    batch: Number | None = None
    heads_q: Number | None = None
    heads_kv: Number | None = None
    head_dim: Number | None = None
    seq_q: Number | None = None
    seq_kv: Number | None = None
    mask: Literal["", "none", "causal"] = ""
    dtype: Literal["", "fp8", "fp16", "bf16", "fp32"] = ""
    settings: Line = ""
    params: Literal["", "paper", "calibrated"] = ""

    def missing(self) -> list[str]:
        """What has to be known before any estimator can answer, in words."""
        return [word for field, word in NEEDED.items() if not getattr(self, field)]

    def assumed(self) -> list[str]:
        """Which defaults stand in for what is not known, in words."""
        return [word for field, word in ASSUMED.items() if not getattr(self, field)]

    def shape(self) -> str:
        """The workload in a few words, as far as it is known."""
        length = f"{self.seq_q:,}" if self.seq_q else "? tokens"
        if self.seq_kv and self.seq_kv != self.seq_q:
            length += f" x {self.seq_kv:,}"
        heads = f"{self.heads_q or '?'}"
        if self.heads_kv and self.heads_kv != self.heads_q:
            heads += f":{self.heads_kv}"
        parts = [f"L {length}", f"{heads} heads of {self.head_dim or '?'}"]
        parts += [f"batch {self.batch}"] if (self.batch or 1) > 1 else []
        parts += ["causal"] if self.mask == "causal" else []
        return ", ".join(parts)


NEEDED = {"gpu": "GPU", "heads_q": "query heads", "head_dim": "head dimension", "seq_q": "query length"}
ASSUMED = {
    "batch": "batch 1",
    "heads_kv": "as many KV heads as query heads",
    "seq_kv": "K/V as long as the queries",
    "mask": "no mask",
    "dtype": "fp16",
    "kernel": "the GPU's own kernel",
}


class Reading(Section):
    """One measured value with the counters it comes from. `kind` says how far it can be trusted."""

    value: float | None = Field(default=None, ge=0)
    source: Text = ""
    kind: Literal["counter", "estimate", "rate", "all units", ""] = ""


class Case(Section):
    """A measured kernel: values (median over launches), spread, conditions, and the workload matched to it."""

    id: Line
    file: Line
    kernel_name: Text
    title: Line
    match: Match
    reasons: tuple[Text, ...] = ()
    latency_us: Reading = Reading()
    l2_bytes: Reading = Reading()
    dram_bytes: Reading = Reading()
    dram_read_bytes: Reading = Reading()  # reads alone, where they were measured apart
    clock_hz: float | None = Field(default=None, gt=0)
    launches: int = Field(default=1, ge=0)
    left_out: int = Field(default=0, ge=0)
    spread_pct: float | None = Field(default=None, ge=0)
    conditions: Text = ""
    device: Line = ""
    why_not: Text = ""

    @property
    def label(self) -> str:
        """Kernel and workload, for axes, tables and sentences."""
        return f"{self.title}, {self.match.shape()}"

    @property
    def no_preset(self) -> str:
        """Why no GPU preset is this device's; empty where there is one, or where the file leaves it open."""
        closed = ("no preset", "another", "is a slice", "reports compute capability")
        if self.match.gpu:
            return ""
        return next((reason for reason in self.reasons if any(word in reason for word in closed)), "")

    def experiment(self, measured_clock: bool) -> Experiment:
        """What the estimators are asked; PresetError says what is missing or wrong."""
        if self.why_not or self.no_preset:
            raise PresetError(self.why_not or self.no_preset)
        return experiment(self.match, self.clock_hz if measured_clock else None)


def settings_of(text: str) -> dict[str, str]:
    """`key=value; key=value` as a mapping. PresetError on a pair without a key or a value."""
    return parse_settings([pair for pair in re.split(r"[;\n]", text) if pair.strip()])


@lru_cache(maxsize=16_384)
def experiment(match: Match, clock_hz: float | None) -> Experiment:
    """The experiment of a match, at the measured clock where one is given. Raises PresetError."""
    if match.missing():
        raise PresetError(f"not known yet: {', '.join(match.missing())}")
    gpu = preset(GpuSpec, match.gpu, "gpu")
    kernel = preset(KernelSpec, match.kernel or gpu.default_kernel, "kernel")
    settings = settings_of(match.settings)
    if clock_hz is not None:
        settings = {"sm.clock_hz": f"{clock_hz!r}Hz"} | settings
    llm = bare_shape(match.heads_q or 0, match.heads_kv, match.head_dim or 0)
    return build(
        llm,
        gpu,
        kernel,
        settings,
        match.params or None,
        batch=match.batch or 1,
        seq_q=match.seq_q,
        seq_kv=match.seq_kv or match.seq_q,
        causal=match.mask == "causal",
        dtype=match.dtype or "fp16",
    )


@lru_cache(maxsize=256)
def preset(kind: type[S], name: str, what: str) -> S:
    """The shipped preset of that name and no other file. PresetError with the allowed names."""
    if name not in loader.names(kind):
        raise PresetError(unknown(what, name, loader.names(kind)))
    return loader.load(kind, name)


def dtypes() -> list[str]:
    """The dtypes a match may name."""
    return list(DTYPES)
