"""Swept parameters as text: `l2.bytes=25MiB,50MiB`, `seq=1024..131072*2`, `tma.inflight_lines=32..128+32`."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

from dashboard import settings
from dashboard.recipe import PRESETS, WORKLOAD, choices, preset_keys, variables
from presets import units
from presets.errors import PresetError, unknown
from presets.quantity import Number, parse_number

MAX_AXES = 3
_TYPED = 120  # characters of values that a citation repeats in full
_FORMS = "KEY=V1,V2,... or KEY=FIRST..LAST*FACTOR or KEY=FIRST..LAST+STEP"


@dataclass(frozen=True)
class Axis:
    """A parameter and the values it takes, as text that `Recipe.changed` understands; `typed` keeps ranges."""

    key: str
    values: tuple[str, ...]
    typed: str = field(default="", compare=False)

    def text(self) -> str:
        """As it is typed, which gives the same values again; of very many the first two and the last."""
        given = self.typed or ",".join(self.values)
        if len(given) > _TYPED and len(self.values) > 3:
            first, second, *_, last = self.values
            given = f"{first},{second},...,{last} ({len(self.values):,} values)"
        return f"{self.key}={given}"

    @property
    def title(self) -> str:
        """Name and unit, for an axis or a column."""
        unit = units.unit(self.key)
        return f"{self.key} ({unit})" if unit else self.key


def parse(text: str) -> list[Axis]:
    """One axis a line; PresetError on a wrong line, a parameter twice, or more than three of them."""
    axes = [parse_axis(line) for line in text.splitlines() if line.strip()]
    keys = [axis.key for axis in axes]
    for key in keys:
        if keys.count(key) > 1:
            raise PresetError(f"{key} is varied twice; give all its values in one place")
    if len(axes) > MAX_AXES:
        raise PresetError(f"{len(axes)} parameters are varied ({', '.join(keys)}); at most {MAX_AXES} can be")
    return axes


def parse_axis(line: str) -> Axis:
    """One parameter with its values, ranges written out."""
    key, equals, given = (part.strip() for part in line.partition("="))
    if not (equals and key and given):
        raise PresetError(f"'{line.strip()}': write it as {_FORMS}")
    if key not in variables():
        raise PresetError(unknown("parameter", key, variables()))
    most = settings.sweep_points()
    values = itertools.islice(_values(key, given), most + 1)
    distinct = tuple(dict.fromkeys(values))
    if len(distinct) > most:
        raise PresetError(
            f"{key} takes more than {most:,} values; at most {most:,} can be swept (SIMFA_SWEEP_POINTS)"
        )
    _check_names(key, distinct)
    return Axis(key, distinct, ",".join(part.strip() for part in given.split(",")))


def coordinate(key: str, text: str) -> Number | str:
    """A value for tables and figures: a number in the base unit where it is one, else the text."""
    if key in PRESETS or key in ("causal", "dtype"):
        return text
    number = parse_number(text, key, "sweep")
    return text if number is None else number


def _values(key: str, given: str) -> Iterator[str]:
    for part in given.split(","):
        if not part.strip():
            raise PresetError(f"{key}: an empty value in '{given}'; write it as {_FORMS}")
        if ".." in part:
            yield from _range(key, part.strip())
        else:
            yield part.strip()


def _range(key: str, part: str) -> Iterator[str]:
    first_text, _, rest = part.partition("..")
    operator = next((sign for sign in "*+" if sign in rest), None)
    if operator is None:
        raise PresetError(f"{key}: '{part}': say how to go on, as {_FORMS}")
    last_text, _, step_text = rest.partition(operator)
    step_key = key if operator == "+" else "factor"  # a step has the parameter's unit, a factor none
    numbers = [
        parse_number(text, name, "sweep")
        for text, name in ((first_text, key), (last_text, key), (step_text, step_key))
    ]
    first, last, step = numbers
    if first is None or last is None or step is None:
        raise PresetError(f"{key}: '{part}' is no range of numbers; write it as {_FORMS}")
    if last < first or step <= (1 if operator == "*" else 0) or (operator == "*" and first <= 0):
        least = "a factor above 1 and a first value above 0" if operator == "*" else "a step above 0"
        raise PresetError(
            f"{key}: '{part}' never gets to its last value; that takes {least}, and a last value "
            "that is not below the first"
        )
    for n in itertools.count():
        try:
            value = first * step**n if operator == "*" else first + step * n
        except OverflowError:  # beyond floating point, so beyond the last value too
            return
        if value > last:
            return
        yield units.text(key, value)


def _check_names(key: str, values: tuple[str, ...]) -> None:
    """Names and workload values are checked at once; preset values when their experiment is built."""
    named = choices() if key != "causal" else {"causal": ["true", "false"]}
    for value in values if key in named else ():
        if value not in named[key] and not value.endswith(".toml"):
            raise PresetError(f"{key}: {unknown('value', value, named[key])}")
    for value in values if key in WORKLOAD and key not in named else ():
        if not value.replace("_", "").isdigit():
            raise PresetError(f"{key}: '{value}' is not a whole number above 0, in digits alone")
    for value in values if key in preset_keys() else ():
        parse_number(value, key, "sweep")
