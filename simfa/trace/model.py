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
    schedule: str = "one_tile"  # static, dynamic: persistent CTAs, one in each place, go through the list of CTAs
    primed: tuple[int, ...] = ()  # arrivals at named barriers 0, 1, ... before a persistent CTA begins

    @property
    def is_persistent(self) -> bool:
        """Whether CTAs of the list are tiles that persistent CTAs go through."""
        return self.schedule != "one_tile"


@dataclass(frozen=True)
class Cta:
    """One CTA, or a tile of a persistent one: a program per logical thread, and where and how often it runs.

    `origins` are what box coordinates of a map are relative to, `turns` those of loops without a count of theirs.
    """

    programs: tuple[str, ...]
    origins: tuple[tuple[int, tuple[int, ...]], ...] = ()  # map number, coordinates; in order of map
    turns: tuple[int, ...] = ()  # of loop 0, 1


@dataclass(frozen=True)
class Trace:
    """A kernel launch; CTAs in order of dispatch. `map` operands of programs are numbers into `maps`."""

    maps: tuple[TensorMap, ...] = ()
    programs: dict[str, Program] = field(default_factory=dict)
    ctas: tuple[Cta, ...] = ()
    launch: Launch = Launch()
