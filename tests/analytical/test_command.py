"""`python -m analytical`: the record in JSON, and bad input as one clear message with exit status 2."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from analytical.__main__ import main
from analytical.formula import evaluate
from presets.record import KEYS

ROOT = Path(__file__).parents[2]
ANALYTICAL_KEYS = ["dram_ideal_bytes", "dram_real_bytes", "traffic_ratio", "intensity"]


def answer(capsys: pytest.CaptureFixture[str], line: str) -> Any:
    assert main([*line.split(), "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return json.loads(out)


def refusal(capsys: pytest.CaptureFixture[str], line: str) -> str:
    assert main(line.split()) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in err
    return err


def test_the_issues_example(capsys: pytest.CaptureFixture[str]) -> None:
    record = answer(
        capsys, "--llm llama3-8b --gpu h800 --seq 4096 --batch 1 --causal --kernel fa3 --set l2.slices=80"
    )
    assert list(record)[: len(KEYS) + 4] == KEYS + ANALYTICAL_KEYS
    assert (record["llm"], record["gpu"], record["kernel"]) == ("llama3-8b", "h800", "fa3")
    assert (record["estimator"], record["seq_q"], record["seq_kv"], record["causal"]) == (
        "simfa-python", 4096, 4096, True,
    )  # fmt: skip


@pytest.mark.parametrize("estimator", ["simfa-python", "genz", "llm-viewer"])
def test_every_estimator_has_every_key_and_exact_bytes(capsys: pytest.CaptureFixture[str], estimator: str) -> None:
    record = answer(capsys, f"--llm llama3.1-405b --gpu gb10 --seq 65536 --estimator {estimator}")
    assert list(record)[: len(KEYS) + 4] == KEYS + ANALYTICAL_KEYS
    assert record["estimator"] == estimator
    for key in ("flops", "dram_bytes", "dram_read_bytes", "dram_write_bytes"):
        assert type(record[key]) is int
    assert record["dram_bytes"] == record["dram_read_bytes"] + record["dram_write_bytes"]
    assert record["tflops"] == pytest.approx(record["flops"] / record["latency_us"] / 1e6)
    assert record["latency_of"] == "one layer's attention forward pass"
    assert record["model_latency_us"] == pytest.approx(126 * record["latency_us"])


def test_several_points_are_a_list(capsys: pytest.CaptureFixture[str]) -> None:
    records = answer(capsys, "--llm llama3-8b,llama3-70b --seq 512,4096 --estimator simfa-python,genz")
    assert [(r["llm"], r["seq_q"], r["estimator"]) for r in records][:3] == [
        ("llama3-8b", 512, "simfa-python"),
        ("llama3-8b", 512, "genz"),
        ("llama3-8b", 4096, "simfa-python"),
    ]
    assert len(records) == 8


def test_a_bare_shape_in_decode(capsys: pytest.CaptureFixture[str]) -> None:
    record = answer(capsys, "--heads-q 16 --heads-kv 16 --head-dim 64 --seq 1 --seq-kv 4096 --clock-mhz 1500")
    assert record["llm"] is None
    assert record["model_latency_us"] is None
    assert record["clock_mhz"] == 1500
    assert any("outside the validated range" in note for note in record["notes"])


def test_without_json_a_short_line_per_answer(capsys: pytest.CaptureFixture[str]) -> None:
    assert main("--llm llama3-8b --seq 4096 --estimator simfa-python,genz".split()) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert "bottleneck tensor_cores" in lines[0]
    assert lines[1].startswith("genz  llama3-8b  L=4096")


def test_wrong_input_is_answered_in_words(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert "unknown llm 'llama3-7b'. Did you mean 'llama3-70b'?" in refusal(capsys, "--llm llama3-7b --seq 512")
    assert "--seq: -4096 is out of range; allowed: 1 to" in refusal(capsys, "--llm llama3-8b --seq -4096")
    estimator = refusal(capsys, "--llm llama3-8b --seq 512 --estimator gens")
    assert "--estimator: unknown estimator 'gens'. Did you mean 'genz'?" in estimator
    broken = tmp_path / "broken.toml"
    broken.write_text('name = "broken\n', encoding="utf-8")
    assert f"{broken}: not valid TOML" in refusal(capsys, f"--llm llama3-8b --seq 512 --gpu {broken}")
    assert "the following arguments are required: --seq" in refusal(capsys, "--llm llama3-8b")


def test_explain_prints_equations_numbers_and_sources(capsys: pytest.CaptureFixture[str]) -> None:
    assert main("--llm llama3-8b --seq 4096 --explain l2_bytes".split()) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "M_L2 = 2,214,592,512 B (2.215 GB)  [Eq. (2), L2 traffic]" in lines
    assert "    = 2 * 1 * (8 * 4) * 128 * (2 * 4096 + ceil_div(4096, 128) * 2 * 4096)" in lines
    (tile,) = [line for line in lines if line.startswith("    T_M = ")]
    assert "T_M = 128 rows" in tile and "tile.query_rows; published: official kernel" in tile
    assert not [line for line in lines if "T_N" in line]  # what the number does not need is not there


@pytest.mark.parametrize("estimator", ["simfa-python", "simfa-launch-order", "genz", "llm-viewer"])
def test_explain_as_json_evaluates_to_the_record(capsys: pytest.CaptureFixture[str], estimator: str) -> None:
    record = answer(capsys, f"--llm llama3.1-405b --seq 65536 --estimator {estimator} --explain")
    steps = record["explanation"]["steps"]
    assert len(steps) > 10 and len(record["explanation"]["inputs"]) > 5
    for step in steps:
        assert evaluate(step["arithmetic"]) == step["value"]
        if step["number"] and step["number"] != "regime":
            assert step["value"] == record[step["number"]]


def test_an_unknown_number_is_named_with_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    said = refusal(capsys, "--llm llama3-8b --seq 4096 --explain l2_byte")
    assert "unknown number 'l2_byte'. Did you mean 'l2_bytes'?" in said


def test_help_lists_the_options(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--help"])
    assert caught.value.code == 0
    out = capsys.readouterr().out
    for option in (
        "--llm",
        "--heads-q",
        "--seq-kv",
        "--dtype",
        "--clock-mhz",
        "--tensor-parallel",
        "--set",
        "--json",
    ):
        assert option in out


def test_the_real_command_without_streamlit() -> None:
    """One process: its exit status, its streams, and that it never loads Streamlit."""
    script = (
        "import runpy, sys\nsys.modules['streamlit'] = None\nrunpy.run_module('analytical', run_name='__main__')"
    )
    good = ["--llm", "llama3-8b", "--gpu", "h800", "--seq", "4096", "--json"]
    done = subprocess.run([sys.executable, "-c", script, *good], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["l2_bytes"] == 33 * 2**26
    bad = subprocess.run(
        [sys.executable, "-m", "analytical", "--llm", "llama4", "--seq", "1"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert (bad.returncode, bad.stdout) == (2, "")
    assert bad.stderr.startswith("unknown llm 'llama4'")
