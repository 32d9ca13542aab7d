"""FlashAttention-3 on H100 at clocks nobody recorded: a clock law for each source, every point left out in turn.

Under its power limit a GPU lowers its clock as its tensor cores are kept busier. A law has two numbers, clock =
start + slope x tensor utilisation; a source whose benchmark times a Python call, and in which a kernel of half the
work takes no less time, has a third, the shortest time that its benchmark can show.

What is left of the figure's errors goes by head dimension, and no such law can remove it: at 16,384 tokens without
a mask and at like tensor utilisation (0.90 and 0.88) the simulated cycles ask for about 1,330 MHz at head dimension
128 and 1,585 MHz at 256. The exponentials' utilisation as a third number does not help points left out (4.5 % with
it and without, by least squares of the clock), so power drawn by softmax does not explain it. The paper says that
the clock was fixed at 1,830 MHz and CUDA 12.3 used (appendix C.1); the GPU cannot have held that clock if the
cycles are right. At head dimension 128 other compilers gave other times (flash-attention issue 1322: 550 TFLOPS
with CUDA 12.6 for 630), so code of that day may differ from what its source makes one expect. A constant for each
head dimension would be a table of corrections and is not used.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import NamedTuple

import numpy as np

from presets.errors import NotModelled
from presets.experiment import Params
from simfa import coverage
from simfa.validation import cases, fa3
from simfa.validation.cases import Row
from simfa.validation.study import Point, Study

NOMINAL_MHZ = 1700  # of the simulated cycles; time in L2 and DRAM does not follow the clock, a little of it matters
# A launch behind another one: RRZE gpu-benches, H200, a small kernel back to back. Under a mask the library zeroes
# the schedule's counter before each call (hopper/flash_api.cpp), which is one such kernel more.
SMALL_KERNEL_US = 2.5
RESOLUTION = 1e-3  # relative, of times computed from three printed digits of TFLOPS


@dataclass(frozen=True)
class Source:
    """A published set of kernel times: its name in the file, the kernel that ran, and whether calls were timed."""

    name: str
    kernel: str
    times_calls: bool = False

    @property
    def numbers(self) -> int:
        """Numbers of its law."""
        return 3 if self.times_calls else 2


SOURCES = (
    Source("FA3 paper figure", "fa3-2024-07"),
    Source("MagiAttention Oct 2025", "fa3", times_calls=True),
)
TABLE = "FA3 paper Table 2"  # the same authors' machine and release: predicted by the figure's law


class Simulated(NamedTuple):
    """Kernels of one source: cycles, tensor utilisation, time outside the cycles and measured time, in us."""

    cycles: np.ndarray
    utilization: np.ndarray
    overhead_us: np.ndarray
    measured_us: np.ndarray

    def only(self, chosen: np.ndarray) -> "Simulated":
        """The kernels that a mask or an index keeps."""
        return Simulated(*(part[chosen] for part in self))


class Law(NamedTuple):
    """Clock in MHz by utilisation, and the shortest time a call takes, in us."""

    start_mhz: float
    slope_mhz: float
    shortest_us: float

    def latencies_us(self, kernels: Simulated) -> np.ndarray:
        """What the law says kernels take."""
        clock = self.start_mhz + self.slope_mhz * kernels.utilization
        return np.maximum(kernels.cycles / clock + kernels.overhead_us, self.shortest_us)

    def errors(self, kernels: Simulated) -> np.ndarray:
        """Its relative errors against what was measured."""
        found: np.ndarray = self.latencies_us(kernels) / kernels.measured_us - 1
        return found


def fit(kernels: Simulated, times_calls: bool) -> Law:
    """The law closest to the clocks that measured times ask for, in squares.

    With calls timed, the k shortest kernels are taken to show the shortest time, their mean, and the clock is
    fitted to the others; k is by Akaike's criterion, so that a third number must earn its place. Otherwise k is 0.
    """
    order = np.argsort(kernels.measured_us)
    most = max(len(order) - 3, 0) if times_calls else 0
    laws = [_law(kernels, order[:count], order[count:]) for count in range(most + 1)]
    return min(laws, key=lambda law: _criterion(law, kernels))


def _law(kernels: Simulated, bound: np.ndarray, free: np.ndarray) -> Law:
    found = kernels.only(free)
    needed_mhz = found.cycles / (found.measured_us - found.overhead_us)
    slope, start = np.polyfit(found.utilization, needed_mhz, 1)
    return Law(float(start), float(slope), float(kernels.measured_us[bound].mean()) if len(bound) else 0.0)


def _criterion(law: Law, kernels: Simulated) -> float:
    """Akaike's information criterion; errors below the resolution of published times count as that."""
    errors = law.errors(kernels)
    mean_square = max(float((errors**2).mean()), RESOLUTION**2)
    return len(errors) * log(mean_square) + 2 * (3 if law.shortest_us else 2)


def left_one_out(kernels: Simulated, times_calls: bool) -> np.ndarray:
    """Every kernel's time in us by the law of the others."""
    found = np.zeros(len(kernels.cycles))
    for index in range(len(found)):
        law = fit(kernels.only(np.arange(len(found)) != index), times_calls)
        found[index] = law.latencies_us(kernels.only(np.array([index])))[0]
    return found


def study() -> Study:
    """Both sources, each point by the law of the source's others, and a table's row by the law of its figure."""
    return _study("fa3-unlocked", "FlashAttention-3 on H100 at clocks under power limits", "calibrated")


def paper_study() -> Study:
    """The same kernels by the paper's parameters, where its tile fits: not at head dimension 256."""
    title = "FlashAttention-3 on H100 at clocks under power limits, by the paper's parameters"
    return _study("fa3-unlocked-paper", title, "paper")


def _study(name: str, title: str, chosen: Params) -> Study:
    points: list[Point] = []
    laws, left = [], ""
    for source in SOURCES:
        rows = _rows(source, source.name, chosen)
        kernels = simulated(source, rows, chosen)
        law = fit(kernels, source.times_calls)
        laws.append(f"{source.name}: {_described(law)}, {_fitted(law, kernels)}")
        points += _points(rows, left_one_out(kernels, source.times_calls), source.name)
        if source.name == "FA3 paper figure":
            more = _rows(source, TABLE, chosen)
            points += _points(more, law.latencies_us(simulated(source, more, chosen)), TABLE)
            left = _by_head_dimension(rows, points[: len(rows)])
    numbers = ", ".join(f"{source.numbers} for {source.name}" for source in SOURCES)
    return Study(
        name,
        title,
        "FlashAttention-3 paper, figure and Table 2; MagiAttention, October 2025 (digitised)",
        f"numbers of the clock laws: {numbers}; each point by a law fitted to the source's others",
        points,
        "Clocks are not known: what is tested is the shape over lengths, head dimensions and masks. "
        f"Laws of all points: {'; '.join(laws)}. {left}",
    )


def _by_head_dimension(rows: Sequence[Row], points: Sequence[Point]) -> str:
    """Mean errors of the figure by head dimension, in words: what a law of utilisation leaves."""
    errors: dict[str, list[float]] = {}
    for row, point in zip(rows, points, strict=True):
        errors.setdefault(row["head_dim"], []).append(point.error_pct)
    each = ", ".join(f"{name}: {sum(found) / len(found):+.1f} %" for name, found in errors.items())
    return f"Mean errors of the figure by head dimension, unexplained: {each}."


def _described(law: Law) -> str:
    shortest = f", at least {law.shortest_us:.1f} us" if law.shortest_us else ""
    return f"{law.start_mhz:,.0f} MHz {law.slope_mhz:+,.0f} MHz x tensor utilisation{shortest}"


def _fitted(law: Law, kernels: Simulated) -> str:
    return f"mean error of its fit {100 * np.abs(law.errors(kernels)).mean():.1f} %"


def _rows(source: Source, name: str, chosen: Params) -> list[Row]:
    """The kernels under this name in the file that the parameter set's kernel can run: the paper has one tile."""
    return [row for row in cases.unlocked(name) if _fits(row, source, chosen)]


def _fits(row: Row, source: Source, chosen: Params) -> bool:
    try:
        coverage.check(fa3.experiment(row, chosen, {}, _kernel(source, chosen)))
    except NotModelled:
        return False
    return True


def _kernel(source: Source, chosen: Params) -> str:
    return source.kernel if chosen == "calibrated" else fa3.KERNEL


def _points(rows: Sequence[Row], latencies_us: np.ndarray, group: str) -> list[Point]:
    return [fa3.point(row, us, group, fitted=False) for row, us in zip(rows, latencies_us.tolist(), strict=True)]


def simulated(source: Source, rows: Sequence[Row], chosen: Params = "calibrated") -> Simulated:
    """The kernels of a source at the nominal clock."""
    settings = {"sm.clock_hz": f"{NOMINAL_MHZ}MHz"}
    runs = fa3.runs([(row, chosen, settings, _kernel(source, chosen)) for row in rows])
    masked = np.array([row["causal"] == "1" for row in rows])
    return Simulated(
        np.array([run.cycles for run in runs], float),
        np.array([run.utilization for run in runs]),
        SMALL_KERNEL_US * (1 + masked),
        np.array([float(row["latency_us"]) for row in rows]),
    )
