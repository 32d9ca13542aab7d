"""Which code gave an answer: package version, commit, digest of the sources, and the libraries beneath."""

import hashlib
import platform
import subprocess
import tomllib
from functools import cache
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NAME = "sim-fa"
LIBRARIES = ("numba", "numpy", "pandas", "plotly", "streamlit")
_ROOMS = ("presets", "analytical", "simfa", "dashboard")
_SOURCES = (".py", ".toml", ".csv", ".j2", ".css", ".js")
_GIT_TIMEOUT_S = 5
_SHORT = 12


@cache
def package_version() -> str:
    """The version in pyproject.toml; empty where that file did not come along."""
    try:
        found = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    except (OSError, tomllib.TOMLDecodeError):
        return ""
    return str(found.get("project", {}).get("version", ""))


@cache  # the code that runs is the code that was there when it started
def commit(root: Path = ROOT) -> str:
    """The commit of the working tree at `root`, `-dirty` where files differ from it; empty where it is none."""
    if _git(root, "rev-parse", "--show-prefix") != "":  # None: no repository; a prefix: somebody else's
        return ""
    return _git(root, "describe", "--always", f"--abbrev={_SHORT}", "--dirty", "--exclude=*") or ""


@cache
def code_digest() -> str:
    """Twelve hex digits over every source and preset file: equal for equal code, with or without git."""
    digest = hashlib.sha256()
    for room in _ROOMS:
        for path in sorted((ROOT / room).rglob("*")):
            if path.suffix in _SOURCES and path.is_file():
                digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:_SHORT]


def versions() -> dict[str, str]:
    """Everything that identifies the code, in the order people look for it."""
    from simfa.coverage import model_digest

    own = {
        NAME: package_version() or "unknown",
        "commit": commit() or "no git repository",
        "code digest (SHA-256 of sources and presets)": code_digest(),
        "simulator digest": model_digest()[:_SHORT],
        "python": platform.python_version(),
    }
    return own | {name: _installed(name) for name in LIBRARIES}


def said() -> str:
    """Version, commit and code digest as a citation names them."""
    known = [f"commit {commit()}"] if commit() else []
    return ", ".join([f"{NAME} {package_version()}".rstrip(), *known, f"code {code_digest()}"])


def _installed(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def _git(root: Path, *words: str) -> str | None:
    """What git answers at `root`; None where it does not."""
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *words], capture_output=True, text=True, timeout=_GIT_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
