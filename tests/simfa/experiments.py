"""Experiments for the simulator's tests, by the words of the command line."""

import argparse

from presets.arguments import add_experiment_options, experiments
from presets.experiment import Experiment


def experiment(options: str) -> Experiment:
    """The one experiment that command-line options describe, for example `--llm llama3-8b --seq 512`."""
    parser = argparse.ArgumentParser()
    add_experiment_options(parser)
    (found,) = experiments(parser.parse_args(options.split()))
    return found


SMALL = "--heads-q 4 --heads-kv 2 --head-dim 128 --set sm.count=4"
