"""Which parameter set an experiment has: named, or the usual one of what it is about."""

import argparse

import pytest

from presets.arguments import add_experiment_options, experiments
from presets.errors import PresetError


def asked(options: str, usual=None):
    parser = argparse.ArgumentParser()
    add_experiment_options(parser, parameters=usual)
    return experiments(parser.parse_args(options.split()))[0]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("--llm llama3-8b --seq 512", "calibrated"),
        ("--llm llama3-8b --seq 512 --gpu h100-sxm --causal --dtype fp8", "calibrated"),
        ("--llm llama3-8b --seq 512 --set l2.bytes=100MiB", "calibrated"),
        ("--llm llama3-8b --seq 512 --params paper", "paper"),
        ("--llm llama3-8b --seq 512 --gpu gb10", "paper"),  # no calibrated set for it
        ("--llm llama3-8b --seq 512 --dtype fp32 --set tile.kv_rows=64", "paper"),  # no official kernel for these
        ("--heads-q 8 --head-dim 512 --seq 512", "paper"),
    ],
)
def test_the_usual_set_is_calibrated_where_gpu_and_kernel_have_one(options, expected):
    assert asked(options).params == expected


def test_commands_that_reproduce_the_paper_start_with_its_own():
    assert asked("--llm llama3-8b --seq 512", "paper").params == "paper"


def test_a_set_that_was_named_is_never_replaced():
    with pytest.raises(PresetError, match="no calibrated set for gb10"):
        asked("--llm llama3-8b --seq 512 --gpu gb10 --params calibrated")
