"""`python -m simfa dram`: the record, and one sentence for each kind of malformed file."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from presets import loader
from presets.dram_specs import DramChannelSpec
from simfa.__main__ import main

ROOT = Path(__file__).parents[2]
KEYS = {
    "latency_mean_ns",
    "latency_p50_ns",
    "latency_p95_ns",
    "latency_p99_ns",
    "bandwidth_gbs",
    "requests",
    "wall_s",
}
GOOD = {"address": np.arange(400) * 64, "is_write": np.zeros(400, bool), "size_bytes": np.array(64)}


@pytest.fixture
def requests(tmp_path: Path):
    def write(**changes) -> str:
        arrays = {name: value for name, value in (GOOD | changes).items() if value is not None}
        np.savez(tmp_path / "requests.npz", **arrays)
        return str(tmp_path / "requests.npz")

    return write


def answer(capsys: pytest.CaptureFixture[str], *args: str) -> dict:
    assert main(["dram", *args, "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return json.loads(out)


def refusal(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    assert main(["dram", *args]) == 2
    out, err = capsys.readouterr()
    assert out == "" and len(err.strip().splitlines()) == 1
    return err


def test_the_record(requests, capsys) -> None:
    record = answer(capsys, "--preset", "hbm3-5200", "--requests", requests())
    assert set(record) >= KEYS
    assert (record["requests"], record["reads"], record["outstanding"]) == (400, 400, 32)
    assert 0 < record["bandwidth_gbs"] <= 41.6 * 1.01  # so few completions count with an error of one
    assert record["commands"]["RD"] == 800


def test_open_loop_takes_arrivals_in_nanoseconds(requests, capsys) -> None:
    record = answer(capsys, "--requests", requests(arrival_ns=np.arange(400) * 1000.0))
    assert record["outstanding"] is None
    assert record["latency_p50_ns"] == pytest.approx(18.27, abs=0.2)  # idle row hits of 64 B


def test_refresh_and_mapping(requests, capsys) -> None:
    file = requests(address=np.arange(4000) * 4096, is_write=np.zeros(4000, bool))
    plain = answer(capsys, "--requests", file, "--mapping", "M1X")
    refreshed = answer(capsys, "--requests", file, "--mapping", "M1X", "--refresh", "all-bank")
    assert plain["commands"]["REFA"] == 0 < refreshed["commands"]["REFA"]
    assert refreshed["latency_mean_ns"] > plain["latency_mean_ns"]


@pytest.mark.parametrize("preset", ["hbm3-5200", "hbm2e-3186", "lpddr5x-8533"])
def test_every_preset_works_alone_with_its_own_mapping(requests, capsys, preset: str) -> None:
    spec = loader.load(DramChannelSpec, preset)
    found = answer(capsys, "--preset", preset, "--requests", requests(), "--outstanding", "1")
    assert found["mapping"] == spec.controller.mapping
    times = spec.timing
    # One 64 B request at a time, in order: at best a row hit of two accesses, at worst a row conflict.
    clock_ns = 1e9 / spec.clock.frequency_hz
    hit = times.cl_cycles + 2 * times.bl_cycles
    conflict = hit + times.rp_cycles + times.rcdrd_cycles + times.ccdl_cycles + 2
    assert hit * clock_ns <= found["latency_mean_ns"] <= conflict * clock_ns
    busy = answer(capsys, "--preset", preset, "--requests", requests())
    assert 0.8 * spec.bandwidth_bytes_per_s() < busy["bandwidth_gbs"] * 1e9 <= spec.bandwidth_bytes_per_s() * 1.01


def test_writes_alone_have_no_latency(requests, capsys) -> None:
    record = answer(capsys, "--requests", requests(is_write=np.ones(400, int)))
    assert record["latency_mean_ns"] is None and record["reads"] == 0
    assert main(["dram", "--requests", requests(is_write=np.ones(400, int))]) == 0
    assert "no read" in capsys.readouterr().out


def test_a_preset_value_can_be_changed(requests, capsys) -> None:
    file = requests()
    slow = answer(capsys, "--requests", file, "--set", "timing.cl_cycles=30", "--outstanding", "1")
    fast = answer(capsys, "--requests", file, "--outstanding", "1")
    assert slow["latency_p50_ns"] - fast["latency_p50_ns"] == pytest.approx(13 / 1.3)


@pytest.mark.parametrize(
    ("changes", "array", "allowed"),
    [
        ({"address": None}, "address", "missing array"),
        ({"is_write": None}, "is_write", "missing array"),
        ({"size_bytes": None}, "size_bytes", "missing array"),
        ({"address": np.arange(400) * 64.0}, "address", "whole numbers"),
        ({"address": np.arange(400) - 1}, "address", "a multiple of 32"),
        ({"address": np.full(400, -32)}, "address", "from 0 up"),
        ({"address": np.zeros((2, 200), int)}, "address", "one dimension"),
        ({"address": np.zeros(0, int)}, "address", "1 to"),
        ({"is_write": np.zeros(3, bool)}, "is_write", "that of address"),
        ({"is_write": np.full(400, 2)}, "is_write", "0 or 1"),
        ({"size_bytes": 48}, "size_bytes", "a multiple of 32"),
        ({"size_bytes": 0}, "size_bytes", "a multiple of 32"),
        ({"size_bytes": [32, 64]}, "size_bytes", "one number"),
        ({"arrival_ns": np.arange(400)[::-1]}, "arrival_ns", "never decrease"),
        ({"arrival_ns": np.full(400, np.nan)}, "arrival_ns", "finite"),
        ({"arrival_ns": np.full(400, -1)}, "arrival_ns", "from 0 up"),
        ({"arrival_ns": np.zeros(4)}, "arrival_ns", "that of address"),
        ({"arrival_ns": np.array(["now"] * 400)}, "arrival_ns", "numbers of ns"),
        ({"address": np.array([None] * 400)}, "requests.npz", "plain arrays"),
    ],
)
def test_a_malformed_array_is_named(requests, capsys, changes, array: str, allowed: str) -> None:
    message = refusal(capsys, "--requests", requests(**changes))
    assert "requests.npz" in message and array in message and allowed in message


def test_a_file_that_is_no_archive(tmp_path: Path, capsys) -> None:
    text, single = tmp_path / "text.npz", tmp_path / "single.npy"
    text.write_text("address,is_write\n")
    np.save(single, np.zeros(3))
    broken = tmp_path / "broken.npz"
    np.savez(broken, **GOOD)
    broken.write_bytes(broken.read_bytes()[:300])
    for path in (text, single, broken, tmp_path / "none.npz", tmp_path):
        assert str(path) in refusal(capsys, "--requests", str(path))


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--mapping", "M2", "M1X"),
        ("--refresh", "per-bank", "all-bank"),
        ("--outstanding", "0", "1 to"),
        ("--preset", "hbm9", "hbm3-5200"),
        ("--set", "timing.nope=1", "unknown key"),
        ("--set", "organisation.bank_groups=2", "bank group"),
    ],
)
def test_a_bad_option_says_what_is_allowed(requests, capsys, option: str, value: str, said: str) -> None:
    message = refusal(capsys, "--requests", requests(), option, value)
    assert said in message


def test_pure_python_gives_the_same_answer(requests, capsys, tmp_path: Path) -> None:
    seed = np.random.default_rng(3)
    file = requests(address=seed.integers(0, 1 << 12, 400) * 64, is_write=seed.random(400) < 0.4)
    args = ["--requests", file, "--refresh", "all-bank"]
    compiled = answer(capsys, *args)
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-m", "simfa", "dram", *args, "--json"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    pure = json.loads(done.stdout)
    for record in (compiled, pure):
        assert record.pop("wall_s") > 0
    assert pure == compiled
