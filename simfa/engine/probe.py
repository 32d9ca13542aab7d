"""An optional observer of one SM: spans of activity for a timeline. It changes no timing.

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
    cta: np.ndarray  # the CTA in each slot, for labels


def make_probe(sm: int, capacity: int, slots: int) -> Probe:
    """A probe of SM `sm` that keeps the first `capacity` spans; -1 observes nothing."""
    header = np.zeros(1, HEADER)
    header[0] = (sm, 0, 0)
    return Probe(header, np.zeros(capacity if sm >= 0 else 1, SPAN), np.full(slots, -1, np.int32))


@kernel
def record(probe, sm, slot, track, activity, tag, operand, start, end):
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
    span["cta"] = probe.cta[slot]
    span["slot"] = slot
