"""A sweep in words: forecast, progress, how it ended; and what to vary at first."""

from collections.abc import Sequence

from dashboard.sweep.analysis import counts
from dashboard.sweep.evaluate import CANCELLED, DONE, FAILED, IMPOSSIBLE
from dashboard.sweep.run import QUEUED, Sweep

LINES_PER_S = 10_000_000  # a cautious pace of one core, for the forecast only
POINT_S = 0.1  # what a point takes beside its lines: handing over, keeping, drawing; likewise
_SUGGESTED = {
    "seq": "512,1024,2048",
    "seq_kv": "1024..16384*2",
    "batch": "1,2,4",
    "causal": "false,true",
    "dtype": "fp8,fp16",
    "tp": "1,2,4",
    "params": "paper,calibrated",
    "llm": "llama3-8b,llama3-70b,llama3.1-405b",
    "gpu": "h800,h100-sxm,h800-pcie",
    "kernel": "fa3",
    "l2.bytes": "25MiB,50MiB,100MiB",
    "l2.effective_bytes": "12.5MiB,25MiB,50MiB",
    "tma.inflight_lines": "32,64,128",
    "sm.clock_hz": "1.5GHz,1.83GHz",
}
# What moves the simulated latency most: with the calibrated set clock, tensor cores and softmax, with the paper's
# lines in flight and L2 latency; keys an experiment lacks are left out. A run each way, so only a few at first.
_SIMULATED = (
    "sm.clock_hz",
    "tensor.fp16_flop_per_cycle",
    "softmax.operands_per_cycle",
    "softmax.exp_cycles",
    "tma.inflight_lines",
    "l2_timing.near_latency_cycles",
)


def suggestion(key: str) -> str:
    """Values to start with for a parameter."""
    return _SUGGESTED.get(key, "1,2")


def usual_keys(keys: Sequence[str], simulated: bool) -> list[str]:
    """The preset values a sensitivity study starts with: all for a closed form, a few for the simulator."""
    return [key for key in _SIMULATED if key in keys] if simulated else list(keys)


def forecast(sweep: Sweep) -> str:
    """What running it will take."""
    todo = [n for n, row in enumerate(sweep.rows) if row["state"] not in (DONE, IMPOSSIBLE)]
    lines = sum(sweep.cost(index) for index in todo)
    seconds = max(lines / LINES_PER_S + len(todo) * POINT_S, 1)
    words = f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:,.0f} min"
    points = f"{len(todo)} points" if len(todo) != 1 else "1 point"
    return f"{points}, {lines / 1e6:,.0f} million line requests, about {words} of one core's time."


def running(sweep: Sweep, position: int) -> str:
    """Where it is."""
    if sweep.state == QUEUED:
        return f"Waiting for another sweep, position {position} in line."
    done, remaining = len(sweep.rows) - len(sweep.open()), sweep.remaining_s()
    rest = f", about {remaining:.0f} s to go" if remaining is not None else ""
    if sweep.cancelled.is_set():
        rest = ", being cancelled: no point starts any more"
    return f"Simulating: {done} of {len(sweep.rows)} points, {sweep.elapsed_s():.0f} s{rest}"


def ahead(count: int) -> str:
    """What a sweep that is not started yet would wait for."""
    if not count:
        return ""
    return "Another sweep runs before it." if count == 1 else f"{count} other sweeps run before it."


def ended(sweep: Sweep) -> str:
    """How it ended, with every count that is not zero."""
    found = counts(sweep.rows)
    parts = [f"{count} {state}" for state, count in found.items()]
    took = f" in {sweep.elapsed_s():.1f} s" if sweep.elapsed_s() else ", all kept from earlier runs"
    return " ".join([f"{len(sweep.rows)} points: {', '.join(parts)}{took}.", *sorted(sweep.remarks)])


def unfinished(sweep: Sweep) -> bool:
    """Whether running it again could answer more points."""
    found = counts(sweep.rows)
    return any(state not in ("done", IMPOSSIBLE) or state in (FAILED, CANCELLED) for state in found)
