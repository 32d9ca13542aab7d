"""Preset files: TOML in, validated frozen specs out; one error path for shipped, user and override values.

A value is written `key = { value = ..., label = "measured|published|fitted|inferred", source = "..." }`. A
preset that differs little from another names it with `base = "..."` and lists only what differs; it
never inherits name, title or note, and is called like its file where it gives none.
"""

import tomllib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from presets.dram_specs import DramChannelSpec
from presets.errors import PresetError, unknown
from presets.quantity import FILE_LABELS, Provenance, parse_number
from presets.specs import GpuSpec, KernelSpec, LlmSpec, Spec

ROOT = Path(__file__).parent
FOLDERS: dict[type[Spec], str] = {
    GpuSpec: "gpus",
    LlmSpec: "llms",
    KernelSpec: "kernels",
    DramChannelSpec: "dram",
}
# What follows when only the value it is a share of is changed: the share is kept.
_FOLLOWS = {"l2.effective_bytes": "l2.bytes"}
# Said again, it still says something: this is another kernel, of which only what is set is known.
_TELLING = ("instruction",)
_IDENTITY = ("name", "title", "note", "compute_capability", "default_kernel", "base")

S = TypeVar("S", bound=Spec)
Values = dict[str, Any]


def names(kind: type[Spec]) -> list[str]:
    """The shipped presets of one kind, sorted."""
    return sorted(path.stem for path in (ROOT / FOLDERS[kind]).glob("*.toml"))


def load(kind: type[S], name: str) -> S:
    """The preset called `name`, or the preset file at the path `name`. Raises PresetError."""
    values, sources, where = _read(kind, name, ())
    return _build(kind, values, sources, where)


def overlay(spec: S, path: Path) -> S:
    """`spec` with the values that a preset file of its kind holds laid over it. Raises PresetError."""
    values, sources, where = _read_file(type(spec), path, ())
    identity = {key: getattr(spec, key) for key in type(spec).model_fields if key in _IDENTITY}
    changed = {key: value for key, value in values.items() if key not in _IDENTITY}
    return _build(type(spec), identity | flatten(spec) | changed, dict(spec.provenance) | sources, where)


def override(spec: S, settings: Mapping[str, str], where: str = "--set") -> S:
    """`spec` with some values replaced, through the same checks. Keys are dotted, values text with units.

    A value set to what the preset has is not changed: it keeps its source, and what was validated stays so.
    """
    before = flatten(spec)
    values = dict(before)
    sources = dict(spec.provenance)
    for key, text in settings.items():
        if key not in leaf_keys(type(spec)):
            raise PresetError(f"{where}: {unknown('key', key, leaf_keys(type(spec)))}")
        _refuse_part_of_absent_section(spec, key, settings, where)
        values[key] = _parse(text, key, where)
        if key in _TELLING or values[key] != before.get(key):
            sources[key] = Provenance("override", f"{where} {key}={text}")
    for key, leader in _FOLLOWS.items():
        changed = leader in settings and values[leader] != before[leader]
        if changed and key not in settings and type(values[leader]) is int and values[leader] > 0:
            values[key] = max(1, values[key] * values[leader] // before[leader])
            sources[key] = Provenance("override", f"scaled with {leader}: {where} {leader}={settings[leader]}")
    identity = {key: getattr(spec, key) for key in type(spec).model_fields if key in _IDENTITY}
    return _build(type(spec), identity | values, sources, where)


def _refuse_part_of_absent_section(spec: Spec, key: str, settings: Mapping[str, str], where: str) -> None:
    section = key.split(".")[0]
    if "." not in key or getattr(spec, section) is not None:
        return
    kind = _section_of(type(spec).model_fields[section].annotation)
    required = [name for name, field in kind.model_fields.items() if field.is_required()] if kind else []
    missing = [f"{section}.{name}" for name in required if f"{section}.{name}" not in settings]
    if missing:
        raise PresetError(
            f"{where}: {key}: {spec.name} has no section '{section}'; set all of it or none "
            f"(missing: {', '.join(missing)})"
        )


def from_values(kind: type[S], values: Mapping[str, Any], where: str) -> S:
    """A spec from values given by a person, dotted or not; `where` names them in error messages."""
    sources = {key: Provenance("override", where) for key in values if key not in _IDENTITY}
    return _build(kind, dict(values), sources, where)


def leaf_keys(kind: type[BaseModel], prefix: str = "") -> list[str]:
    """Every dotted key that a preset of this kind may hold, identity aside."""
    keys: list[str] = []
    for name, field in kind.model_fields.items():
        if name in _IDENTITY or name == "provenance":
            continue
        section = _section_of(field.annotation)
        keys += leaf_keys(section, f"{prefix}{name}.") if section else [prefix + name]
    return keys


def flatten(spec: BaseModel, prefix: str = "") -> Values:
    """The values of a spec by dotted key, absent optional ones left out."""
    flat: Values = {}
    for name in type(spec).model_fields:
        value = getattr(spec, name)
        if name in _IDENTITY or name == "provenance" or value is None:
            continue
        flat |= flatten(value, f"{prefix}{name}.") if isinstance(value, BaseModel) else {prefix + name: value}
    return flat


def _section_of(annotation: Any) -> type[BaseModel] | None:
    for candidate in (annotation, *get_args(annotation)):
        if isinstance(candidate, type) and issubclass(candidate, BaseModel):
            return candidate
    return None


def _find(kind: type[Spec], name: str) -> Path:
    shipped = ROOT / FOLDERS[kind] / f"{name}.toml"
    if name in names(kind):
        return shipped
    if name.endswith(".toml"):
        path = Path(name)
        if path.is_file():
            return path
        raise PresetError(f"{name}: no such preset file")
    what = FOLDERS[kind].removesuffix("s")
    raise PresetError(f"{unknown(what, name, names(kind))}, or the path of a .toml file")


def _read(kind: type[Spec], name: str, chain: tuple[Path, ...]) -> tuple[Values, dict[str, Provenance], str]:
    return _read_file(kind, _find(kind, name), chain)


def _read_file(kind: type[Spec], path: Path, chain: tuple[Path, ...]) -> tuple[Values, dict[str, Provenance], str]:
    where = path.name if path.parent.parent == ROOT else str(path)
    chain = (*chain, path.resolve())
    if chain[-1] in chain[:-1]:
        raise PresetError(f"{where}: base presets form a circle: {' -> '.join(link.name for link in chain)}")
    try:
        tree = dict(_parsed(path, path.stat().st_mtime_ns))
    except tomllib.TOMLDecodeError as error:
        raise PresetError(f"{where}: not valid TOML: {error}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise PresetError(f"{where}: cannot be read: {error}") from None
    base = tree.pop("base", None)
    if base is not None and not isinstance(base, str):
        raise PresetError(f"{where}: base must be the name of a preset, in quotes (got {base!r})")
    values, sources = _read_base(kind, base, chain, where) if base is not None else ({}, {})
    allowed = leaf_keys(kind)
    for key, leaf in _leaves(tree, where):
        if key in _IDENTITY and key in kind.model_fields:
            values[key] = leaf
        elif key in allowed:
            values[key] = leaf["value"]
            sources[key] = Provenance(leaf["label"], leaf["source"])
        else:
            raise PresetError(f"{where}: {unknown('key', key, allowed)}")
    return values, sources, where


@lru_cache(maxsize=256)
def _parsed(path: Path, _changed_ns: int) -> Mapping[str, Any]:
    """The file as it was at that time; a page reads every preset again and again."""
    return tomllib.loads(path.read_text(encoding="utf-8"))


def _read_base(
    kind: type[Spec], base: str, chain: tuple[Path, ...], where: str
) -> tuple[Values, dict[str, Provenance]]:
    """The base's values under the name of the file that builds on it; paths count from that file's folder."""
    near = chain[-1].parent / base
    if base not in names(kind) and not near.is_file():
        raise PresetError(f"{where}: base: {unknown('preset', base, names(kind))}, or the path of a .toml file")
    values, sources, _ = _read(kind, base if base in names(kind) else str(near), chain)
    return values | {"name": chain[-1].stem, "title": chain[-1].stem, "note": ""}, sources


def _leaves(tree: Mapping[str, Any], where: str, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, node in tree.items():
        key = prefix + name
        if not prefix and name in _IDENTITY:
            yield key, node
        elif not isinstance(node, dict):
            raise PresetError(
                f"{where}: {key}: write it as {{ value = {node!r}, label = ..., source = ... }}; "
                f"label is one of {', '.join(FILE_LABELS)}"
            )
        elif "value" in node:
            _check_leaf(key, node, where)
            yield key, node
        elif not node:
            raise PresetError(f"{where}: {key}: an empty section; give it keys or leave it out")
        else:
            yield from _leaves(node, where, key + ".")


def _check_leaf(key: str, node: Mapping[str, Any], where: str) -> None:
    extra = set(node) - {"value", "label", "source"}
    if extra:
        raise PresetError(f"{where}: {key}: {unknown('field', sorted(extra)[0], ('value', 'label', 'source'))}")
    if node.get("label") not in FILE_LABELS:
        raise PresetError(f"{where}: {key}: label is {node.get('label')!r}; allowed: {', '.join(FILE_LABELS)}")
    if not isinstance(node.get("source"), str) or not node["source"].strip():
        raise PresetError(f"{where}: {key}: source is missing; say where the value comes from")


def _parse(text: str, key: str, where: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    number = parse_number(text, key, where)
    return text if number is None else number


def _build(kind: type[S], values: Values, sources: dict[str, Provenance], where: str) -> S:
    tree: Values = {}
    for key, value in values.items():
        *sections, leaf = key.split(".")
        node = tree
        for section in sections:
            node = node.setdefault(section, {})
        node[leaf] = value
    try:
        spec = kind.model_validate(tree)
    except ValidationError as error:
        raise PresetError("\n".join(_sentences(error, where))) from None
    return spec.model_copy(update={"provenance": sources})


def _sentences(error: ValidationError, where: str) -> Iterator[str]:
    for item in error.errors():
        key = ".".join(str(part) for part in item["loc"])
        message = item["msg"].removeprefix("Value error, ")
        if item["type"] == "missing":
            yield f"{where}: {key}: missing key"
        elif key:
            yield f"{where}: {key}: {message[0].lower()}{message[1:]} (got {item['input']!r})"
        else:
            yield f"{where}: {message}"
