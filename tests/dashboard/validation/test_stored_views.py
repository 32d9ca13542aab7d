"""Figs. 3 to 7, Table 5 and the ladder, from what is stored."""

from typing import Any

import pytest

from dashboard.examples import long
from dashboard.validation import latency, pipeline, stored, studies
from dashboard.validation.view import NotStored


def test_fig_6_has_fifteen_launches_with_the_known_cycles() -> None:
    rows = {(row["llm"], row["tokens"]): row for row in latency.rows()}
    assert len(rows) == 15
    assert rows["llama3-8b", 512]["paper_set_cycles"] == 26_048
    assert rows["llama3-8b", 4096]["paper_set_cycles"] == 809_264
    assert rows["llama3.1-405b", 6144]["paper_set_cycles"] == 6_576_301
    last = rows["llama3.1-405b", 6144]
    assert last["paper_us"] == pytest.approx(6_576_301 / 1830)  # 1830 MHz
    assert all(row["simfa-python_us"] < row["calibrated_us"] < row["paper_us"] for row in rows.values())


def test_fig_6_states_the_papers_errors_and_that_ours_cannot_be_given() -> None:
    said = " ".join(latency.fig6("#000000").said)
    assert "5.7 % mean and 12.7 % worst" in said and "no error of ours can be given" in said


def test_fig_7_is_the_start_of_the_first_sm() -> None:
    answer = pipeline.fig7("#000000")
    assert max(row["start_cycle"] for row in answer.rows) < long.KEPT_CYCLES
    assert {row["row"] for row in answer.rows} >= {"producer", "consumer 1", "consumer 2", "tensor core"}
    assert list(answer.table.columns)[1:] == ["producer", "consumer 1", "consumer 2"]
    assert answer.table.iloc[:, 1:].sum().tolist() == pytest.approx([100.0] * 3)


def test_without_the_file_views_say_how_to_get_it(monkeypatch) -> None:
    monkeypatch.setattr(long, "stored", dict)
    for view in (latency.fig6, pipeline.fig7, studies.fig4, studies.ladder):
        with pytest.raises(NotStored, match="python -m dashboard example --all"):
            view("#000000")
    assert "An earlier version" in stored.stale("fa3-all")


def test_fig_3_has_the_papers_ranges_for_both_accesses() -> None:
    table = studies.fig3("#000000").table
    assert list(table["Points"]) == [10, 4, 6] * 2
    whole = table[table["Range"] == "all ten"]
    parts = table[table["Range"] != "all ten"]
    weighted = (parts["Mean (%)"] * parts["Points"]).groupby(parts["Access"], sort=False).sum() / 10
    assert list(whole["Mean (%)"]) == pytest.approx(list(weighted))


def test_fig_4_lays_the_papers_three_points_beside_ours() -> None:
    table = studies.fig4("#000000").table
    assert list(table["MSHRs per slice"]) == [192, 224, 256, 320, 384]
    assert table["Paper (%)"].dropna().tolist() == [24.85, 5.79, 21.06]


def test_the_title_of_fig_4_says_whether_mshrs_bind() -> None:
    assert studies._over_mshrs([17.48, 17.48]).startswith("The number of MSHRs changes nothing")
    assert "from 5.8 to 24.9 %" in studies._over_mshrs([24.85, 5.79])


def test_table_5_has_the_papers_column_and_names_no_error_of_ours() -> None:
    answer = studies.table5("#000000")
    assert list(answer.table["Launches"]) == [9, 9, 6, 6]
    assert "MAPE 64.3 %" in answer.table["Paper's error"][1]
    assert "error" not in answer.title


def groups_of(*means: tuple[str, float], note: str = "") -> dict[str, Any]:
    groups = [
        {"group": name, "points": 1, "mape_pct": mape, "mean_pct": mape, "worst_pct": mape, "note": note}
        for name, mape in means
    ]
    return {"study": "", "groups": groups, "all_points": [], "source": "", "fitted": "", "context": ""}


def test_the_walk_keeps_its_order_and_names_the_step_that_moves_most(monkeypatch) -> None:
    study = groups_of(("paper's set", 35.0), ("multicast", 36.0), ("lines", 6.0), note="what it is; 1,000 cycles")
    monkeypatch.setattr(stored, "study", lambda name: study)
    answer = studies.walk("#000000")
    assert list(answer.table["Added"]) == ["paper's set", "multicast", "lines"]
    assert set(answer.table["What it is"]) == {"what it is"}
    assert answer.title.endswith(
        "(35 % off) to the calibrated one (6.0 %): 'lines' moves times most (mean +36 to +6 %)"
    )


def test_the_fit_says_what_a_tenth_costs(monkeypatch) -> None:
    study = groups_of(("full model", 1.0), ("factor +10 %", 2.5), ("overhead -10 %", 1.4))
    monkeypatch.setattr(stored, "study", lambda name: study)
    assert studies.fit("#000000").title.endswith("the mean error 1.4 to 2.5 %; as fitted it is 1.0 %")


def test_the_ladder_puts_the_full_model_first_and_the_worst_next(monkeypatch) -> None:
    groups = [
        {"group": name, "points": 1, "mape_pct": mape, "mean_pct": mape, "worst_pct": mape, "published": ""}
        for name, mape in (("full model", 1.0), ("no multicast", 1.1), ("64 lines", 40.0))
    ]
    study = {"study": "fa3-ladder", "groups": groups, "all_points": [], "source": "", "fitted": "", "context": ""}
    monkeypatch.setattr(stored, "study", lambda name: study)
    answer = studies.ladder("#000000")
    assert list(answer.table["Taken out or changed"]) == ["full model", "64 lines", "no multicast"]
    assert "'64 lines' (40 %)" in answer.title


def test_parts_are_current_only_for_these_sources(monkeypatch) -> None:
    monkeypatch.setattr(long, "stored", lambda: {long.LAUNCHES: {"digest": "0" * 16, "answer": []}})
    assert not long.is_current(long.LAUNCHES) and not long.is_current("fa3-all")
    assert "--all" in stored.stale(long.LAUNCHES)
