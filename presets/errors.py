"""The two ways an experiment can be refused: the input is wrong, or the model does not cover it."""

from collections.abc import Iterable
from difflib import get_close_matches


class PresetError(ValueError):
    """Bad input: the message names the file or option, the key, the value, and what would be right."""


class NotModelled(Exception):
    """Sound input that an estimator cannot answer yet; the message gives the reason."""


def unknown(what: str, name: str, allowed: Iterable[str]) -> str:
    """One sentence on an unknown name: what was meant, perhaps, and what is allowed."""
    names = sorted(allowed)
    close = get_close_matches(name, names, n=1)
    hint = f" Did you mean '{close[0]}'?" if close else ""
    return f"unknown {what} '{name}'.{hint} Allowed: {', '.join(names)}"
