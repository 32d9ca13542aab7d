"""From the paper's parameter set to the calibrated one, a mechanism at a time, on eight measured kernels.

Each step is the calibrated set with what later steps bring undone. The walk begins with the paper's set itself, and
a test holds that undoing everything arrives there, to the cycle.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from presets import loader
from presets.experiment import Params
from presets.specs import GpuSpec, KernelSpec
from simfa.validation import cases, fa3
from simfa.validation.study import Point, Study, mape_pct

Settings = dict[str, str]
BATCH = "16"  # of the kernels walked on
PAPER = "paper's set"


@dataclass(frozen=True)
class Step:
    """A mechanism, the part of the machine it belongs to, and the settings without it."""

    name: str
    mechanism: str
    undone: Callable[[], Settings]


class Row(NamedTuple):
    """One step of the walk: mean and worst error in %, and cycles summed over the kernels."""

    step: str
    mechanism: str
    mape_pct: float
    worst_pct: float
    cycles: int


def steps() -> list[Step]:
    """In the order of the walk; the last one's outcome is the calibrated set."""
    return [
        Step("tile of the case", "tile by head dimension, dtype and mask", _tile),
        Step("lines in flight", "384 lines in flight per SM, not 64", _paper("tma.inflight_lines")),
        Step("multicast", "each CTA of a cluster loads half for both", _set("pipeline.multicast", "false")),
        Step("persistent CTAs", "static schedule, official roles", _set("pipeline.schedule", "one_tile")),
        Step("prologue", "next tile loads beside the last epilogue", _set("pipeline.prologue_overlap", "false")),
        Step("dynamic schedule", "heaviest tiles first under a mask", _set("pipeline.schedule", "static")),
        Step("phases", "softmax on pipes that warpgroups share", _set("pipeline.softmax", "bubbles")),
        Step("P in shared memory", "where the kernel puts it there", _set("pipeline.p_in_shared", "false")),
        Step("masks", "a comparison and a selection per score", _set("softmax.mask_cycles", "0")),
        Step("interference", "WGMMA takes operand reads", _set("softmax.wgmma_operand_share", "0")),
        Step("operand factor", "operand reads counted, fitted", _set("softmax.operand_factor", "1")),
        Step("issue", "cycles of instructions, barriers, gaps, tails", _free_issue),
        Step("memory", "L2 clock, DRAM rate and latency", _paper_memory),
        Step("launch", "outside the simulated cycles", _set("launch.overhead_s", "0")),
        Step("tile overhead", "beyond what is modelled, fitted", _set("pipeline.tile_overhead_cycles", "0")),
    ]


def _set(key: str, value: str) -> Callable[[], Settings]:
    return lambda: {key: value}


def _paper(*keys: str) -> Callable[[], Settings]:
    return lambda: _as_paper(*keys)


def _tile() -> Settings:
    kernel = loader.flatten(loader.load(KernelSpec, fa3.KERNEL))
    keys = (
        "tile.query_rows",
        "tile.kv_rows",
        *(f"pipeline.{key}" for key in ("consumer_warpgroups", "cluster_ctas")),
    )
    return {key: str(kernel[key]) for key in keys} | {"pipeline.ping_pong": "true"}


def _as_paper(*keys: str) -> Settings:
    paper = loader.flatten(loader.load(GpuSpec, "h100-sxm"))
    return {key: str(paper[key]) for key in keys}


def _free_issue() -> Settings:
    costs = ("wgmma", "tma", "mbarrier_wait", "stage_acquire", "named_barrier", "gemm_gap")
    return {f"issue.{name}_cycles": "0" for name in costs} | {"issue.wgmma_tail_cycles": "0"}


def _paper_memory() -> Settings:
    clock = {"l2.clock_hz": f"{cases.LOCKED_MHZ}MHz"}
    return clock | _as_paper("dram.channel_bandwidth_bytes_per_s", "dram.latency_s")


def undone_after(index: int) -> Settings:
    """The settings with which the calibrated set has the steps up to `index` and none of the later ones.

    Where two of these set the same value the earlier step's holds: without persistent CTAs there is no schedule.
    """
    found: Settings = {}
    for step in reversed(steps()[index + 1 :]):
        found |= step.undone()
    return found


def jobs() -> list[tuple[str, str, fa3.Job]]:
    """Step, mechanism and job of every kernel walked on."""
    rows = [row for row in cases.locked(("512", "2048")) if row["batch"] == BATCH]
    variants: list[tuple[str, str, Params, Settings]] = [(PAPER, "sections 4 and 5 literally", "paper", {})]
    variants += [
        (step.name, step.mechanism, "calibrated", undone_after(index)) for index, step in enumerate(steps())
    ]
    return [
        (name, mechanism, (row, chosen, changes, fa3.KERNEL))
        for name, mechanism, chosen, changes in variants
        for row in rows
    ]


def walk() -> tuple[list[Row], list[Point]]:
    """A row per step, and the points behind them."""
    todo = jobs()
    found = fa3.runs([job for _, _, job in todo])
    points = [
        fa3.point(job[0], run.latency_us, name, fitted=job[0]["seq_q"] in fa3.FIT_LENGTHS)
        for (name, _, job), run in zip(todo, found, strict=True)
    ]
    rows = []
    for name, mechanism in dict.fromkeys((name, mechanism) for name, mechanism, _ in todo):
        chosen = [index for index, (step, _, _) in enumerate(todo) if step == name]
        mine = [points[index] for index in chosen]
        worst = max((point.error_pct for point in mine), key=abs)
        rows.append(
            Row(name, mechanism, mape_pct(mine) or 0.0, worst, sum(found[index].cycles for index in chosen))
        )
    return rows, points


def walk_study() -> Study:
    """The walk as a study: a group per step; `published` says what the step is and its cycles."""
    rows, points = walk()
    return Study(
        "fa3-walk",
        "FlashAttention-3 on H100 from the paper's parameter set to the calibrated one, step by step",
        "FlashGPU-Sim test baselines (Nsight Compute, H100 SXM at 1500 MHz, cold cache), batch 16",
        "operand factor and tile overhead, on other lengths too (fa3-fit)",
        points,
        "Each step keeps those before it; the order decides how much a step seems worth.",
        x_title="sequence length (tokens)",
        notes={row.step: f"{row.mechanism}; {row.cycles:,} cycles" for row in rows},
    )
