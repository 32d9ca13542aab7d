"""Tests keep their simulation results to themselves: neither what a person kept nor an earlier run is read."""

import os

import pytest


@pytest.fixture(scope="session", autouse=True)
def own_cache_folder(tmp_path_factory):
    """A fresh folder of kept results for this run and for the processes it starts."""
    before = os.environ.get("SIMFA_CACHE_DIR")
    os.environ["SIMFA_CACHE_DIR"] = str(tmp_path_factory.mktemp("answers"))
    yield
    os.environ.pop("SIMFA_CACHE_DIR")
    if before is not None:
        os.environ["SIMFA_CACHE_DIR"] = before
