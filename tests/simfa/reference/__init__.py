"""A second implementation of the core model: a plain loop over cycles, to compare the event-driven engine with.

Written from section 4.2, Algorithm 1, the grammar of traces and DEVIATIONS.md, not from the engine: loops and rings
are unrolled before anything runs, work on shared pipes is counted down cycle by cycle, waiting threads are looked
for wherever they are. Every cycle, first whatever completes, then the TMA engines generate lines, then each SM
issues. Memory answers every line after a constant latency. Not fast, not clever.
"""

from tests.simfa.reference.gpu import ReferenceGpu

__all__ = ["ReferenceGpu"]
