"""Inner kernels as tests call them: compiled code only is what the kernels themselves are for."""

from typing import Any

from simfa.engine import events
from simfa.engine.jit import entry
from simfa.memory import hashing, path
from simfa.memory.bounded import commands


@entry
def request(memory: Any, sm: int, line: int, now: int, is_store: bool) -> Any:
    """`path.request`."""
    return path.request(memory, sm, line, now, is_store)


@entry
def chosen_set(folded: int, slices: int, sets: int, set_hash: int) -> Any:
    """`hashing.chosen_set`."""
    return hashing.chosen_set(folded, slices, sets, set_hash)


@entry
def locate(channels: Any, config: Any, address: int) -> Any:
    """`commands.locate`."""
    return commands.locate(channels, config, address)


@entry
def finish_writes(memory: Any, queue: Any) -> None:
    """Step the DRAM channels until nothing is pending; nothing else may be."""
    while queue.header[0]["pending"] > 0:
        payload = events.pop_due(queue)
        if payload < 0:
            events.next_cycle(queue)
            continue
        queue.header[0]["busy_at"] = queue.header[0]["now"]
        assert payload >> events.KIND_SHIFT == events.DRAM_STEP
        channel = payload & events.ARGUMENT_MASK
        commands.step(memory.hierarchy, memory.commands, queue, channel, queue.header[0]["now"])
