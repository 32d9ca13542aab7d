"""The roofline's data: a GPU's ceilings for one experiment, and where each estimator's answer stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from analytical import equations as eq
from analytical import roofline
from dashboard.compare import digits, said
from presets.experiment import Experiment

_LEVELS = {"l2": "l2_bytes", "dram": "dram_bytes"}


def ceilings(experiment: Experiment) -> dict[str, float]:
    """Whole-GPU ceilings: compute in TFLOPS, bandwidths in bytes/s, and the intensity of Eq. (12) in FLOP/B.

    One score takes 4 D FLOP (two products of length D) and one exponential: MUFU caps FLOP at 4 D times its rate.
    """
    rates, gpu = roofline.Rates.of(experiment), experiment.gpu
    return {
        "tensor_tflops": gpu.sm.count * rates.sm_flop_per_s / 1e12,
        "mufu_tflops": gpu.sm.count * rates.sm_exp_per_s * 4 * experiment.llm.head_dim / 1e12,
        "l2_bytes_per_s": rates.l2_bytes_per_s,
        "dram_bytes_per_s": rates.dram_bytes_per_s,
        "asymptote_flop_per_byte": eq.eq12_intensity_long(
            experiment.kernel.tile.query_rows, experiment.precision_bytes
        ),
    }


def dots(answers: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """A dot per answer and memory level it counts: FLOP per byte of that level, and its throughput."""
    found = []
    for record in answers:
        for level, key in _LEVELS.items():
            if record["tflops"] is not None and record[key]:
                intensity = record["flops"] / record[key]
                found.append(
                    {
                        "estimator": record["estimator"],
                        "level": level,
                        "intensity": intensity,
                        "tflops": record["tflops"],
                    }
                )
    return found


def dots_of(pinned: Mapping[str, dict[str, Any]], answers: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The dots of a pinned run, of those estimators that are shown."""
    return dots([pinned[record["estimator"]] for record in answers if record["estimator"] in pinned])


def title(answers: Sequence[dict[str, Any]], caps: dict[str, float]) -> str:
    """What binds SimFA-python here, and how near the intensity is to Eq. (12)."""
    record = next(answer for answer in answers if answer["estimator"] == "simfa-python")
    reached, peak = digits(record["tflops"]), digits(caps["tensor_tflops"])
    intensity, limit = digits(record["intensity"]), digits(caps["asymptote_flop_per_byte"])
    return (
        f"SimFA-python: bound by {said(record['bottleneck'])}, {reached} of {peak} TFLOPS, "
        f"{intensity} FLOP per L2 byte where Eq. (12) tends to {limit}"
    )
