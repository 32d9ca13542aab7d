"""The matching table: only what a person changed becomes an edit, and wrong values are said."""

from __future__ import annotations

import pandas as pd
import pytest

from dashboard.measured import edits, gallery
from dashboard.measured.case import Case, Match
from presets.errors import PresetError


def some() -> list[Case]:
    return list(gallery.cases()[:3])


def test_an_untouched_table_holds_no_edits() -> None:
    before = edits.frame(some(), [some()[0].id])
    assert list(before[edits.USE]) == [True, False, False]
    assert edits.changes(before, before.copy()) == {}


def test_changed_cells_become_edits_of_their_case() -> None:
    before = edits.frame(some(), [])
    after = before.copy()
    second = after.index[1]
    after.loc[second, "head_dim"] = 256
    after.loc[second, "seq_kv"] = pd.NA
    after.loc[second, "mask"] = None
    after.loc[second, edits.USE] = True
    assert edits.changes(before, after) == {
        second: {"use": True, "head_dim": 256, "seq_kv": None, "mask": ""},
    }


def test_edits_reach_the_experiment_and_are_named_among_the_reasons() -> None:
    case = edits.edited(some()[2], {"seq_q": 1024, "seq_kv": None, "use": True})
    assert case.experiment(True).workload.seq_q == case.experiment(True).workload.seq_kv == 1024
    assert case.reasons[-1] == "set by hand: seq_q, seq_kv"
    assert edits.edited(some()[2], {"use": False}) == some()[2]


@pytest.mark.parametrize(
    ("cells", "word"),
    [({"seq_q": 0}, "query length"), ({"head_dim": -1}, "head dimension"), ({"mask": "x"}, "no mask")],
)
def test_a_value_out_of_range_is_said_in_place_of_a_comparison(cells: dict[str, object], word: str) -> None:
    with pytest.raises(PresetError, match=word):
        edits.edited(some()[0], cells).experiment(True)


def test_edits_merge_cell_by_cell() -> None:
    assert edits.merged({"a": {"gpu": "x", "batch": 1}}, {"a": {"gpu": "y"}, "b": {"use": True}}) == {
        "a": {"gpu": "y", "batch": 1},
        "b": {"use": True},
    }


def test_what_is_missing_is_counted_per_field() -> None:
    bare = [case.model_copy(update={"match": case.match.model_copy(update={"head_dim": None})}) for case in some()]
    assert edits.missing(bare) == {"head_dim": 3}
    assert edits.missing(some()) == {}


def test_nothing_is_asked_for_a_gpu_without_a_preset_until_a_person_chooses_one() -> None:
    case = some()[0].model_copy(
        update={"match": Match(head_dim=128), "reasons": ("no preset for NVIDIA B200; there are gb10",)}
    )
    assert edits.missing([case]) == {}
    with pytest.raises(PresetError, match="no preset for NVIDIA B200"):
        case.experiment(True)
    assert edits.missing([edits.edited(case, {"gpu": "h800"})]) == {"heads_q": 1, "seq_q": 1}
    open_ = case.model_copy(update={"reasons": ("compute capability 9.0 fits h100-sxm, h800; choose one",)})
    assert "gpu" in edits.missing([open_])
