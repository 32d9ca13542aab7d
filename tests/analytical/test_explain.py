"""Explanations: each shown step evaluates to its value, and the last one to the record's number, exactly."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analytical import explain, formula
from presets import loader
from presets.arguments import bare_shape, build
from presets.errors import PresetError
from presets.experiment import Experiment
from presets.specs import GpuSpec, KernelSpec, LlmSpec
from tests.presets.test_experiment import experiment

KERNELS = {name: loader.load(KernelSpec, name) for name in loader.names(KernelSpec)}
GPUS = {name: loader.load(GpuSpec, name) for name in loader.names(GpuSpec)}
NUMBERS = {
    "simfa-python": "flops l2_bytes dram_bytes dram_read_bytes dram_write_bytes regime waves latency_us tflops "
    "tensor_core_utilization dram_ideal_bytes dram_real_bytes traffic_ratio intensity",
    "genz": "flops dram_bytes dram_read_bytes dram_write_bytes latency_us tflops tensor_core_utilization",
}
NUMBERS["simfa-launch-order"] = NUMBERS["simfa-python"].replace("regime ", "") + (
    " live_kv_heads reuse_kv_heads lost_share"
)
NUMBERS["llm-viewer"] = NUMBERS["genz"]


@st.composite
def experiments(draw: st.DrawFn) -> Experiment:
    """Any GPU, kernel, shape, mask and dtype; both regimes, decode, several heads live, both traversals."""
    heads_kv, group = draw(st.integers(1, 16)), draw(st.integers(1, 16))
    settings: dict[str, str] = {}
    if draw(st.booleans()):
        settings["pipeline.grid_order"] = draw(st.sampled_from(["block_fastest", "head_fastest"]))
    if draw(st.booleans()):
        settings["pipeline.live_heads"] = str(draw(st.integers(1, 20)))
    if draw(st.booleans()):
        settings["pipeline.kv_traversal"] = draw(st.sampled_from(["cyclic", "sawtooth"]))
    gpu = GPUS[draw(st.sampled_from(sorted(GPUS)))]
    if gpu.l2.ways and draw(st.booleans()):
        gpu = gpu.model_copy(update={"l2": gpu.l2.model_copy(update={"ways": None})})
    length = draw(st.one_of(st.just(1), st.integers(1, 2**20)))
    return build(
        bare_shape(heads_kv * group, heads_kv, draw(st.sampled_from([64, 128, 256]))),
        gpu,
        KERNELS[draw(st.sampled_from(sorted(KERNELS)))],
        settings,
        seq_q=length,
        seq_kv=draw(st.one_of(st.just(length), st.integers(1, 2**20))),
        batch=draw(st.integers(1, 4)),
        causal=draw(st.booleans()),
        dtype=draw(st.sampled_from(["fp8", "fp16", "bf16", "fp32"])),
    )


def check(case: Experiment, estimator: str) -> None:
    found = explain.derive(case, estimator)
    for step in found.steps.values():
        assert formula.evaluate(step.arithmetic) == step.value, f"{step.symbol} = {step.arithmetic}"
        if step.key == "regime":
            assert ("ideal" if step.value else "realistic") == found.record["regime"]
        elif step.key:
            assert step.value == found.record[step.key], step.key
            assert type(step.value) is type(found.record[step.key])
        assert set(step.values) <= set(found.inputs) | set(found.steps)
    assert set(NUMBERS[estimator].split()) <= set(found.titles())


@pytest.mark.parametrize("estimator", explain.EXPLAINED)
@given(case=experiments())
@settings(max_examples=150)
def test_every_shown_step_evaluates_to_the_records_number(estimator: str, case: Experiment) -> None:
    check(case, estimator)


@pytest.mark.parametrize("estimator", explain.EXPLAINED)
@pytest.mark.parametrize("length", [512, 51_199, 51_200, 65_536])
@pytest.mark.parametrize("ways", [1, 8])
def test_both_regimes_and_a_shared_model(estimator: str, length: int, ways: int) -> None:
    case = experiment("llama3.1-405b", seq_q=length, seq_kv=length, tensor_parallel=ways)
    check(case, estimator)
    assert "model_latency_us" in explain.derive(case, estimator).titles()


def test_eq2_at_4096_reads_as_in_the_paper() -> None:
    found = explain.derive(experiment(), "simfa-python")
    step = found.steps["M_L2"]
    assert (step.equation, step.value) == ("Eq. (2)", 33 * 2**26)
    assert step.expression == "P*B*(H_KV*G)*D*(2*L + ceil_div(L, T_M)*2*S)"
    assert step.arithmetic == "2 * 1 * (8 * 4) * 128 * (2 * 4096 + ceil_div(4096, 128) * 2 * 4096)"
    assert r"\left\lceil \frac{4{,}096}{128} \right\rceil" in step.latex()
    assert r"\text{2,214,592,512 B (2.215 GB)}" in step.latex()


def test_why_holds_just_the_steps_that_lead_to_a_number_in_order() -> None:
    found = explain.derive(experiment(), "simfa-python")
    assert [step.symbol for step in found.why("dram_ideal_bytes")] == ["G", "M_ideal"]
    latency = [step.symbol for step in found.why("latency_us")]
    assert latency[-2:] == ["t", "t_us"] and "M_real" in latency and "U_tensor" not in latency
    for step in found.why("tflops"):
        before = latency if step.symbol in latency else [*latency, "F_total", "X"]
        assert step.symbol in before
    with pytest.raises(KeyError):
        found.why("cycles")


def test_every_input_carries_its_source() -> None:
    case = build(
        loader.load(LlmSpec, "llama3-8b"), GPUS["h800"], KERNELS["fa3"], {"l2.effective_bytes": "20MiB"},
        seq_q=4096, seq_kv=4096,
    )  # fmt: skip
    found = explain.derive(case, "simfa-python")
    inputs = {entry.symbol: entry for entry in found.sources(found.why("dram_bytes"))}
    assert (inputs["T_M"].key, inputs["T_M"].label) == ("tile.query_rows", "published")
    assert (inputs["size_L2"].label, inputs["size_L2"].value) == ("override", 20 * 2**20)
    assert inputs["L"].label == "workload"
    assert "T_N" not in inputs and all(entry.source for entry in inputs.values())


def test_the_simulator_has_no_closed_form_to_show() -> None:
    with pytest.raises(PresetError, match="unknown closed form 'sim-fa'"):
        explain.derive(experiment(), "sim-fa")


@given(case=experiments())
@settings(max_examples=50)
def test_latex_is_balanced_and_names_every_symbol(case: Experiment) -> None:
    for estimator in explain.EXPLAINED:
        for step in explain.derive(case, estimator).steps.values():
            text = step.latex()
            assert text.count("{") == text.count("}")
            assert text.count(r"\left") - text.count(r"\lef" + "t(") >= 0
            assert len(re.findall(r"\\left[^a-z]|\\left\\", text)) == len(
                re.findall(r"\\right[^a-z]|\\right\\", text)
            )
            assert "_" not in re.sub(r"_\{", "", text)


@pytest.mark.parametrize("text", ["__import__('os')", "open('x')", "().__class__"])
def test_arithmetic_reaches_nothing_but_its_functions(text: str) -> None:
    with pytest.raises((NameError, ValueError)):
        formula.evaluate(text)
