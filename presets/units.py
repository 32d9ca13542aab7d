"""Preset values as people read them: with unit, in the multiple that reads best, and back again."""

from presets.quantity import unit_of

UNITS = {
    "bytes": "B",
    "bytes_per_s": "B/s",
    "bytes_per_cycle": "B/cycle",
    "hz": "Hz",
    "cycles": "cycles",
    "s": "s",
}
# Multiples to try, largest first; `parse_number` reads each back to the same value.
_MULTIPLES: dict[str, tuple[tuple[str, float], ...]] = {
    "bytes": (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)),
    "bytes_per_s": (("TB/s", 1e12), ("GB/s", 1e9), ("MB/s", 1e6)),
    "hz": (("GHz", 1e9), ("MHz", 1e6)),
    "s": (("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)),
}
_SHORT_DIGITS = 6


def unit(key: str) -> str:
    """The unit of a dotted key or swept parameter as it is written, empty for a count."""
    if key in ("seq", "seq_kv"):
        return "tokens"
    return UNITS.get(unit_of(key), "")


def text(key: str, value: object) -> str:
    """A value as one would type it for `key`: `25MiB`, `1.83GHz`, `64`; reading it back gives the same value."""
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, (int, float)):
        return str(value)
    for suffix, factor in _MULTIPLES.get(unit_of(key), ()):
        short = f"{value / factor:.{_SHORT_DIGITS}g}"
        if abs(value) >= factor and float(short) * factor == value and "e" not in short:
            return short + suffix
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(value)


def shown(key: str, value: object) -> str:
    """As `text`, with grouped digits, a space before the unit, and the unit where no multiple has it."""
    typed = text(key, value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return typed
    for suffix, _ in _MULTIPLES.get(unit_of(key), ()):
        if typed.endswith(suffix):
            number = typed.removesuffix(suffix)
            grouped = f"{int(number):,}" if number.isdigit() else number
            return f"{grouped} {suffix}".replace("us", "µs")
    plain = f"{int(value):,}" if float(value).is_integer() and abs(value) < 1e15 else f"{value:g}"
    return f"{plain} {unit(key)}".rstrip()
