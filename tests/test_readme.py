"""The README's examples are what the commands print today."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def examples() -> list[tuple[str, str]]:
    """Commands and their output, from the `console` blocks."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", README, re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output))
    return found


@pytest.mark.parametrize(("command", "output"), examples())
def test_example_prints_what_the_readme_shows(command: str, output: str) -> None:
    here = command.replace("python ", f"{sys.executable} ", 1)
    done = subprocess.run(here, shell=True, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.stdout + done.stderr == output


def test_both_set_up_lines_are_single_commands_that_begin_with_a_fresh_environment() -> None:
    lines = [line for line in README.splitlines() if line.startswith("python3 -m venv .venv && ")]
    assert len(lines) == 2
    assert lines[0].endswith("python -m dashboard") and lines[1].endswith("pytest")


def test_every_file_the_readme_names_exists() -> None:
    named = re.findall(r"\]\(([^)h][^)]*)\)", README) + re.findall(
        r"`((?:presets|analytical|simfa|dashboard|tests)/[\w./-]+)`", README
    )
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []
