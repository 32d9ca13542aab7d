"""The given values of a derivation: workload, model, kernel and GPU, each with its label and source."""

from analytical import genz, llm_viewer
from analytical.formula import Derivation, Input
from presets.experiment import Experiment
from presets.specs import Spec

# symbol, preset, dotted key, unit, meaning
_PRESET_INPUTS = (
    ("N_Q", "llm", "heads_q", "heads", "query heads of the model"),
    ("D", "llm", "head_dim", "", "head dimension"),
    ("N_layers", "llm", "layers", "layers", "layers of the model"),
    ("T_M", "kernel", "tile.query_rows", "rows", "query rows of one CTA"),
    ("T_N", "kernel", "tile.kv_rows", "rows", "K/V rows of one tile"),
    ("O_limit", "kernel", "pipeline.occupancy_ctas", "CTAs", "CTAs per SM"),
    ("h_asked", "kernel", "pipeline.live_heads", "heads", "KV heads in flight, as asked"),
    ("N_SM", "gpu", "sm.count", "SMs", "streaming multiprocessors"),
    ("size_L2", "gpu", "l2.effective_bytes", "B", "effective L2 capacity"),
)


def add_inputs(found: Derivation, experiment: Experiment) -> None:
    """Workload options and preset values that the equations of traffic take."""
    work = experiment.workload
    _option(found, "B", work.batch, "", "batch size", "--batch")
    _option(found, "L", work.seq_q, "tokens", "query length", "--seq")
    _option(found, "S", work.seq_kv, "tokens", "K/V length", "--seq-kv" if work.seq_kv != work.seq_q else "--seq")
    found.given(
        Input("P", experiment.precision_bytes, "B", f"bytes of one {work.dtype} element", "--dtype", "workload",
              "size of the number format")
    )  # fmt: skip
    for symbol, part, key, unit, meaning in _PRESET_INPUTS:
        _preset(found, symbol, getattr(experiment, part), key, unit, meaning)
    _ways(found, experiment)
    for symbol, value, meaning, source in (
        ("BW_chip", genz.ONCHIP_BYTES_PER_S, "GenZ's on-chip bandwidth", "GenZ 0.0.16: fixed 18000 GiB/s"),
        ("N_rows", llm_viewer.BLOCK_ROWS, "LLM-Viewer's query block", "LLM-Viewer 472f71f"),
        ("N_softmax", llm_viewer.SOFTMAX_OPS_PER_SCORE, "operations per score", "LLM-Viewer 472f71f"),
    ):
        unit = "B/s" if symbol == "BW_chip" else ""
        found.given(Input(symbol, value, unit, meaning, "", "published", source))
    _shared(found, experiment)


def _shared(found: Derivation, experiment: Experiment) -> None:
    ways = experiment.workload.tensor_parallel
    if ways == 1:
        _preset(found, "H_KV", experiment.llm, "heads_kv", "heads", "KV heads")
        found.step("G", "Query heads per KV head", "N_Q//H_KV", "heads")
        return
    _option(found, "TP", ways, "GPUs", "GPUs that share the heads", "--tensor-parallel")
    _preset(found, "N_KV", experiment.llm, "heads_kv", "heads", "KV heads of the model")
    found.step("H_KV", "KV heads of one GPU", "N_KV//TP", "heads")
    found.step("G", "Query heads per KV head", "N_Q//(TP*H_KV)", "heads")


def add_rates(found: Derivation, experiment: Experiment) -> None:
    """What one SM, the L2, DRAM and a launch can do at most."""
    gpu = experiment.gpu
    dtype = {"bf16": "fp16"}.get(experiment.workload.dtype, experiment.workload.dtype)
    clock = "l2.clock_hz" if gpu.l2.clock_hz else "sm.clock_hz"
    for symbol, key, unit, meaning in (
        ("f_SM", "sm.clock_hz", "Hz", "SM clock"),
        ("f_L2", clock, "Hz", "L2 clock"),
        ("c_tensor", f"tensor.{dtype}_flop_per_cycle", "FLOP/cycle", "tensor cores of one SM"),
        ("c_exp", "alu.mufu_op_per_cycle", "op/cycle", "MUFU of one SM"),
        ("N_slice", "l2.slices", "slices", "L2 slices"),
        ("c_slice", "l2.slice_bytes_per_cycle", "B/cycle", "what one slice serves"),
        ("BW_DRAM", "dram.bandwidth_bytes_per_s", "B/s", "DRAM bandwidth"),
        ("t_launch", "launch.floor_s", "s", "shortest launch"),
    ):
        _preset(found, symbol, gpu, key, unit, meaning)
    found.step("F_SM", "Tensor peak of one SM", "c_tensor*f_SM", "FLOP/s")
    found.step("F_peak", "Tensor peak of the GPU", "N_SM*c_tensor*f_SM", "FLOP/s")
    found.step("E_SM", "Exponentials of one SM", "c_exp*f_SM", "op/s")
    found.step("BW_L2", "L2 bandwidth", "N_slice*c_slice*f_L2", "B/s")


def _option(found: Derivation, symbol: str, value: int, unit: str, meaning: str, option: str) -> None:
    found.given(Input(symbol, value, unit, meaning, option, "workload", "chosen in the experiment"))


def _preset(found: Derivation, symbol: str, spec: Spec, key: str, unit: str, meaning: str) -> None:
    value: object = spec
    for part in key.split("."):
        value = getattr(value, part)
    if value is None:
        return
    origin = spec.provenance.get(key)
    label, source = (origin.label, origin.source) if origin else ("inferred", f"{spec.title}: no source given")
    found.given(Input(symbol, value, unit, meaning, key, label, source))


def _ways(found: Derivation, experiment: Experiment) -> None:
    own = experiment.gpu.l2.ways is not None
    if experiment.gpu.l2_ways() is not None:
        key = "l2.ways" if own else "l2_timing.ways"
        _preset(found, "W_L2", experiment.gpu, key, "ways", "ways of an L2 set")
