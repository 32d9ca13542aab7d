"""The sidebar: one experiment, the same on every page, kept in the URL."""

from dataclasses import replace
from typing import Any

import streamlit as st

from dashboard import align, baseline, recipe
from dashboard.catalog import ESTIMATORS
from dashboard.measured.comparison import QUANTITIES
from dashboard.plain import brief, markdown
from dashboard.recipe import BARE, OWN, Recipe
from dashboard.sweep import plan
from dashboard.sweep.analysis import METRICS
from dashboard.widgets import regimes, url, validation, whatif
from dashboard.widgets.whole import rounded, whole_number
from presets import loader, params
from presets.errors import PresetError
from presets.experiment import Experiment
from presets.specs import GpuSpec, KernelSpec, LlmSpec

GRID_EXAMPLE = "seq=8192..65536*2\nl2.effective_bytes=6.25MiB,12.5MiB,25MiB,50MiB"
DEFAULTS: dict[str, url.Value] = recipe.DEFAULTS | {
    "reference": "simfa-python",
    "reference_pinned": baseline.NAME,
    "view": "Start",
    "peer": False,
    "launch": False,
    "baseline": "",
    "vary": GRID_EXAMPLE,
    "by": "grid",
    "keys": "",
    "change": 10,
    "sweep_tab": "Lines",
    "heat_fixed": "",
    "pareto_x": "latency_us",
    "pareto_y": "dram_bytes",
    "estimator": "simfa-python",
    "metric": "dram_bytes",
    "difference": True,
    "sm": 0,
    "second": "",
    "align": "start",
    "nth_cta": 1,
    "nth_tile": 1,
    "timeline_view": "Start",
    "window": "",
    "box": "",
    "measured_quantity": "latency_us",
    "measured_models": "",
    "measured_clock": True,
    "measured_unknown_clock": False,
    "measured_kernel": "",
    "measured_workload": "",
    "preset_labels": "",
}
VIEWS: dict[str, float | None] = {"Start": 0.0, "Middle": 0.5, "End": 1.0, "Whole run": None}
TABS = ("Lines", "Heat map", "Pareto")
_NAMED = {
    "reference": list(ESTIMATORS),
    "reference_pinned": [baseline.NAME, *ESTIMATORS],
    "estimator": list(ESTIMATORS),
    "view": list(VIEWS),
    "timeline_view": list(VIEWS),
    "align": list(align.PLACES),
    "sweep_tab": list(TABS),
    "by": list(plan.MODES),
    "metric": list(METRICS),
    "measured_quantity": [quantity.key for quantity in QUANTITIES],
}
_LARGEST = recipe.LARGEST
_KEPT: dict[str, Any] = {"persist_state": "session"}  # what is set outlives a visit to another page
_KERNEL = "How attention is cut into tiles and scheduled; by default as the GPU's own kernel does it."
_PARAMETERS = (
    "Calibrated: values from public measurements and the kernel as it is built, the default for what-ifs where "
    "the GPU has such a set. Paper: the paper's values as printed, to reproduce it. Simulated times differ by up "
    "to 1.5 times; the Validation page says which agrees with what."
)
_POWERS = [2**n for n in range(9, 18)]


def sidebar() -> Experiment | None:
    """The experiment the controls describe; None after saying on the page what is wrong with it."""
    opened()
    choices = recipe.choices()
    try:
        with st.sidebar:
            asked = Recipe(
                **_model(choices["llm"]),
                **_workload(choices["dtype"]),
                **_hardware(choices["gpu"], choices["kernel"]),
            )
            asked = replace(asked, set=_what_if(asked))
        st.session_state["recipe"] = asked
        return asked.experiment()
    except PresetError as error:
        st.error(f"This experiment cannot be run: {brief(error)}")
        return None


def heading(experiment: Experiment) -> None:
    """The experiment in words on top of a page, with what the sidebar changed in its presets."""
    st.markdown(f"#### {experiment.words()}{markdown(current().what_if(experiment))}")


def opened() -> None:
    """Read the URL that this session was opened with, once, before any page is drawn."""
    if "initial" not in st.session_state:
        url.initial(DEFAULTS, recipe.choices() | _NAMED, (*regimes.KEYS, validation.KEY))


def current() -> Recipe:
    """What the sidebar of this page says, unresolved; to be called after it was drawn."""
    asked: Recipe = st.session_state["recipe"]
    return asked


def unseen() -> Experiment | None:
    """The experiment of a session on a page without the sidebar; None where it is none."""
    asked = st.session_state.get("recipe")
    kept = st.session_state["initial"]
    try:
        return (asked or Recipe(**{key: kept[key] for key in recipe.DEFAULTS})).experiment()
    except PresetError:
        return None


def start(key: str) -> Any:
    """What the widget of that key starts with in this session."""
    return url.opened_with(key)


def _whole(label: str, key: str, help_text: str | None = None) -> int:
    return whole_number(label, 1, _LARGEST[key], int(start(key)), key=key, help=help_text, **_KEPT)


def _choice(label: str, key: str, titles: dict[str, str], help_text: str | None = None) -> str:
    names = list(titles)
    index = names.index(start(key))
    shown = st.selectbox(
        label, names, index, key=key, format_func=lambda name: titles[name], help=help_text, **_KEPT
    )
    return str(shown)


def _switch(label: str, key: str, help_text: str) -> bool:
    return st.toggle(label, start(key), key=key, help=help_text, **_KEPT)


def _model(names: list[str]) -> dict[str, Any]:
    titles = {name: "Bare shape" if name == BARE else loader.load(LlmSpec, name).title for name in names}
    chosen = _choice("Model", "llm", titles, "Attention heads of the model (Table 6 of the paper), or your own.")
    if chosen != BARE:
        return {"llm": chosen}
    left, middle, right = st.columns(3)
    with left:
        heads_q = _whole("Q heads", "heads_q")
    with middle:
        heads_kv = _whole("KV heads", "heads_kv")
    with right:
        head_dim = _whole("Head dim", "head_dim")
    return {"llm": chosen, "heads_q": heads_q, "heads_kv": heads_kv, "head_dim": head_dim}


def _workload(dtypes: list[str]) -> dict[str, Any]:
    length = _length()
    split = _switch("K/V length differs", "split", "L != S: chunked prefill or decode.")
    seq_kv = _whole("K/V length S (tokens)", "seq_kv") if split else length
    left, right = st.columns(2)
    with left:
        batch = _whole("Batch", "batch", "Sequences at once, B of the paper; each has its own K and V.")
    with right:
        dtype = _choice(
            "Dtype", "dtype", {name: name for name in dtypes}, "Of Q, K, V and O; P is its size in bytes."
        )
    causal = _switch("Causal mask", "causal", "Aligned bottom-right; exact tile counts.")
    ways = _whole("Tensor parallel (GPUs)", "tp", "Divides query and KV heads.")
    return {
        "seq": length,
        "split": split,
        "seq_kv": seq_kv,
        "batch": batch,
        "dtype": dtype,
        "causal": causal,
        "tp": ways,
    }


def _length() -> int:
    """Exact tokens, and a slider over powers of two that sets them.

    A length that the slider did not set gets a slider of its own, with a place for that length. Moved by the page
    instead, the slider would race with the browser, which can report its old place, or the new one, as if a person
    had moved it.
    """
    exact = _whole("Sequence length (tokens)", "seq")
    if st.session_state.get("seq_slid") != exact:
        places = sorted({*_POWERS, exact})
        st.session_state.update(seq_slid=exact, seq_places=places)
        st.session_state["seq_sliders"] = st.session_state.get("seq_sliders", 0) + 1
    number = st.session_state["seq_sliders"]
    st.select_slider(
        "Powers of two",
        st.session_state["seq_places"],
        exact,
        key=f"seq_slider_{number}",
        format_func=_short,
        on_change=_slid,
        args=(number,),
        label_visibility="collapsed",
    )
    return exact


def _slid(number: int) -> None:
    """Take the slider's length. A report of an earlier slider, or of the place where it was put, is no move."""
    if number != st.session_state["seq_sliders"]:
        return
    length = st.session_state[f"seq_slider_{number}"]
    if length != rounded(st.session_state["seq"]):
        st.session_state.update(seq=float(length), seq_slid=length)


def _short(length: int) -> str:
    """A length as the slider writes it: 512, 7K for 7 x 1,024, 1,000, 1M."""
    for unit, size in (("M", 2**20), ("K", 2**10)):
        if length % size == 0:
            return f"{length // size}{unit}"
    return f"{length:,}"


def _hardware(gpus: list[str], kernels: list[str]) -> dict[str, Any]:
    gpu_specs = {name: loader.load(GpuSpec, name) for name in gpus}
    about = "Sizes, rates and latencies of one GPU; the Presets page lists each with its source."
    gpu = _choice("GPU", "gpu", {name: spec.title for name, spec in gpu_specs.items()}, about)
    own = gpu_specs[gpu].default_kernel
    titles = {name: f"Default: {own}" if name == OWN else loader.load(KernelSpec, name).title for name in kernels}
    return {
        "gpu": gpu,
        "kernel": _choice("Kernel", "kernel", titles, _KERNEL),
        "params": _parameter_set(gpu_specs[gpu]),
    }


def _parameter_set(gpu: GpuSpec) -> str:
    """The set chosen; the usual one where the GPU has not the one that was chosen for another."""
    known = params.available(gpu)
    titles = {OWN: f"Default: {known[-1]}", "paper": "Paper", "calibrated": "Calibrated"}
    chosen = _choice("Parameters", "params", titles, _PARAMETERS)
    return chosen if chosen in known else OWN


def _what_if(asked: Recipe) -> str:
    """The changed preset values as text; rows to edit them stand above it."""
    with st.expander("What if", expanded=bool(start("set"))):
        whatif.rows(asked, str(st.session_state.get("set", start("set"))))
        text = st.text_area(
            "As text, one KEY=VALUE a line",
            start("set"),
            key="set",
            max_chars=recipe.TEXT_LIMIT,
            placeholder="l2.bytes=100MiB\ntma.inflight_lines=128",
            help="As --set on the command line; paste here what somebody sent you.",
            **_KEPT,
        )
    return text or ""
