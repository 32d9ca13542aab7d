"""The sidebar: one experiment, the same on every page, kept in the URL."""

import math
from typing import Any

import streamlit as st

from dashboard.widgets import url
from presets import loader
from presets.arguments import bare_shape, build, parse_settings
from presets.errors import PresetError
from presets.experiment import DTYPES, MAX_LENGTH, Experiment
from presets.specs import GpuSpec, KernelSpec, LlmSpec

BARE = "bare"
OWN = "auto"
DEFAULTS: dict[str, url.Value] = {
    "llm": "llama3-8b",
    "heads_q": 16,
    "heads_kv": 16,
    "head_dim": 128,
    "seq": 4096,
    "split": False,
    "seq_kv": 4096,
    "batch": 1,
    "dtype": "fp16",
    "causal": False,
    "tp": 1,
    "gpu": "h800",
    "kernel": OWN,
    "set": "",
    "reference": "simfa-python",
    "peer": False,
    "launch": False,
    "sm": 0,
    "second": "",
    "align": "start",
    "nth_cta": 1,
    "nth_tile": 1,
}
_LARGEST = {
    "heads_q": 4096,
    "heads_kv": 4096,
    "head_dim": 1024,
    "seq": MAX_LENGTH,
    "seq_kv": MAX_LENGTH,
    "batch": 65_536,
    "tp": 1024,
    "sm": 1023,
    "nth_cta": 100_000,
    "nth_tile": 100_000,
}
_KEPT: dict[str, Any] = {"persist_state": "session"}  # what is set outlives a visit to another page
_POWERS = [2**n for n in range(9, 18)]


def sidebar(references: list[str]) -> Experiment | None:
    """The experiment the controls describe; None after saying on the page what is wrong with it."""
    gpus, kernels, llms = (loader.names(kind) for kind in (GpuSpec, KernelSpec, LlmSpec))
    choices = {"llm": [*llms, BARE], "gpu": gpus, "kernel": [OWN, *kernels], "dtype": list(DTYPES)}
    url.initial(DEFAULTS, choices | {"reference": references}, _LARGEST)
    try:
        with st.sidebar:
            llm = _model(choices["llm"])
            workload = _workload(choices["dtype"])
            gpu, kernel = _hardware(gpus, kernels)
            return build(llm, gpu, kernel, _what_if(), **workload)
    except PresetError as error:
        st.error(f"This experiment cannot be run. {error}")
        return None


def start(key: str) -> Any:
    """What the widget of that key starts with in this session."""
    return st.session_state["initial"][key]


def _whole(label: str, key: str, help_text: str | None = None) -> int:
    return int(st.number_input(label, 1, _LARGEST[key], start(key), key=key, help=help_text, **_KEPT))


def _choice(label: str, key: str, titles: dict[str, str], help_text: str | None = None) -> str:
    names = list(titles)
    index = names.index(start(key))
    shown = st.selectbox(
        label, names, index, key=key, format_func=lambda name: titles[name], help=help_text, **_KEPT
    )
    return str(shown)


def _switch(label: str, key: str, help_text: str) -> bool:
    return st.toggle(label, start(key), key=key, help=help_text, **_KEPT)


def _model(names: list[str]) -> LlmSpec:
    titles = {name: "Bare shape" if name == BARE else loader.load(LlmSpec, name).title for name in names}
    chosen = _choice("Model", "llm", titles, "Attention heads of the model (Table 6 of the paper), or your own.")
    if chosen != BARE:
        return loader.load(LlmSpec, chosen)
    left, middle, right = st.columns(3)
    with left:
        heads_q = _whole("Q heads", "heads_q")
    with middle:
        heads_kv = _whole("KV heads", "heads_kv")
    with right:
        head_dim = _whole("Head dim", "head_dim")
    return bare_shape(heads_q, heads_kv, head_dim)


def _workload(dtypes: list[str]) -> dict[str, object]:
    length = _length()
    seq_kv = length
    if _switch("K/V length differs", "split", "L != S: chunked prefill or decode."):
        seq_kv = _whole("K/V length S (tokens)", "seq_kv")
    left, right = st.columns(2)
    with left:
        batch = _whole("Batch", "batch")
    with right:
        dtype = _choice("Dtype", "dtype", {name: name for name in dtypes})
    causal = _switch("Causal mask", "causal", "Aligned bottom-right; exact tile counts.")
    ways = _whole("Tensor parallel (GPUs)", "tp", "Divides query and KV heads.")
    return {
        "batch": batch,
        "seq_q": length,
        "seq_kv": seq_kv,
        "causal": causal,
        "dtype": dtype,
        "tensor_parallel": ways,
    }


def _length() -> int:
    """Exact tokens, and a slider over powers of two that sets them."""
    exact = _whole("Sequence length (tokens)", "seq")
    nearest = min(max(2 ** round(math.log2(exact)), _POWERS[0]), _POWERS[-1])
    st.session_state["seq_slider"] = nearest
    st.select_slider(
        "Powers of two",
        _POWERS,
        nearest,
        key="seq_slider",
        format_func=lambda n: f"{n // 1024}K" if n >= 1024 else str(n),
        on_change=lambda: st.session_state.update(seq=st.session_state["seq_slider"]),
        label_visibility="collapsed",
    )
    return exact


def _hardware(gpus: list[str], kernels: list[str]) -> tuple[GpuSpec, KernelSpec]:
    gpu_specs = {name: loader.load(GpuSpec, name) for name in gpus}
    kernel_specs = {name: loader.load(KernelSpec, name) for name in kernels}
    gpu = gpu_specs[_choice("GPU", "gpu", {name: spec.title for name, spec in gpu_specs.items()})]
    titles = {OWN: f"Default: {gpu.default_kernel}"} | {name: spec.title for name, spec in kernel_specs.items()}
    chosen = _choice("Kernel", "kernel", titles)
    return gpu, kernel_specs[gpu.default_kernel if chosen == OWN else chosen]


def _what_if() -> dict[str, str]:
    with st.expander("What if", expanded=bool(start("set"))):
        text = st.text_area(
            "Changed preset values",
            start("set"),
            key="set",
            placeholder="l2.bytes=100MiB\ntma.inflight_lines=128",
            help="One KEY=VALUE per line, as --set on the command line.",
            **_KEPT,
        )
    return parse_settings([line for line in (text or "").splitlines() if line.strip()])
