"""Which GPU preset a profiled device is, from its name and compute capability, or why none."""

from __future__ import annotations

import re
from functools import cache

from dashboard.measured.case import preset
from presets import loader
from presets.specs import GpuSpec

_CHIP = re.compile(r"[a-z]{1,3}\d{2,4}[a-z]{0,2}")
_SOCKETED = {"sxm", "sxm2", "sxm3", "sxm4", "sxm5", "sxm6", "hbm3"}


def find(device: str, compute_capability: str = "") -> tuple[str, str]:
    """The preset's name and why it is that one; an empty name, and why, where there is none."""
    if not device.strip():
        return _by_capability(compute_capability)
    words = _words(device)
    if "mig" in words:
        return "", f"{device} is a slice of a GPU (MIG); presets describe whole GPUs"
    same_chip = {name: form for name, (chip, form) in _presets().items() if chip in words}
    if not same_chip:
        return "", f"no preset for {device}; there are {', '.join(_presets())}"
    form = _form(words)
    fitting = [name for name, its in same_chip.items() if form == its or (not form and its in ("", "sxm"))]
    if not fitting:
        return "", f"no preset for {device}; the nearest is {', '.join(same_chip)}, another board"
    name = fitting[0]
    stated = preset(GpuSpec, name, "gpu").compute_capability
    if compute_capability and compute_capability != stated:
        return "", f"{device} reports compute capability {compute_capability}, the preset {name} has {stated}"
    if not form and same_chip[name] == "sxm":
        return name, f"GPU {name}: the device is called {device}, and PCIe boards say so in their name"
    return name, f"GPU {name}: the device is called {device}"


def _by_capability(compute_capability: str) -> tuple[str, str]:
    if not compute_capability:
        return "", "the file does not name the GPU"
    known = [n for n in _presets() if preset(GpuSpec, n, "gpu").compute_capability == compute_capability]
    if len(known) == 1:
        return known[0], f"GPU {known[0]}: the only preset of compute capability {compute_capability}; check it"
    if known:
        return "", f"compute capability {compute_capability} fits {', '.join(known)}; choose one"
    return "", f"no preset of compute capability {compute_capability}, and the file does not name the GPU"


@cache
def _presets() -> dict[str, tuple[str, str]]:
    """Chip and form of every shipped GPU preset, from its name and title."""
    found = {}
    for name in loader.names(GpuSpec):
        title = preset(GpuSpec, name, "gpu").title
        chip = _CHIP.search(name)
        found[name] = (chip.group() if chip else name, _form(_words(name) | _words(title)))
    return found


def _words(text: str) -> set[str]:
    return set(re.split(r"[^a-z0-9]+", text.lower()))


def _form(words: set[str]) -> str:
    if "pcie" in words or "nvl" in words:
        return "pcie" if "pcie" in words else "nvl"
    return "sxm" if words & _SOCKETED else ""
