"""What is behind a simulated time: how busy each unit was, what the warpgroups waited for, what memory did."""

from typing import Any

from dashboard.compare import digits, said
from presets.experiment import Experiment

Rows = list[dict[str, Any]]
WAITS = {
    "MB_WAIT": "a K, V or Q tile",
    "ACQUIRE_STAGE": "a free stage of shared memory",
    "WGMMA_WAIT": "its own GEMM",
    "BAR_WAIT": "another consumer (named barrier)",
    "TMA_WAIT": "the store of O",
    "TENSOR_BUFFER_FULL": "room in the tensor core's buffer",
    "GROUPS_FULL": "room for another group of operations",
    "TMA_QUEUE_FULL": "room in the TMA queue",
}

_UNITS = {"tma_inflight_lines": "TMA at its limit of lines in flight"}


def arithmetic(experiment: Experiment, record: dict[str, Any]) -> str:
    """How the latency comes from the cycles."""
    clock_mhz = experiment.gpu.sm.clock_hz / 1e6
    launch_us = (experiment.gpu.launch.overhead_s or 0.0) * 1e6
    sum_us = f"{record['cycles']:,} cycles / {clock_mhz:,.10g} MHz"
    launch = f" + {launch_us:.3g} µs launch" if launch_us else ""
    return f"{sum_us}{launch} = {record['latency_us']:,.1f} µs"


def units(experiment: Experiment, record: dict[str, Any]) -> Rows:
    """Each kind of unit, busiest first: the share of the run's cycles it was busy, 0 to 1, and that as time.

    Shares are means over all units of a kind, those of SMs without a CTA too. TMA counts where it is at its limit.
    """
    run_us = record["cycles"] / experiment.gpu.sm.clock_hz * 1e6
    shares = sorted(record["utilization"].items(), key=lambda item: -item[1])
    return [
        {"unit": _UNITS.get(name, said(name)), "busy_share": share, "busy_us": share * run_us}
        for name, share in shares
    ]


def waits(experiment: Experiment, record: dict[str, Any]) -> Rows:
    """What warpgroups waited for, longest first in each role; shares are of the run, mean of all SMs.

    CTAs that share an SM add up, so that a share can be above 1. A sample has none.
    """
    whole = record["cycles"] * experiment.gpu.sm.count
    return [
        {"warpgroup": role, "waits_for": WAITS.get(reason, reason), "stall_cycles": cycles, "share": cycles / whole}
        for role, reasons in record.get("stall_cycles", {}).items()
        for reason, cycles in sorted(reasons.items(), key=lambda item: -item[1])
    ]


def memory(record: dict[str, Any]) -> str:
    """What became of the loads, in a sentence; empty for a sample, which does not say."""
    if "l2_hit_rate" not in record:
        return ""
    merged = record["coalesced_share"]
    return (
        (f"{merged:.1%} of the lines loaded were merged by the coalescer. " if merged else "")
        + f"{record['l2_hit_rate']:.1%} of what reached the L2 hit or waited for a line on its way; a line took "
        f"{digits(record['mean_load_latency_cycles'])} cycles on average, and DRAM moved "
        f"{digits(record['dram_bytes'] / 1e6)} MB."
    )
