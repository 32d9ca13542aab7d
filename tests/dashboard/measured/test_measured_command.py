"""python -m dashboard measured, without a browser."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from dashboard.__main__ import main
from dashboard.measured import Launch

DATA = Path(__file__).parent / "data"
ROOT = Path(__file__).parents[3]


def test_one_list_in_file_order_with_every_field(capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(DATA / name) for name in ("raw_ms.csv", "nsys_trace.csv")]
    assert main(["measured", *files, "--json"]) == 0
    launches = json.loads(capsys.readouterr().out)
    assert [launch["file"] for launch in launches] == ["raw_ms.csv", "raw_ms.csv", "nsys_trace.csv"]
    assert all(set(launch) == {field.name for field in fields(Launch)} for launch in launches)
    assert launches[2]["grid"] == [128, 2, 1] and launches[2]["dram_bytes"] is None


def test_a_refused_file_gives_status_1_and_its_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["measured", str(DATA / "all_na.csv"), str(DATA / "raw_us.csv"), "--json"]) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith("all_na.csv: every metric reads n/a") and captured.err.count("\n") == 1
    assert len(json.loads(captured.out)) == 1


def test_the_question_and_its_answer(capsys: pytest.CaptureFixture[str]) -> None:
    file = str(DATA / "ambiguous.csv")
    assert main(["measured", file, "--json"]) == 1
    assert "--decimal" in capsys.readouterr().err
    assert main(["measured", file, "--json", "--decimal", "comma"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["duration_ns"] == 117_344.0


def test_the_plain_table_cannot_steer_a_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.csv"
    file.write_text((DATA / "raw_us.csv").read_text().replace("fmha::run", "\x1b[31mred"))
    assert main(["measured", str(file)]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out and "1,201,280" in out


def test_the_command_starts_without_streamlit() -> None:
    script = "import sys, runpy; sys.argv[1:] = ['measured', sys.argv[1], '--json']; "
    script += "sys.modules['streamlit'] = None; "
    script += "runpy.run_module('dashboard', run_name='__main__')"
    done = subprocess.run(
        [sys.executable, "-c", script, str(DATA / "raw_us.csv")], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0 and json.loads(done.stdout)[0]["duration_ns"] == 1_201_280.0
