"""The descriptor cache of an SM's TMA engine (section 4.3, Fig. 2): tensor maps used lately; least recent out.

Operations are served in order, so one that finds the map of an earlier one never overtakes its setup.
"""

from simfa.engine.jit import kernel


@kernel
def setup(tma, sm, tensor_map):
    """Cycles that a request on a tensor map pays beyond the launch latency; the map is then the latest."""
    config = tma.config[0]
    if config["descriptors"] == 0:
        return config["setup_cycles"]
    recent = tma.recent[sm]
    place = 0
    while place < config["descriptors"] and recent[place] != tensor_map:
        place += 1
    hit = place < config["descriptors"]
    for later in range(min(place, config["descriptors"] - 1), 0, -1):
        recent[later] = recent[later - 1]
    recent[0] = tensor_map
    if hit:
        tma.engines[sm]["descriptor_hits"] += 1
    return config["hit_cycles"] if hit else config["setup_cycles"]
