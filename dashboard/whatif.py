"""Preset values that can be changed: each with unit, bounds, preset value, source, and what a change says."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from dashboard.plain import of_fields
from dashboard.recipe import Recipe
from presets import loader, units
from presets.bounds import AtMost
from presets.errors import PresetError
from presets.specs import Spec


@dataclass(frozen=True)
class Editable:
    """One preset value: key, what it is, its value in the preset (as text to type and to read), bounds, source."""

    key: str
    meaning: str
    typed: str
    shown: str
    bounds: str
    origin: str


def editables(recipe: Recipe) -> dict[str, Editable]:
    """Every value of the GPU, kernel and model of a recipe, as its presets have it, by dotted key."""
    untouched = Recipe(**{**vars(recipe), "set": ""}).experiment()
    found = {}
    for spec in (untouched.gpu, untouched.kernel, untouched.llm):
        values = loader.flatten(spec)
        for key, field in _fields(type(spec)):
            found[key] = _editable(spec, key, field, values.get(key))
    return found


def problem(recipe: Recipe, settings: Mapping[str, str], key: str) -> str:
    """What is wrong with one changed value beside the others; empty when nothing is."""
    text = "\n".join(f"{name}={value}" for name, value in settings.items())
    try:
        Recipe(**{**vars(recipe), "set": text}).experiment()
    except PresetError as error:
        return next((of_fields(line) for line in str(error).splitlines() if key in line), "")
    return ""


def is_changed(editable: Editable, text: str) -> bool:
    """Whether a typed value differs from the preset's."""
    return text != editable.typed


def with_value(text: str, key: str, value: str | None) -> str:
    """The KEY=VALUE lines with one value replaced, added, or (for None) taken out; other lines as they stand.

    A key that was given twice is given once after that.
    """
    lines = text.splitlines()
    places = [n for n, line in enumerate(lines) if line.partition("=")[0].strip() == key]
    kept = [line for n, line in enumerate(lines) if n not in places]
    first = places[0] if places else len(lines)
    return "\n".join([*kept[:first], *([] if value is None else [f"{key}={value}"]), *kept[first:]])


def changes(text: str) -> dict[str, str]:
    """The well-formed KEY=VALUE lines of a text that may hold others."""
    pairs = (line.partition("=") for line in text.splitlines())
    return {key.strip(): value.strip() for key, equals, value in pairs if equals and key.strip() and value.strip()}


def _editable(spec: Spec, key: str, field: FieldInfo, value: Any) -> Editable:
    origin = spec.provenance.get(key)
    return Editable(
        key=key,
        meaning=field.description or "",
        typed="" if value is None else units.text(key, value),
        shown="absent" if value is None else units.shown(key, value),
        bounds=_bounds(key, field),
        origin=f"{origin.label}: {origin.source}" if origin else "",
    )


def _fields(kind: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    keys = set(loader.leaf_keys(kind))
    for name, field in kind.model_fields.items():
        if name in keys:
            yield prefix + name, field
            continue
        for section in (field.annotation, *get_args(field.annotation)):
            if isinstance(section, type) and issubclass(section, BaseModel):
                yield from _fields(section, f"{prefix}{name}.")


def _bounds(key: str, field: FieldInfo) -> str:
    choices = [str(value) for part in _parts(field.annotation) for value in _literals(part)]
    if choices:
        return "one of " + ", ".join(choices)
    kinds = _parts(field.annotation)
    if bool in kinds:
        return "true or false"
    metadata = [*field.metadata, *(item for part in kinds for item in getattr(part, "__metadata__", ()))]
    flat = [item for entry in metadata for item in [entry, *getattr(entry, "metadata", ())]]
    ends = {
        name: getattr(item, name)
        for item in flat
        for name in ("ge", "gt", "le", "lt")
        if getattr(item, name, None) is not None
    }
    words = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}
    other = next((item.key for item in flat if isinstance(item, AtMost)), "")
    said = [
        f"{words[name]} {other if other and name == 'le' else units.shown(key, value)}"
        for name, value in ends.items()
    ]
    return ", ".join(said) or ("text" if str in kinds else "")


def _parts(annotation: Any) -> list[Any]:
    if get_origin(annotation) in (Union, UnionType):
        return [deep for part in get_args(annotation) for deep in _parts(part)]
    return [annotation]


def _literals(part: Any) -> tuple[Any, ...]:
    return get_args(part) if get_origin(part) is Literal else ()
