"""Phases on pipes that an SM's warpgroups share, counted down cycle by cycle.

A phase asks a pipe for the share (its cycles there over its cycles alone). While a pipe is asked for more than it
has, everyone on it goes at the share of what it has; a phase goes at its slowest pipe's speed. A tensor core under
way takes its part of the operand pipe. Shares and speeds are rounded down to whole 1/65536, a speed to no less.
"""

from fractions import Fraction
from math import floor
from typing import Any

PIPES = ("fp32", "mufu", "operands")
UNIT = Fraction(1, 1 << 16)


class SharedPipes:
    """The phases of one SM. With `exact` nothing is rounded."""

    def __init__(self, tensor_share: float, exact: bool = False) -> None:
        self.exact = exact
        self.tensor_share = Fraction(round(tensor_share / float(UNIT))) * UNIT
        self.left: dict[Any, Fraction] = {}  # by thread: cycles alone still to do
        self.shares: dict[Any, dict[str, Fraction]] = {}
        self.served = dict.fromkeys(PIPES, Fraction(0))

    def begin(self, thread: Any, row: dict[str, int]) -> None:
        """A phase starts; its first cycle is the one that begins now."""
        cycles = max(row["cycles"], 1)
        self.left[thread] = Fraction(cycles)
        self.shares[thread] = {pipe: self._down(Fraction(row[pipe], cycles)) for pipe in PIPES}

    def cycle(self, tensor_busy: bool) -> list[Any]:
        """One cycle passes; threads whose phases are over."""
        speeds = {thread: self._speed(thread, tensor_busy) for thread in self.left}
        for thread, speed in speeds.items():
            self.left[thread] -= speed
            for pipe in PIPES:
                self.served[pipe] += speed * self.shares[thread][pipe]
        over = [thread for thread, left in self.left.items() if left <= 0]
        for thread in over:
            del self.left[thread], self.shares[thread]
        return over

    def _speed(self, thread: Any, tensor_busy: bool) -> Fraction:
        speed = Fraction(1)
        for pipe in PIPES:
            has = 1 - (self.tensor_share if pipe == "operands" and tensor_busy else 0)
            asked = sum((shares[pipe] for shares in self.shares.values()), Fraction(0))
            if asked > has and self.shares[thread][pipe] > 0:
                speed = min(speed, max(self._down(Fraction(has) / asked), UNIT))
        return speed

    def _down(self, value: Fraction) -> Fraction:
        return value if self.exact else floor(value / UNIT) * UNIT
