"""Softmax as phases on an SM's shared pipes: cycles alone, and what each phase asks of FP32, MUFU and operands.

A warpgroup has a warp on each of the SM's four sub-partitions, so a tile of 64 x n scores is n / 2 warp
instructions per sub-partition for every operation on it. The register file feeds operands to the CUDA cores and
to WGMMA; what WGMMA takes of it is what makes softmax slower while the tensor core runs.
"""

from dataclasses import dataclass
from math import ceil

from presets.specs import SoftmaxSpec

LANES, SUB_PARTITIONS = 32, 4


@dataclass(frozen=True)
class Softmax:
    """Phases of one consumer warpgroup and K/V tile: `scores` per tile, `outputs` of O, `rows`."""

    spec: SoftmaxSpec
    rows: int
    kv_rows: int
    head_dim: int
    precision_bytes: int

    def scores(self, masked: bool) -> list[dict[str, int]]:
        """Mask, row maximum with its exchange between lanes, then exponentials with the row sums."""
        spec, count = self.spec, self._instructions(self.kv_rows)
        mask = [self._phase(spec.mask_cycles * count, operands=2 * count)] if masked and spec.mask_cycles else []
        maximum = self._phase(spec.max_cycles * count, operands=2 * count)
        exchange = [_latency(spec.exchange_latency_cycles)] if spec.exchange_latency_cycles else []
        exponentials = self._phase(2 * count, mufu=spec.exp_cycles * count, operands=5 * count)
        return [*mask, maximum, *exchange, exponentials]

    def probabilities(self, to_shared: bool) -> list[dict[str, int]]:
        """P to the GEMM's type, two scores an instruction, and to shared memory where the kernel puts it there."""
        count = self._instructions(self.kv_rows) / 2
        found = [self._phase(self.spec.convert_cycles * count, operands=2 * count)]
        if to_shared:
            stored = self.rows * self.kv_rows * self.precision_bytes
            found.append(_latency(ceil(stored / self.spec.shared_store_bytes_per_cycle)))
        return found

    def rescale(self) -> list[dict[str, int]]:
        """O times the change of its rows' scale."""
        count = self._instructions(self.head_dim)
        return [self._phase(count, operands=2 * count)]

    def output_to_shared(self) -> list[dict[str, int]]:
        """O to shared memory, where TMA takes it from."""
        return [_latency(self.output_cycles)]

    @property
    def output_cycles(self) -> int:
        """How long O takes to shared memory."""
        return ceil(self.rows * self.head_dim * self.precision_bytes / self.spec.shared_store_bytes_per_cycle)

    def row_sums(self) -> list[dict[str, int]]:
        """The exchange between lanes at the end."""
        return [_latency(self.spec.exchange_latency_cycles)] if self.spec.exchange_latency_cycles else []

    def _instructions(self, columns: int) -> float:
        """Warp instructions of one sub-partition for one operation on rows x columns values."""
        return self.rows * columns / (LANES * SUB_PARTITIONS)

    def _phase(self, fp32: float, mufu: float = 0, operands: float = 0) -> dict[str, int]:
        """A phase as long as its most wanted pipe; operand reads count `operand_factor` times."""
        fetch = operands * self.spec.operand_factor / self.spec.operands_per_cycle
        cycles = ceil(max(fp32, mufu, fetch, 1))
        return {"cycles": cycles, "fp32": ceil(fp32), "mufu": ceil(mufu), "operands": ceil(fetch)}


@dataclass(frozen=True)
class Bubbles:
    """The same steps as the paper has them (section 5.2): one bubble of `cycles` that nothing else lengthens.

    A mask, the exchange between lanes and the last rescaling are not in the paper's count and take no time.
    """

    cycles: int
    output_cycles: int

    def scores(self, masked: bool) -> list[dict[str, int]]:
        """All of softmax, whether masked or not."""
        return [_latency(self.cycles)]

    def probabilities(self, to_shared: bool) -> list[dict[str, int]]:
        """Counted in the bubble."""
        return []

    def rescale(self) -> list[dict[str, int]]:
        """Counted in the bubble."""
        return []

    def output_to_shared(self) -> list[dict[str, int]]:
        """O to shared memory, as with phases."""
        return [_latency(self.output_cycles)]

    def row_sums(self) -> list[dict[str, int]]:
        """Not in the paper's count."""
        return []


def _latency(cycles: int) -> dict[str, int]:
    return {"cycles": max(cycles, 1), "fp32": 0, "mufu": 0, "operands": 0}
