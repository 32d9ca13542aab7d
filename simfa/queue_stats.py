"""How full the bounded queues of the memory hierarchy were, and whom they stopped; from its counters."""

from typing import Any

from simfa.engine.machine import Machine
from simfa.memory.bounded.state import COMMANDS, Bounded
from simfa.memory.dram import TICKS


def queues(machine: Machine) -> dict[str, Any]:
    """Key `queues`: entries, mean over time and slices, and most at once, of each queue; nothing for reservations.

    A mean is the time that entries spent in the queue over the time of the run (Little's law). A response that
    leaves at once does not count as waiting. `stalls` counts how often a slice, or a fill, found no room.
    """
    memory = machine.memory
    if not isinstance(memory, Bounded):
        return {}
    parts, slices, channels = memory.hierarchy, memory.cache.slices, memory.cache.channels
    limits = parts.limits[0]
    cycles = max(int(machine.queue.header[0]["now"]), 1)

    def of(entries: int, total_cycles: float, most: int, count: int) -> dict[str, float]:
        return {"entries": int(entries), "mean": float(total_cycles) / cycles / count, "most": int(most)}

    found: dict[str, Any] = {
        "request": of(limits["request_entries"], slices["request_cycles"].sum(), slices["request_most"].max(),
                      len(slices)),
        "response": of(limits["response_entries"], slices["response_wait_ticks"].sum() / TICKS,
                       slices["response_most"].max(), len(slices)),
        "mshr": of(parts.mshrs.shape[1], slices["mshr_cycles"].sum(), slices["mshr_most"].max(), len(slices)),
    }  # fmt: skip
    if limits["dram"] == COMMANDS:
        capacity = memory.commands.queues.queues["capacity"].max()
        found["dram"] = {"entries": int(capacity), "most": int(channels["most"].max())}
    else:
        found["dram"] = of(
            limits["dram_entries"], channels["wait_ticks"].sum() / TICKS, channels["most"].max(), len(channels)
        )
    found["stalls"] = {name: int(slices[f"{name}_waits"].sum()) for name in ("mshr", "response", "dram")}
    found["stalls"]["request"] = int(slices["held_back"].sum())
    found["sm_held_share"] = float(parts.sms["held_cycles"].sum()) / cycles / len(parts.sms)
    return {"queues": found}
