"""A pointer chase: one thread, one line outstanding, each address known only when the line before it is there."""

from simfa.engine.jit import entry
from simfa.memory import l2


@entry
def chase(cache, lines, partition, gap_cycles, start):
    """Walk `lines` in order, each request `gap_cycles` after the response before it; returns the end cycle."""
    now = start
    for index in range(lines.shape[0]):
        now = l2.access(cache, lines[index], partition, now, False) + gap_cycles
    return now
