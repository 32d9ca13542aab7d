"""A trace: tensor maps, programs, and the CTAs that run them; what the text format holds and the engine runs."""

from dataclasses import dataclass, field

from simfa.isa import Program
from simfa.trace.tensor_map import TensorMap


@dataclass(frozen=True)
class Launch:
    """What a CTA occupies, and how CTAs are dispatched; 0 where nothing is said."""

    shared_memory: int = 0  # bytes of one CTA
    registers: int = 0  # of one thread; a logical thread is a warpgroup of 128
    cluster: int = 1  # CTAs dispatched together to neighbouring SMs
    ctas_per_sm: int = 0  # at most so many, whatever else would fit


@dataclass(frozen=True)
class Cta:
    """One CTA: a program per logical thread, and its origins: what box coordinates of a map are relative to."""

    programs: tuple[str, ...]
    origins: tuple[tuple[int, tuple[int, ...]], ...] = ()  # map number, coordinates; in order of map


@dataclass(frozen=True)
class Trace:
    """A kernel launch; CTAs in order of dispatch. `map` operands of programs are numbers into `maps`."""

    maps: tuple[TensorMap, ...] = ()
    programs: dict[str, Program] = field(default_factory=dict)
    ctas: tuple[Cta, ...] = ()
    launch: Launch = Launch()
