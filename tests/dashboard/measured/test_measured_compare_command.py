"""python -m dashboard measured FILE --compare: the same error table as the page, without a browser."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from dashboard.__main__ import main
from dashboard.measured import gallery

DATA = Path(__file__).parent / "data"
ROOT = Path(__file__).parents[3]
GB10 = str(DATA / "gb10_b1_h8_s4096_d128_float16_noncausal.csv")


def printed(capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, object]:
    assert main(["measured", *options, "--compare", "--json"]) == 0
    return json.loads(capsys.readouterr().out)  # type: ignore[no-any-return]


def test_rows_summary_reading_and_what_was_not_compared(capsys: pytest.CaptureFixture[str]) -> None:
    report = printed(capsys, GB10)
    errors = {(row["estimator"], row["quantity"]): row["error_pct"] for row in report["rows"]}  # type: ignore[attr-defined, index]
    assert errors["simfa-python", "l2_bytes"] == 0.0
    assert report["not_compared"] == [] and report["reading"]


def test_without_files_it_is_the_gallery(capsys: pytest.CaptureFixture[str]) -> None:
    report = printed(capsys)
    assert len(report["cases"]) == len(gallery.cases())  # type: ignore[arg-type]
    assert len(report["not_compared"]) == 3  # type: ignore[arg-type]


def test_what_the_file_does_not_say_is_given_as_options(capsys: pytest.CaptureFixture[str]) -> None:
    file = str(DATA / "html_kernel.csv")
    options = "--gpu h800 --heads-q 8 --head-dim 128 --seq 4096 --mask causal --preset-clock --estimators genz"
    report = printed(capsys, file, "--select", "img", *options.split())
    row = report["rows"][0]  # type: ignore[index]
    assert (row["gpu"], row["seq_q"], row["causal"], row["clock_mhz"]) == ("h800", 4096, True, 1830.0)
    assert row["kernel_name"].startswith("<img")


def test_a_written_record_reads_back_to_the_same_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "r.json"
    first = printed(capsys, GB10, "--record", str(out))
    assert printed(capsys, str(out)) == first == json.loads(out.read_text())


def test_the_plain_table_names_kernels_and_errors(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["measured", GB10, "--compare"]) == 0
    out = capsys.readouterr().out
    assert "l2_bytes  simfa-python  1 of 1  0.00  +0.00" in out and "MAPE" in out


def test_a_refused_file_gives_status_1_and_the_others_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["measured", str(DATA / "all_na.csv"), GB10, "missing.csv", "--compare", "--json"]) == 1
    captured = capsys.readouterr()
    assert captured.err.splitlines()[0].startswith("all_na.csv: every metric reads n/a")
    assert "missing.csv: cannot be opened" in captured.err
    assert len(json.loads(captured.out)["cases"]) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--estimators magic", "unknown estimator 'magic'"),
        ("--gpu b300", "unknown gpu 'b300'"),
        ("--kernel /etc/x.toml", "unknown kernel"),
        ("--seq 0", "--seq: 0 is out of range"),
        ("--select (", "not a regular expression"),
        ("--set x", "KEY=VALUE"),
        ("--mask both", "invalid choice"),
        ("--record /nowhere/at/all.json", "--record: /nowhere"),
    ],
)
def test_bad_options_are_one_sentence(options: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["measured", GB10, "--compare", *options.split()]) == 2
    assert message in capsys.readouterr().err


def test_a_file_is_still_required_to_print_launches(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["measured", "--json"]) == 2
    assert "required: FILE" in capsys.readouterr().err


def test_the_comparison_starts_without_streamlit() -> None:
    script = (
        "import sys, runpy; sys.modules['streamlit'] = None; sys.argv[1:] = ['measured', '--compare', '--json']; "
    )
    script += "runpy.run_module('dashboard', run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0 and json.loads(done.stdout)["rows"]
