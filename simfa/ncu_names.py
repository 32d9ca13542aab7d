"""The simulator's counts under Nsight Compute's names, so that they can be laid beside a profile.

Only metrics whose meaning carries over are given. The L2's sectors are 32 bytes; the model moves whole lines, so a
line counts as all of its sectors. There is no L2 fabric between partitions here: `lts__t_sectors` holds what comes
from the SMs, which is what `srcunit_tex` counts on hardware.
"""

from typing import Any

from presets.experiment import Experiment
from simfa import tiles
from simfa.engine.machine import Machine

SECTOR_BYTES = 32
WARPGROUP_THREADS = 128


def metrics(experiment: Experiment, machine: Machine) -> dict[str, Any]:
    """Metric name to value, in Nsight Compute's base units (ns, bytes, sectors, %)."""
    cycles = int(machine.queue.header[0]["now"])
    clock_hz = experiment.gpu.sm.clock_hz
    return {
        "gpu__time_duration.sum": (cycles / clock_hz + (experiment.gpu.launch.overhead_s or 0.0)) * 1e9,
        "sm__cycles_elapsed.max": cycles,
        "sm__cycles_elapsed.avg.per_second": clock_hz,
        **_dram(experiment, machine),
        **_l2(experiment, machine),
        "l1tex__m_xbar2l1tex_read_bytes.sum": _lines(machine, "load_lines") * experiment.gpu.l2.line_bytes,
        "l1tex__m_l1tex2xbar_write_bytes.sum": _lines(machine, "store_lines") * experiment.gpu.l2.line_bytes,
        "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed": _tensor_pct(experiment, machine, cycles),
        "launch__grid_size": min(len(machine.grid.ctas), len(machine.grid.running))
        if tiles.is_persistent(experiment.kernel)
        else len(machine.grid.ctas),
        "launch__block_size": int(machine.state.config[0]["roles"]) * WARPGROUP_THREADS,
    }


def _lines(machine: Machine, name: str) -> int:
    return int(machine.engines.engines[name].sum())


def _dram(experiment: Experiment, machine: Machine) -> dict[str, int]:
    line_bytes = experiment.gpu.l2.line_bytes
    channels = machine.memory.cache.channels
    read, written = (int(channels[name].sum()) * line_bytes for name in ("reads", "writes"))
    if experiment.gpu.dram.aperture == "sysmem":
        return {"lts__d_sectors_fill_sysmem.sum": read // SECTOR_BYTES}
    return {
        "dram__bytes_read.sum": read,
        "dram__bytes_write.sum": written,
        "dram__bytes.sum": read + written,
    }


def _l2(experiment: Experiment, machine: Machine) -> dict[str, Any]:
    sectors = experiment.gpu.l2.line_bytes // SECTOR_BYTES
    slices = machine.memory.cache.slices
    served, missed = int(slices["accesses"].sum()), int(slices["misses"].sum())
    written = _lines(machine, "store_lines")
    return {
        "lts__t_sectors_op_read.sum": (served - written) * sectors,
        "lts__t_sectors_op_write.sum": written * sectors,
        "lts__t_sectors.sum": served * sectors,
        "lts__t_sectors_srcunit_tex.sum": served * sectors,
        "lts__t_sectors_lookup_miss.sum": missed * sectors,
        "lts__t_sector_hit_rate.pct": 100 * (1 - missed / served) if served else None,
    }


def _tensor_pct(experiment: Experiment, machine: Machine, cycles: int) -> float:
    return float(100 * machine.state.sms["tensor_busy"].sum() / (experiment.gpu.sm.count * max(cycles, 1)))
