"""Tables 2, 3, 4 and 6 beside the paper's, values by hand."""

from dashboard.validation import tables
from simfa import isa


def test_table_2_is_the_preset_but_for_the_dram_model() -> None:
    answer = tables.table2("#000000")
    rows = {row["item"]: row for row in answer.rows}
    assert rows["SM clock"]["paper_set"] == 1830 and rows["FP16 dense peak"]["paper_set"] == 989
    assert rows["L2 cache"]["paper_set"] == 50 and rows["Near latency"]["paper_set"] == 258
    other = [name for name, row in rows.items() if row["paper_set"] not in (row["paper"], None)]
    assert other == ["DRAM model"]
    assert (rows["Lines in flight"]["paper_set"], rows["Lines in flight"]["calibrated_set"]) == (64, 384)
    assert "FlashGPU-Sim" in rows["Lines in flight"]["source"]
    assert all(row["label"] for row in rows.values() if row["key"])
    assert answer.title.startswith("15 of 16 values of Table 2")
    assert answer.title.endswith("lines in flight")


def test_table_3_has_a_row_for_every_instruction() -> None:
    answer = tables.table3("#000000")
    assert [row["instruction"] for row in answer.rows] == [spec.name for spec in isa.INSTRUCTIONS]
    assert all(row["does"] for row in answer.rows)
    extra = [row["instruction"] for row in answer.rows if not row["paper_operands"]]
    assert extra == ["TMA_BULK", "TMA_BULK_STORE", "PHASE", "LOOP", "END_LOOP"]
    renamed = {"N": "count", "k": "count", "M": "m", "K": "k"}  # the paper's operand names beside ours
    for row in answer.rows:
        theirs = [renamed.get(name, name.lower()) for name in row["paper_operands"].split()]
        if theirs and row["instruction"] != "WGMMA":
            assert row["operands"].split() == theirs
    assert "All 14 instructions" in answer.title


def test_table_4_counts_the_log_of_128_blocks_with_three_tiles() -> None:
    answer = tables.table4("#000000")
    counts = {row["event"]: (row["entries"], row["warpgroup_events"]) for row in answer.rows}
    # 32 heads x 4 query tiles; 3 K/V tiles of 176 rows; two consumers of four warps each
    assert counts["TMA_Q_ISSUE"] == (128, 128) and counts["TMA_K_ISSUE"] == (384, 384)
    assert counts["WAIT_K_START"] == (128 * 2 * 4 * 3, 128 * 2 * 3)
    assert counts["WAIT_WG_1"] == (128 * 2 * 4 * 2, 128 * 2 * 2)  # not in the first tile
    assert counts["WAIT_WG_0"] == (128 * 2 * 4 * 4, 128 * 2 * 4)
    known = {spec.name for spec in isa.INSTRUCTIONS}
    assert all(set(row["becomes"].split()) <= known for row in answer.rows)


def test_table_6_has_the_papers_three_models() -> None:
    answer = tables.table6("#000000")
    assert all(row["as_the_paper"] for row in answer.rows)
    assert answer.title == "3 of 3 models have the paper's shape; 4, 8 and 16 query heads share a K/V head"
    assert {row["kv_bytes_per_token"] for row in answer.rows} == {2 * 8 * 128 * 2}
