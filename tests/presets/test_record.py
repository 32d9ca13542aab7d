"""The record: the same keys everywhere, plain numbers, exact bytes, one layer's time named as such."""

import json

from presets.record import KEYS, Result, to_record
from tests.presets.test_experiment import experiment

COMMON_KEYS = [
    "llm", "gpu", "kernel", "estimator", "batch", "seq_q", "seq_kv", "causal", "latency_us", "tflops", "flops",
    "l2_bytes", "dram_bytes", "dram_read_bytes", "dram_write_bytes", "regime", "waves", "bottleneck",
    "tensor_core_utilization",
]  # fmt: skip


def test_the_common_keys_come_first_and_in_order() -> None:
    record = to_record(experiment(), Result("x", None, None))
    assert COMMON_KEYS == KEYS
    assert list(record)[: len(KEYS)] == KEYS


def test_units_and_derived_values() -> None:
    result = Result("x", latency_s=2e-3, flops=4 * 10**12, dram_read_bytes=2**60 + 1, dram_write_bytes=2)
    record = to_record(experiment(), result)
    assert record["latency_us"] == 2000.0
    assert record["tflops"] == 2000.0  # 4e12 FLOP / 2e-3 s
    assert record["dram_bytes"] == 2**60 + 3
    assert record["model_latency_us"] == 32 * 2000.0
    assert record["latency_of"] == "one layer's attention forward pass"
    assert json.loads(json.dumps(record, allow_nan=False)) == record


def test_what_an_estimator_does_not_say_is_none() -> None:
    record = to_record(experiment(), Result("x", None, None, dram_read_bytes=5))
    for key in ("latency_us", "tflops", "flops", "l2_bytes", "dram_bytes", "model_latency_us"):
        assert record[key] is None


def test_extra_keys_notes_and_cautions() -> None:
    case = experiment(seq_q=1)
    record = to_record(case, Result("x", 1e-6, 1, extra={"intensity": 3.5}, notes=("a note",)))
    assert record["intensity"] == 3.5
    assert record["notes"] == [*case.cautions(), "a note"]
