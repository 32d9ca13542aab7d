"""Why an analytical number is what it is: every estimator's equations with the experiment's values in them.

`derive(experiment, estimator)` gives a `formula.Derivation`: inputs with label and source, then the steps from the
paper's symbols to each number of the record. The steps follow the estimators' own order of operations, so each
step's arithmetic evaluates to exactly the record's number.
"""

from collections.abc import Callable

from analytical import explain_cache, genz, launch_order, llm_viewer, simfa_python
from analytical.explain_inputs import add_inputs, add_rates
from analytical.formula import Derivation
from presets.errors import PresetError, unknown
from presets.experiment import Experiment
from presets.record import Result, to_record

HEADS = "(B*H_KV*G)"


def derive(experiment: Experiment, estimator: str) -> Derivation:
    """The derivation of one estimator's record; PresetError where it has none (only closed forms do)."""
    if estimator not in _DERIVATIONS:
        raise PresetError(f"--explain: {unknown('closed form', estimator, _DERIVATIONS)}")
    run, steps = _DERIVATIONS[estimator]
    found = Derivation(to_record(experiment, run(experiment)))
    add_inputs(found, experiment)
    steps(found, experiment)
    if experiment.llm.layers:
        found.step("t_model", "Latency, all layers", "t_us*N_layers", "µs", key="model_latency_us")
    return found


def _simfa(found: Derivation, experiment: Experiment) -> None:
    _work(found, experiment)
    explain_cache.paper(found)
    _after_cache(found, experiment)


def _launch_order(found: Derivation, experiment: Experiment) -> None:
    _work(found, experiment)
    explain_cache.launch_order_steps(found, experiment)
    _after_cache(found, experiment)


def _work(found: Derivation, experiment: Experiment) -> None:
    if experiment.workload.causal:
        found.step(
            "E_score", "Scores computed per query head", "score_elements(L, S, T_M, T_N)",
            note="Rows of each query tile times the K/V rows it reads under the mask, counted exactly.",
        )  # fmt: skip
        found.step(
            "R_KV", "K/V rows read per query head", "kv_rows_read(L, S, T_M, T_N)", "rows",
            note="Query tile i reads to the end of its own rows, rounded up to whole K/V tiles, at most S.",
        )  # fmt: skip
        flops, l2 = f"4*{HEADS}*E_score*D", "P*B*(H_KV*G)*D*(2*L + 2*R_KV)"
    else:
        flops, l2 = "4*B*(H_KV*G)*L*S*D", "P*B*(H_KV*G)*D*(2*L + ceil_div(L, T_M)*2*S)"
    found.step("F_total", "Work", flops, "FLOP", equation="Eq. (1)", key="flops")
    found.step("M_L2", "L2 traffic", l2, "B", equation="Eq. (2)", key="l2_bytes")
    found.step("I", "Intensity at L2", "F_total/M_L2", "FLOP/B", equation="Eq. (11)", key="intensity")
    found.step("I_long", "Intensity of long sequences", "2*T_M/P", "FLOP/B", equation="Eq. (12)")


def _after_cache(found: Derivation, experiment: Experiment) -> None:
    found.step(
        "M_write", "DRAM write", f"P*{HEADS}*L*D", "B", key="dram_write_bytes", note="O, written once."
    )  # fmt: skip
    found.step("M_read", "DRAM read", "M_DRAM - M_write", "B", key="dram_read_bytes")
    found.step("R_traffic", "L2 bytes per DRAM byte", "M_L2/M_real", equation="Eq. (7)", key="traffic_ratio")
    add_rates(found, experiment)
    _roofline(found, experiment.workload.causal)


def _roofline(found: Derivation, causal: bool) -> None:
    ctas = f"{HEADS}*ceil_div(L, T_M)"
    found.step("n_longest", "Tiles of the longest CTA", "ceil_div(S, T_N)", "tiles")
    if causal:
        found.step(
            "n_head", "Tiles computed per query head", "tiles_computed(L, S, T_M, T_N)", "tiles",
            note="Partial tiles count whole.",
        )  # fmt: skip
        busiest = f"max(ceil_div({HEADS}*n_head, N_SM), n_longest)"
    else:
        found.step("n_head", "Tiles computed per query head", "ceil_div(L, T_M)*n_longest", "tiles")
        busiest = f"ceil_div({ctas}, N_SM)*n_longest"
    found.step(
        "n_SM", "Tiles of the busiest SM", busiest, "tiles", note="SMs work in whole CTAs: wave quantisation."
    )
    found.step("t_tensor", "Tensor-core ceiling", "4*(n_SM*(T_M*T_N))*D/F_SM", "s")
    found.step("t_mufu", "MUFU ceiling, one exp per score", "n_SM*(T_M*T_N)/E_SM", "s")
    found.step("t_L2", "L2 ceiling", "M_L2/BW_L2", "s")
    found.step("t_DRAM", "DRAM ceiling", "M_DRAM/BW_DRAM", "s")
    found.step("t", "Latency: the highest ceiling", "max(t_tensor, t_mufu, t_L2, t_DRAM, t_launch)", "s")
    _answers(found)
    found.step(
        "U_tensor", "Tensor cores busy", f"4*{HEADS}*n_head*T_M*T_N*D/N_SM/F_SM/t", key="tensor_core_utilization"
    )


def _answers(found: Derivation) -> None:
    found.step("t_us", "Latency, one layer", "t*1e6", "µs", key="latency_us")
    found.step("X", "Throughput", "F_total/t/1e12", "TFLOPS", key="tflops")


def _genz(found: Derivation, experiment: Experiment) -> None:
    decode = experiment.workload.seq_q == 1
    found.step("F_total", "Work", "4*B*(H_KV*G)*L*S*D", "FLOP", equation="Eq. (1)", key="flops")
    found.step("M_Q", "Q, and O", "P*B*H_KV*G*L*D", "B")
    found.step("M_KV", "K, and V", "P*B*H_KV*S*D", "B")
    found.step("M_score", "Scores, on chip", "P*B*H_KV*G*L*S", "B")
    note = "Decode: Q and O stay on chip." if decode else ""
    found.step("M_read", "DRAM read", "2*M_KV" if decode else "2*M_KV + M_Q", "B", key="dram_read_bytes", note=note)
    found.step("M_write", "DRAM write", "0" if decode else "M_Q", "B", key="dram_write_bytes", note=note)
    found.step(
        "M_DRAM", "DRAM traffic", "M_read + M_write", "B", equation="" if decode else "Eq. (3)", key="dram_bytes"
    )
    add_rates(found, experiment)
    found.step("t_compute", "Compute of one operator", "F_total/2/F_peak", "s")
    off, on = ("M_KV", "(M_score + M_Q)") if decode else ("(M_Q + M_KV)", "M_score")
    found.step("t_memory", "Memory of one operator", f"{off}/BW_DRAM + {on}/BW_chip", "s")
    found.step("t", "Latency: Logit, then Attend", "2*max(t_compute, t_memory)", "s")
    _answers(found)
    found.step("U_tensor", "Tensor cores busy", "2*t_compute/t", key="tensor_core_utilization")


def _llm_viewer(found: Derivation, experiment: Experiment) -> None:
    found.step("H", "Query heads", "H_KV*G", "heads")
    found.step("F_total", "Work", "4*B*(H*1)*L*S*D", "FLOP", equation="Eq. (1)", key="flops")
    found.step("F_all", "Operations with softmax", "F_total + N_softmax*B*H*L*S", "op")
    found.step("M_Q", "Q", "P*B*H*L*D", "B")
    found.step("M_KV", "K and V, once per 128 rows and query head", "P*B*H*2*S*D*ceil_div(L, N_rows)", "B")
    found.step("M_read", "DRAM read", "M_Q + M_KV", "B", key="dram_read_bytes")
    found.step("M_write", "DRAM write: an L x S output", "P*B*H*2*L*S", "B", key="dram_write_bytes")
    found.step("M_DRAM", "DRAM traffic", "M_read + M_write", "B", key="dram_bytes")
    add_rates(found, experiment)
    found.step("t_compute", "Compute", "F_all/F_peak", "s")
    found.step("t_memory", "Memory", "M_DRAM/BW_DRAM", "s")
    found.step("t", "Latency: the longer of both", "max(t_compute, t_memory)", "s")
    _answers(found)
    found.step("U_tensor", "Tensor cores busy", "t_compute/t", key="tensor_core_utilization")


_DERIVATIONS: dict[str, tuple[Callable[[Experiment], Result], Callable[[Derivation, Experiment], None]]] = {
    simfa_python.NAME: (simfa_python.run, _simfa),
    launch_order.NAME: (launch_order.run, _launch_order),
    genz.NAME: (genz.run, _genz),
    llm_viewer.NAME: (llm_viewer.run, _llm_viewer),
}
EXPLAINED = tuple(_DERIVATIONS)
