"""What the paper prints, as it is printed."""

from presets import paper_tables


def test_the_stated_errors_are_those_of_the_text() -> None:
    assert paper_tables.stated("Fig. 6") == [
        ("fifteen launches", "mean", 5.7),
        ("fifteen launches", "worst", 12.7),
    ]  # section 5.3
    assert [value for _, _, value in paper_tables.stated("Fig. 3")] == [5.45, 12.73, 3.65, 8.49]  # section 4.3
    assert {series: value for series, of, value in paper_tables.stated("Fig. 4") if of == "mean"} == {
        "192 MSHRs": 24.85,
        "256 MSHRs": 5.79,
        "384 MSHRs": 21.06,
    }
    assert [value for _, _, value in paper_tables.stated("Table 5")] == [5.7, 16.8, 64.3, 511.4]
    assert paper_tables.stated("Fig. 1") == []


def test_tables_have_the_papers_rows() -> None:
    printed = [row for row in paper_tables.rows("table3") if row["operands"]]
    assert len(printed) == 14  # Table 3 has fourteen rows
    assert [row["event"] for row in paper_tables.rows("table4")][:3] == [
        "TMA_Q_ISSUE",
        "TMA_K_ISSUE",
        "TMA_V_ISSUE",
    ]
    assert [row["group"] for row in paper_tables.rows("table6")] == ["4", "8", "16"]
    assert sum(bool(row["key"]) for row in paper_tables.rows("table2")) == 16
