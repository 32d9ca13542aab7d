"""The options that every command shares."""

import subprocess
import sys
from pathlib import Path

import pytest

from presets.arguments import Parser, add_experiment_options, experiments
from presets.errors import PresetError
from presets.experiment import Experiment

ROOT = Path(__file__).resolve().parents[2]


def parse(line: str) -> list[Experiment]:
    parser = Parser(prog="command")
    add_experiment_options(parser)
    return experiments(parser.parse_args(line.split()))


def test_models_times_lengths_in_the_order_given() -> None:
    found = parse("--llm llama3-70b,llama3-8b --seq 4096,512 --batch 2 --causal")
    assert [(e.llm.name, e.workload.seq_q) for e in found] == [
        ("llama3-70b", 4096),
        ("llama3-70b", 512),
        ("llama3-8b", 4096),
        ("llama3-8b", 512),
    ]
    assert all(e.workload.seq_kv == e.workload.seq_q and e.workload.batch == 2 and e.workload.causal for e in found)


def test_the_kernel_follows_the_gpu() -> None:
    assert parse("--llm llama3-8b --seq 512")[0].kernel.name == "fa3"
    assert parse("--llm llama3-8b --seq 512 --gpu gb10")[0].kernel.name == "cutile-fa"
    chosen = parse("--llm llama3-8b --seq 512 --gpu gb10 --kernel cutile-fa-64x64")[0]
    assert chosen.kernel.tile.kv_rows == 64


def test_a_bare_shape() -> None:
    (case,) = parse("--heads-q 16 --heads-kv 4 --head-dim 64 --seq 1 --seq-kv 8192 --dtype fp8")
    assert (case.heads_q, case.heads_kv, case.llm.head_dim, case.precision_bytes) == (16, 4, 64, 1)
    assert (case.workload.seq_q, case.workload.seq_kv) == (1, 8192)
    assert (case.llm.name, case.llm.layers) == ("", None)
    assert parse("--heads-q 16 --head-dim 64 --seq 8")[0].heads_kv == 16


def test_the_clock_in_mhz_is_the_sm_clock() -> None:
    assert parse("--llm llama3-8b --seq 512 --clock-mhz 1500")[0].gpu.sm.clock_hz == 1_500_000_000
    assert parse("--llm llama3-8b --seq 512 --clock-mhz 1410.5")[0].gpu.sm.clock_hz == 1_410_500_000


def test_settings_reach_the_preset_that_owns_the_key() -> None:
    line = "--llm llama3-8b --seq 512 --set l2.bytes=100MiB --set tile.kv_rows=128 --set layers=2 --set heads_kv=4"
    case = parse(line)[0]
    assert (case.gpu.l2.bytes, case.gpu.l2.effective_bytes) == (100 * 2**20, 50 * 2**20)
    assert (case.kernel.tile.kv_rows, case.llm.layers, case.heads_kv) == (128, 2, 4)


def test_on_the_command_line_the_last_set_of_a_key_holds() -> None:
    line = "--llm llama3-8b --seq 512 --set sm.count=4 --set layers=2 --set sm.count=8"
    assert parse(line)[0].gpu.sm.count == 8 and parse(line)[0].llm.layers == 2
    assert parse("--llm llama3-8b --seq 512")[0].gpu.sm.count == 132, "nothing stays from the line before"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--llm lama3-8b --seq 512", "unknown llm 'lama3-8b'. Did you mean 'llama3-8b'?"),
        ("--llm llama3-8b --seq 512 --gpu h80", "unknown gpu 'h80'. Did you mean 'h800'?"),
        ("--llm llama3-8b --seq 512 --kernel fa4", "unknown kernel 'fa4'. Did you mean 'fa3'?"),
        ("--llm llama3-8b --seq -512", "--seq: -512 is out of range; allowed: 1 to 16,777,216"),
        ("--llm llama3-8b --seq 512,x", "--seq: 'x' is not a whole number of tokens"),
        ("--llm llama3-8b --seq 512,", "--seq: '' is not a whole number of tokens"),
        ("--llm llama3-8b --seq 1.5", "--seq: '1.5' is not a whole number of tokens"),
        ("--llm llama3-8b", "required: --seq"),
        ("--llm llama3-8b --seq 512 --batch two", "--batch: invalid int value: 'two'"),
        ("--llm llama3-8b --seq 512 --clock-mhz nan", "--clock-mhz: nan is out of range; allowed: a finite"),
        ("--llm llama3-8b --seq 512 --clock-mhz -1", "--clock-mhz: -1.0 is out of range"),
        ("--llm llama3-8b --seq 512 --clock-mhz 1500 --set sm.clock_hz=1GHz", "give one of them"),
        ("--llm llama3-8b --seq 512 --set l2.byts=1", "--set: unknown key 'l2.byts'. Did you mean 'l2.bytes'?"),
        ("--llm llama3-8b --seq 512 --set l2.bytes", "--set l2.bytes: write it as KEY=VALUE"),
        ("--llm llama3-8b --seq 512 --set l2.bytes=", "--set l2.bytes=: write it as KEY=VALUE"),
        ("--llm llama3-8b --seq 512 --set =5", "--set =5: write it as KEY=VALUE"),
        ("--llm llama3-8b --seq 512 --set heads_q=30", "heads_q (30) must be a multiple of heads_kv (8)"),
        ("--llm llama3-8b --heads-q 8 --seq 512", "exclude each other"),
        ("--seq 512", "give --llm NAME, or a bare shape"),
        ("--heads-q 8 --seq 512", "give --llm NAME, or a bare shape"),
        ("--heads-q 30 --heads-kv 8 --head-dim 64 --seq 512", "allowed for heads_kv: 1, 2, 3, 5, 6, 10, 15, 30"),
        (
            "--heads-q 7 --heads-kv 3 --head-dim 64 --seq 512",
            "--heads-q --heads-kv --head-dim: heads_q (7) must be",
        ),
        ("--heads-q 8 --head-dim -64 --seq 512", "head_dim: input should be greater than 0 (got -64)"),
        ("--heads-q 8 --head-dim 64 --seq 8 --tensor-parallel 3", "--tensor-parallel: 3 does not divide heads_q 8"),
        ("--llm llama3-8b --seq 512 --colour red", "unrecognized arguments: --colour red"),
    ],
)
def test_bad_options_are_refused_in_words(line: str, words: str) -> None:
    with pytest.raises(PresetError) as caught:
        parse(line)
    assert words in str(caught.value)


def test_a_reader_that_closes_the_pipe_early_is_no_error() -> None:
    code = "from presets.arguments import exit_with; exit_with(lambda: print('x' * 10**6) or 0)"
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0
