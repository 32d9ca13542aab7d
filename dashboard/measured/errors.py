"""The two ways a measured file can fail to give values: a refusal and a question."""

from __future__ import annotations


class MeasuredError(ValueError):
    """Base of everything the reader raises; its text is one sentence for the reader of the page."""


class Refused(MeasuredError):
    """The file holds no readable launches; the sentence says why and what to run instead."""


class TooLarge(Refused):
    """The upload or its decompressed text is beyond the limit."""


class NeedsAnswer(MeasuredError):
    """The separators of the file can be read in two ways; the user has to say which one is right.

    `example` is a number as printed in the file, `readings` maps each possible answer ("." or ",", the
    decimal separator) to the value the example would then have, in the unit printed beside it; where two
    numbers contradict each other one answer may have no reading.
    """

    def __init__(self, file: str, example: str, readings: dict[str, float], counter: str, other: str = "") -> None:
        self.file, self.example, self.readings, self.counter = file, example, readings, counter
        if other:
            problem = f'the numbers "{example}" and "{other}" have different decimal separators'
        else:
            point, comma = (format(readings[key], ",.10g") for key in (".", ","))
            problem = (
                f'the number "{example}" ({counter}) is {point} if the decimal separator is a point and '
                f"{comma} if it is a comma, and nothing else in the file decides"
            )
        super().__init__(
            f"{file}: {problem}; say which separator is the decimal one (--decimal point or --decimal comma)."
        )
