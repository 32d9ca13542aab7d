"""`python -m dashboard validate`."""

import csv
import io
import json

import pytest

from dashboard.__main__ import main
from dashboard.examples import long


def test_the_default_is_the_table_of_errors(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    bandwidth = next(row for row in rows if row["study"] == "tma-bandwidth")
    assert int(bandwidth["points"]) == 104 and float(bandwidth["simulation_mape_pct"]) < 20
    assert bandwidth["genz_mape_pct"] == ""


def test_a_view_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "--view", "table6", "--format", "json"]) == 0
    assert [row["heads_q"] for row in json.loads(capsys.readouterr().out)] == [32, 64, 128]


def test_an_unknown_view_and_one_that_is_not_stored(capsys: pytest.CaptureFixture[str], monkeypatch) -> None:
    assert main(["validate", "--view", "fig10"]) == 2
    assert "fig10" in capsys.readouterr().err
    monkeypatch.setattr(long, "stored", dict)
    assert main(["validate", "--view", "fig6"]) == 2
    assert "python -m dashboard example --all" in capsys.readouterr().err
