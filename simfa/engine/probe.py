"""An observer: spans of activity of one SM, if asked for, and every CTA's stalls. It changes no timing.

Tracks are the CTA's roles in order, then the tensor core, then the TMA engine. Activities are opcodes and wait
reasons of `simfa.engine.threads`.
"""

from typing import NamedTuple

import numpy as np

from simfa.engine.jit import kernel

SPAN = np.dtype(
    [
        ("start", np.int64),
        ("end", np.int64),
        ("track", np.int16),
        ("activity", np.int16),
        ("tag", np.int32),
        ("operand", np.int32),
        ("cta", np.int32),
        ("slot", np.int32),  # CTA slot of the whole GPU
    ]
)
HEADER = np.dtype([("sm", np.int64), ("count", np.int64), ("dropped", np.int64)])


class Probe(NamedTuple):
    """The observed SM (-1: none) and its spans so far."""

    header: np.ndarray
    spans: np.ndarray
    stall_cycles: np.ndarray  # per CTA, or tile of a persistent one, and role


def make_probe(sm: int, capacity: int, ctas: int, roles: int) -> Probe:
    """A probe of SM `sm` that keeps the first `capacity` spans; -1 keeps none. Stalls are kept of all SMs."""
    header = np.zeros(1, HEADER)
    header[0] = (sm, 0, 0)
    spans = np.zeros(capacity if sm >= 0 else 1, SPAN)
    return Probe(header, spans, np.zeros((ctas, roles), np.int64))


@kernel
def record(probe, sm, slot, cta, track, activity, tag, operand, start, end):
    """Keep one span if it happened on the observed SM and took any time."""
    header = probe.header[0]
    if header["sm"] != sm or end <= start:
        return
    if header["count"] == probe.spans.shape[0]:
        header["dropped"] += 1
        return
    span = probe.spans[header["count"]]
    header["count"] += 1
    span["start"] = start
    span["end"] = end
    span["track"] = track
    span["activity"] = activity
    span["tag"] = tag
    span["operand"] = operand
    span["cta"] = cta
    span["slot"] = slot


@kernel
def stalled(probe, cta, role, cycles):
    """A warpgroup stood stalled for so many cycles at an instruction of a CTA, or of a persistent CTA's tile."""
    probe.stall_cycles[cta, role] += cycles
