"""DRAM traffic of long sequences (Fig. 9): Llama 3.1 405B, 16K to 64K tokens, H800 (25 and 50 MiB of L2) and GB10.

Each launch is simulated by sampling (`simfa.sampling`), so that every number comes with an error. The closed forms
of Fig. 9, Eqs. (3) and (6) and GenZ, are `analytical`'s; of them only the least traffic is here, every tensor
across DRAM once, which is Eq. (3) and GenZ to the byte.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from presets import loader
from presets.arguments import build
from presets.experiment import Experiment, Params
from presets.specs import GpuSpec, KernelSpec, LlmSpec
from simfa import simulate, stats
from simfa.validation import cases
from simfa.validation.study import Point, Study

GIGA = 1e9


@dataclass(frozen=True)
class Row:
    """One launch: DRAM bytes as simulated, how far they may be off, and the least a launch can move."""

    gpu: str
    tokens: int
    l2_capacity_bytes: int
    dram_read_bytes: int
    dram_write_bytes: int
    dram_error_pct: float
    least_bytes: int
    latency_us: float
    latency_error_pct: float
    sampled_fraction: float

    @property
    def dram_bytes(self) -> int:
        """Reads and writes together."""
        return self.dram_read_bytes + self.dram_write_bytes

    def record(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self) | {"dram_bytes": self.dram_bytes}


def rows(
    lengths: Sequence[int] = cases.FIG9_LENGTHS,
    machines: Sequence[tuple[str, int]] = cases.FIG9_L2,
    parameter_set: Params = "paper",
) -> Iterator[Row]:
    """A row for each GPU with an L2 of so many bytes and length, as soon as it is there; a few seconds each."""
    for gpu, capacity in machines:
        for tokens in lengths:
            yield row(experiment(tokens, gpu, capacity, parameter_set))


def experiment(tokens: int, gpu: str, capacity: int, parameter_set: Params = "paper") -> Experiment:
    """One launch of Fig. 9, to be sampled."""
    machine = loader.load(GpuSpec, gpu)
    settings = {"l2.bytes": str(capacity)}
    llm, kernel = loader.load(LlmSpec, cases.FIG9_MODEL), loader.load(KernelSpec, machine.default_kernel)
    found = build(llm, machine, kernel, settings, parameter_set, seq_q=tokens, seq_kv=tokens)
    return found.model_copy(update={"sample": True})


def row(case: Experiment) -> Row:
    """Simulate one launch."""
    result = simulate.run(case).result
    assert result.dram_read_bytes is not None and result.dram_write_bytes is not None
    assert result.latency_s is not None
    return Row(
        case.gpu.name,
        case.workload.seq_q,
        case.gpu.l2.bytes,
        result.dram_read_bytes,
        result.dram_write_bytes,
        result.extra["dram_error_pct"],
        stats.compulsory_bytes(case),
        result.latency_s * 1e6,
        result.extra["latency_error_pct"],
        result.extra["sampled_fraction"],
    )


def study(
    lengths: Sequence[int] = cases.FIG9_LENGTHS, machines: Sequence[tuple[str, int]] = cases.FIG9_L2
) -> Study:
    """How much more than every tensor once crosses DRAM."""
    return Study(
        "fig9-traffic",
        "DRAM traffic of Llama 3.1 405B at long sequences (Fig. 9)",
        "every tensor across DRAM once: Eq. (3), and GenZ 0.0.16 to the byte; FP16, not causal",
        "nothing",
        [_point(found) for found in rows(lengths, machines)],
        "Percentages are traffic above the least, not errors: the paper's measurements are not public. Simulated "
        "by sampling; each point may be off by the per cent in its name.",
        x_title="sequence length (tokens)",
        compares="difference",
    )


def _point(found: Row) -> Point:
    series = cases.fig9_series(found.gpu, found.l2_capacity_bytes)
    label = f"{series}, {found.tokens:,} tokens, within {found.dram_error_pct:.1f} %"
    return Point(
        label, found.least_bytes / GIGA, found.dram_bytes / GIGA, "GB", series=series, x=float(found.tokens)
    )
