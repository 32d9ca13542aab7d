"""The sidebar: one experiment, the same on every page, kept in the URL."""

import math

import streamlit as st

from presets import loader
from presets.arguments import bare_shape, build, parse_settings
from presets.errors import PresetError
from presets.experiment import DTYPES, MAX_LENGTH, Experiment
from presets.specs import GpuSpec, KernelSpec, LlmSpec

BARE = "bare shape"
_POWERS = [2**n for n in range(9, 18)]
_DEFAULT_LENGTH = 4096


def sidebar() -> Experiment | None:
    """The experiment the controls describe, or None after showing what is wrong with it."""
    with st.sidebar:
        try:
            llm = _model()
            workload = _workload()
            gpu, kernel = _hardware()
            return build(llm, gpu, kernel, _what_if(), **workload)
        except PresetError as error:
            st.error(str(error))
            return None


def _model() -> LlmSpec:
    names = [*loader.names(LlmSpec), BARE]
    titles = {name: loader.load(LlmSpec, name).title for name in names if name != BARE} | {BARE: "Bare shape"}
    chosen = st.selectbox(
        "Model",
        names,
        index=names.index("llama3-8b"),
        key="llm",
        format_func=lambda name: titles[name],
        bind="query-params",
        help="Attention heads of the model (Table 6 of the paper), or a bare shape of your own.",
    )
    if chosen != BARE:
        return loader.load(LlmSpec, str(chosen))
    left, middle, right = st.columns(3)
    heads_q = left.number_input("Q heads", 1, 4096, 16, key="heads_q", bind="query-params")
    heads_kv = middle.number_input("KV heads", 1, 4096, 16, key="heads_kv", bind="query-params")
    head_dim = right.number_input("Head dim", 1, 1024, 128, key="head_dim", bind="query-params")
    return bare_shape(int(heads_q), int(heads_kv), int(head_dim))


def _workload() -> dict[str, object]:
    length = _length()
    seq_kv = length
    if st.toggle("K/V length differs", key="split", bind="query-params", help="L != S: chunked prefill or decode."):
        seq_kv = int(
            st.number_input("K/V length S (tokens)", 1, MAX_LENGTH, length, key="seq_kv", bind="query-params")
        )
    left, right = st.columns(2)
    batch = int(left.number_input("Batch", 1, 65_536, 1, key="batch", bind="query-params"))
    dtype = right.selectbox("Dtype", list(DTYPES), index=1, key="dtype", bind="query-params")
    causal = st.toggle(
        "Causal mask", key="causal", bind="query-params", help="Aligned bottom-right; exact tile counts."
    )
    return {"batch": batch, "seq_q": length, "seq_kv": seq_kv, "causal": causal, "dtype": dtype} | _parallel()


def _parallel() -> dict[str, object]:
    ways = st.number_input(
        "Tensor parallel (GPUs)", 1, 1024, 1, key="tp", bind="query-params", help="Divides query and KV heads."
    )
    return {"tensor_parallel": int(ways)}


def _length() -> int:
    """Exact tokens, with a slider over powers of two that sets them."""
    if "seq" not in st.session_state and "seq" not in st.query_params:
        st.session_state["seq"] = _DEFAULT_LENGTH
    exact = int(
        st.number_input("Sequence length (tokens)", 1, MAX_LENGTH, _DEFAULT_LENGTH, key="seq", bind="query-params")
        if "seq" not in st.session_state
        else st.number_input("Sequence length (tokens)", 1, MAX_LENGTH, key="seq", bind="query-params")
    )
    nearest = 2 ** round(math.log2(exact))
    st.session_state["seq_slider"] = min(max(nearest, _POWERS[0]), _POWERS[-1])
    st.select_slider(
        "Powers of two",
        _POWERS,
        key="seq_slider",
        format_func=lambda n: f"{n // 1024}K" if n >= 1024 else str(n),
        on_change=lambda: st.session_state.update(seq=st.session_state["seq_slider"]),
        label_visibility="collapsed",
    )
    return exact


def _hardware() -> tuple[GpuSpec, KernelSpec]:
    gpus = loader.names(GpuSpec)
    titles = {name: loader.load(GpuSpec, name).title for name in gpus}
    gpu_name = st.selectbox(
        "GPU", gpus, index=gpus.index("h800"), key="gpu", format_func=lambda name: titles[name], bind="query-params"
    )
    gpu = loader.load(GpuSpec, str(gpu_name))
    kernels = {name: loader.load(KernelSpec, name) for name in loader.names(KernelSpec)}
    own = f"GPU's own: {kernels[gpu.default_kernel].title}"
    kernel_name = st.selectbox(
        "Kernel",
        ["auto", *kernels],
        key="kernel",
        format_func=lambda name: own if name == "auto" else kernels[name].title,
        bind="query-params",
    )
    return gpu, kernels[gpu.default_kernel if kernel_name == "auto" else str(kernel_name)]


def _what_if() -> dict[str, str]:
    with st.expander("What if"):
        text = st.text_area(
            "Changed preset values",
            key="set",
            bind="query-params",
            placeholder="l2.bytes=100MiB\ntma.inflight_lines=128",
            help="One KEY=VALUE per line, as --set on the command line.",
        )
    return parse_settings([line for line in (text or "").splitlines() if line.strip()])
