"""The layers of the house, held by its imports: presets -> analytical | simfa -> dashboard."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OURS = ("presets", "analytical", "simfa", "dashboard")
STREAMLIT_PART = ("dashboard/app.py", "dashboard/state.py", "dashboard/views/", "dashboard/widgets/")
STREAMLIT = ("streamlit", *(part.removesuffix(".py").replace("/", ".") for part in STREAMLIT_PART))
KERNELS = ("simfa/engine/", "simfa/memory/")
OUTSIDE = {"numpy", "numba", "llvmlite", *sys.stdlib_module_names}
FORBIDDEN = {
    "presets/": OURS[1:],
    "analytical/": ("simfa", "dashboard"),
    "simfa/": ("analytical", "dashboard"),
    "dashboard/figures/": ("analytical", "simfa"),
}


def imports(source: str, path: str) -> Iterator[str]:
    """Every imported name, dotted and absolute, wherever the import stands."""
    package = path.split("/")[:-1]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*above, *filter(None, [node.module])])
            yield from (f"{module}.{alias.name}" for alias in node.names)


def allowed(path: str, name: str) -> bool:
    top = name.split(".")[0]
    if path.startswith(KERNELS):
        return name.startswith(("simfa.engine", "simfa.memory")) or top in OUTSIDE
    if name.startswith(STREAMLIT):
        return path.startswith(STREAMLIT_PART)
    return not any(path.startswith(room) and top in names for room, names in FORBIDDEN.items())


def forbidden_arrows(source: str, path: str) -> list[str]:
    return [f"{path} -> {name}" for name in imports(source, path) if not allowed(path, name)]


def test_no_file_imports_against_the_layers() -> None:
    files = [file for room in OURS for file in sorted((ROOT / room).rglob("*.py"))]
    assert len(files) > 15
    found = [forbidden_arrows(file.read_text("utf-8"), file.relative_to(ROOT).as_posix()) for file in files]
    assert [arrow for arrows in found for arrow in arrows] == []


PLANTED = """
presets/loader.py          from analytical import genz
presets/loader.py          import dashboard.catalog
analytical/genz.py         from simfa.config import x
analytical/genz.py         import streamlit
simfa/simulate.py          import analytical.tiles as tiles
simfa/engine/loop.py       from presets import specs
simfa/engine/loop.py       from .. import config
simfa/memory/l2.py         import pandas
simfa/memory/l2.py         from joblib import Parallel
dashboard/compare.py       import streamlit as st
dashboard/compare.py       from dashboard.widgets import table
dashboard/figures/bars.py  from simfa.timeline import x
"""


@pytest.mark.parametrize("line", PLANTED.strip().splitlines())
def test_a_planted_import_is_found(line: str) -> None:
    path, source = line.split(maxsplit=1)
    assert len(forbidden_arrows(f"def f():\n    {source}", path)) == 1
    assert forbidden_arrows("from ..memory import l2\nimport numba", "simfa/engine/loop.py") == []
    assert forbidden_arrows("import streamlit", "dashboard/views/compare.py") == []
