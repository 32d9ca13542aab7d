"""The error table: values by hand, what is compared with what, the gallery, and the reading in words."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard import export
from dashboard.measured import comparison, curves, gallery, read, reading, shown
from dashboard.measured.case import Case, Match, Reading
from dashboard.measured.matching import case, groups
from presets.measured_points import rows as shipped_rows

DATA = Path(__file__).parent / "data"
PUBLIC = Path(__file__).resolve().parents[3].parent / "shared" / "ncu" / "files"
CLOSED = ["simfa-python", "genz"]


def made(**values: Any) -> Case:
    match = Match(gpu="h800", heads_q=32, heads_kv=8, head_dim=128, seq_q=4096, **values.pop("match", {}))
    return Case(id="a", file="f", kernel_name="k", title="k", match=match, **values)


def rows_of(one: Case, names: list[str] = CLOSED, clock: bool = True, answers: Any = None) -> dict[Any, Any]:
    found = comparison.compare([one], names, clock, answers)
    return {(row["estimator"], row["quantity"]): row for row in found.rows}


def own_gb10() -> Case:
    return case(groups(read(DATA / "gb10_b1_h8_s4096_d128_float16_noncausal.csv"))[0])


def test_the_l2_error_of_our_gb10_file_is_zero() -> None:
    row = rows_of(own_gb10())["simfa-python", "l2_bytes"]
    assert row["measured"] == row["estimated"] == row["eq2_bytes"] == 1_090_519_040
    assert row["error_pct"] == 0.0 and "srcunit_tex" in row["measured_source"]


@pytest.mark.skipif(not PUBLIC.exists(), reason="the public exports are not beside the repository")
def test_the_l2_error_of_the_public_gb10_file_is_zero() -> None:
    public = case(groups(read(PUBLIC / "02_gb10_cutile_fa_noncausal_raw.csv"))[0])
    matched = public.model_copy(
        update={
            "match": Match(
                gpu="gb10", kernel="cutile-fa-64x64", heads_q=8, head_dim=128, seq_q=4096, seq_kv=4096, mask="none"
            )
        }
    )
    row = rows_of(matched)["simfa-python", "l2_bytes"]
    assert round(row["error_pct"], 2) == 0.00 and row["estimated"] == row["measured"]
    dram = rows_of(matched)["simfa-python", "dram_bytes"]
    assert dram["measured_kind"] == "estimate" and "estimate" in dram["remark"]


def test_errors_are_signed_and_by_hand() -> None:
    row = rows_of(made(latency_us=Reading(value=400.0)))["simfa-python", "latency_us"]
    assert row["estimated"] == pytest.approx(295.449, abs=1e-3)
    assert row["error_pct"] == pytest.approx((295.449 - 400) / 400 * 100, abs=1e-3)


def test_models_run_at_the_measured_clock_on_request() -> None:
    slow = made(latency_us=Reading(value=400.0), clock_hz=915e6)
    at_measured = rows_of(slow)["simfa-python", "latency_us"]
    at_preset = rows_of(slow, clock=False)["simfa-python", "latency_us"]
    assert at_measured["estimated"] == pytest.approx(2 * at_preset["estimated"])
    assert (at_measured["clock_mhz"], at_preset["clock_mhz"]) == (915.0, 1830.0)


def test_a_clock_set_by_hand_wins_over_the_measured_one() -> None:
    own = made(latency_us=Reading(value=1.0), clock_hz=915e6, match={"settings": "sm.clock_hz=1500MHz"})
    assert rows_of(own)["genz", "latency_us"]["clock_mhz"] == 1500.0


def test_missing_values_give_no_row_and_never_zero() -> None:
    found = rows_of(made(latency_us=Reading(value=400.0)))
    assert {quantity for _, quantity in found} == {"latency_us"}
    only_l2 = rows_of(made(l2_bytes=Reading(value=1e9)))["genz", "l2_bytes"]
    assert only_l2["estimated"] is None and only_l2["error_pct"] is None


def simulated(one: Case) -> dict[str, Any]:
    key = comparison.simulation_key(one.experiment(True))
    return {key: {"latency_us": 500.0, "l2_bytes": 100, "l2_bytes_coalesced": 60, "dram_bytes": 10}}


def test_on_a_clustered_kernel_l2_is_what_the_l2_serves_with_eq_2_beside_it() -> None:
    one = made(l2_bytes=Reading(value=60.0, kind="counter"))
    row = rows_of(one, ["sim-fa"], answers=simulated(one))["sim-fa", "l2_bytes"]
    assert (row["estimated"], row["estimated_as"], row["eq2_bytes"]) == (60, "l2_bytes_coalesced", 100)
    alone = made(l2_bytes=Reading(value=60.0), match={"settings": "pipeline.cluster_ctas=1"})
    row = rows_of(alone, ["sim-fa"], answers=simulated(alone))["sim-fa", "l2_bytes"]
    assert (row["estimated"], row["estimated_as"]) == (100, "l2_bytes")


def test_what_is_not_simulated_says_why() -> None:
    assert rows_of(made(latency_us=Reading(value=1.0)), ["sim-fa"])["sim-fa", "latency_us"]["remark"] == (
        comparison.NOT_SIMULATED
    )
    other = made(latency_us=Reading(value=1.0), match={"kernel": "cutile-fa"})  # mma.sync on H800
    refused = rows_of(other, ["sim-fa"])["sim-fa", "latency_us"]
    assert "not modelled on h800" in refused["remark"] and refused["estimated"] is None


def test_the_cutile_kernel_of_our_gb10_file_is_simulated() -> None:
    answers = comparison.simulate_all([own_gb10()], True)
    rows = {row["quantity"]: row for row in comparison.compare([own_gb10()], ["sim-fa"], True, answers).rows}
    assert rows["l2_bytes"]["error_pct"] == 0
    assert abs(rows["dram_bytes"]["error_pct"]) < 15  # the spread of the launches
    assert -25 < rows["latency_us"]["error_pct"] < 0  # the kernel's inefficiency is not modelled


def test_a_case_without_a_preset_or_values_is_left_out_with_the_reason() -> None:
    cases = [
        made(latency_us=Reading(value=1.0), why_not="no preset for B300"),
        made(latency_us=Reading(value=1.0), match={"kernel": "../x.toml"}),
        made(),
    ]
    found = comparison.compare(cases, CLOSED, True)
    assert not found.rows
    why = [reason for _, reason in found.left_out]
    assert why[0] == "no preset for B300" and "unknown kernel" in why[1] and "no latency" in why[2]


def test_only_covered_workloads_are_simulated_each_once_and_the_shortest_first() -> None:
    cases = [made(), made(), made(match={"batch": 2}), own_gb10(), made(why_not="no")]
    todo = comparison.to_simulate(cases, True)
    assert [(asked.gpu.name, asked.workload.batch) for asked in todo] == [("gb10", 1), ("h800", 1), ("h800", 2)]


def test_mape_and_worst_case_by_hand() -> None:
    rows = [
        {"quantity": "latency_us", "estimator": "genz", "error_pct": error, "label": str(error)}
        for error in (10.0, -30.0, None)
    ]
    (row,) = comparison.summary(rows)
    assert (row["mape_pct"], row["mean_error_pct"], row["worst_error_pct"], row["worst_case"]) == (
        20.0,
        -10.0,
        -30.0,
        "-30.0",
    )
    assert (row["values"], row["of"]) == (2, 3)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1))
def test_mape_lies_between_the_mean_error_and_the_worst(errors: list[float]) -> None:
    rows = [{"quantity": "q", "estimator": "e", "error_pct": error, "label": ""} for error in errors]
    (row,) = comparison.summary(rows)
    assert abs(row["mean_error_pct"]) <= row["mape_pct"] * (1 + 1e-9) + 1e-9
    assert row["mape_pct"] <= abs(row["worst_error_pct"]) * (1 + 1e-9) + 1e-9


def test_every_shipped_row_gives_an_experiment_or_says_why_not() -> None:
    cases = gallery.cases()
    times = [case for case in cases if case.latency_us.value]
    assert len(times) == len(shipped_rows("measured_attention"))
    found = comparison.compare(cases, CLOSED, True)
    compared = {row["case"] for row in found.rows}
    assert len(compared) + len(found.left_out) == len(cases) == len({case.id for case in cases})
    assert {reason.split(";")[0] for _, reason in found.left_out} == {"no preset for B300"}
    assert len(found.left_out) == 3


def test_the_gallery_l2_of_cutile_is_exactly_eq_2() -> None:
    found = comparison.compare(gallery.cases(), ["simfa-python"], True)
    errors = {row["label"]: row["error_pct"] for row in found.of("l2_bytes")}
    exact = [label for label, error in errors.items() if error == 0.0]
    assert len(errors) == 3 and len(exact) == 2 and all("cuTile" in label for label in exact)


def test_official_tiles_of_the_gallery() -> None:
    tile = {
        (case.match.head_dim, case.match.mask, case.clock_hz): case.experiment(True).kernel.tile
        for case in gallery.cases()
        if case.title.startswith("FlashAttention-3 on H100")
    }
    assert (tile[64, "none", 1.5e9].query_rows, tile[64, "none", 1.5e9].kv_rows) == (192, 192)
    assert (tile[64, "none", None].query_rows, tile[64, "none", None].kv_rows) == (192, 128)  # July 2024
    assert (tile[128, "causal", 1.5e9].query_rows, tile[128, "causal", 1.5e9].kv_rows) == (128, 128)


def test_the_reading_names_what_dominates() -> None:
    cases = list(gallery.cases())
    text = " ".join(reading.overall(comparison.compare(cases, CLOSED, True), cases, True))
    for part in ("Short kernels are further off", "37 of 57 kernels came without an SM clock", "exactly in 2 of 3"):
        assert part in text
    assert "GenZ knows no mask" in text and "empties the caches" in text


def masked(causal: list[float], whole: list[float]) -> str:
    """What the reading says of GenZ with these errors on causal kernels and on others."""
    errors = [(True, error) for error in causal] + [(False, error) for error in whole]
    rows = [
        {"case": str(n), "estimator": "genz", "quantity": "latency_us", "causal": mask, "error_pct": error}
        for n, (mask, error) in enumerate(errors)
    ]
    return " ".join(reading.overall(comparison.Comparison(rows, []), [], True))


def test_errors_of_one_sign_are_not_said_to_cancel() -> None:
    assert masked([-23.0], [-18.0]) == "GenZ knows no mask: -23 % on the causal kernel, -18 % on the other."
    assert masked([9.0, 11.0], [0.3]) == "GenZ knows no mask: +10 % on the 2 causal kernels, +0 % on the other."
    said = masked([7.0], [-30.0, -36.0])
    assert "+7 % on the causal kernel, -33 % on the 2 others. That its errors cancel in the mean" in said


def lone_head() -> Case:
    """One head that reads thrice what the model says."""
    match = Match(gpu="h800", heads_q=1, head_dim=128, seq_q=4096)
    read = Reading(value=9e6)
    return made(dram_bytes=read, dram_read_bytes=read).model_copy(update={"match": match})


def of_dram(one: Case) -> str:
    return " ".join(reading.overall(comparison.compare([one], CLOSED, True), [one], True))


def test_a_total_above_eq_3_is_told_as_traffic_and_its_cause_left_open() -> None:
    one = made(dram_bytes=Reading(value=200e6, kind="counter"))  # Eq. (3): 83.9 MB, 50.3 of them reads
    said = of_dram(one)
    assert "in 1 of these more DRAM traffic was measured than Eq. (3) gives. Reads were not measured apart" in said
    assert "share the L2" not in said and "was read" not in said
    (sentence,) = (line for line in reading.of_case(one, True) if line.startswith("DRAM"))
    assert "a possible cause, but reads were not measured apart from writes." in sentence


def test_reads_above_the_models_may_come_from_heads_that_share_the_l2() -> None:
    more, as_modelled = (
        made(dram_bytes=Reading(value=200e6), dram_read_bytes=Reading(value=read)) for read in (150e6, 50.4e6)
    )
    assert "in 1 and are above the model's in 1; a possible cause: several heads share the L2" in of_dram(more)
    assert "reads alone are 2.98 times the model's" in " ".join(reading.of_case(more, True))
    assert "were measured in 1 and are above the model's in none." in of_dram(as_modelled)
    assert "share the L2" not in of_dram(as_modelled)
    told = " ".join(reading.of_case(as_modelled, True))
    assert "Reads alone are 1.00 times the model's." in told and "possible" not in told
    alone = " ".join([of_dram(lone_head()), *reading.of_case(lone_head(), True)])
    assert "above the model's in 1." in alone and "share the L2" not in alone and "in flight" not in alone


def test_a_profile_brings_its_reads_along() -> None:
    profile = case(groups(read(DATA / "op_counters.csv"))[0])
    assert profile.dram_read_bytes.value == 53_261_312 and profile.dram_read_bytes.kind == "counter"
    assert "op_read" in profile.dram_read_bytes.source and profile.dram_bytes.value == 56_639_232
    estimated = case(groups(read(DATA / "raw_integrated.csv"))[0]).dram_read_bytes
    assert estimated.kind == "estimate" and estimated.value == 16_384


def test_the_reading_of_one_case_names_ceiling_clock_l2_dram_and_assumptions() -> None:
    text = " ".join(reading.of_case(own_gb10(), measured_clock=True))
    for part in (
        "highest ceiling is tensor cores",
        "2,120 MHz",
        "exactly Eq. (2) (1,090,519,040 B)",
        "1.66 times Eq. (3)",
        "several of the 8 KV heads are in flight together: a possible cause, but reads were not measured apart",
        "K/V as long as the queries",
    ):
        assert part in text


def test_dram_below_eq_3_is_explained_by_o_left_in_the_l2() -> None:
    fa3 = next(case for case in gallery.cases() if case.match.heads_q == 24)
    assert "O (6.29 MB) can stay dirty in the L2" in " ".join(reading.of_case(fa3, measured_clock=True))


def test_heads_that_do_not_divide_are_told_by_the_columns_of_the_page() -> None:
    odd = made(latency_us=Reading(value=1.0))
    odd = odd.model_copy(update={"match": odd.match.model_copy(update={"heads_q": 7, "heads_kv": 3})})
    (why,) = shown.not_compared(comparison.compare([odd], CLOSED, True).left_out)["Why"]
    assert why == "Q heads (7) must be a multiple of KV heads (3); allowed for KV heads: 1, 7"
    assert reading.of_case(odd, True) == [f"Not compared: {why}."]


def test_traffic_families_group_by_everything_but_length() -> None:
    point = Reading(value=1e6, kind="counter")
    cases = [
        made(l2_bytes=point).model_copy(
            update={"id": str(seq), "match": made().match.model_copy(update={"seq_q": seq})}
        )
        for seq in (1000, 2048)
    ]
    (family,) = curves.families([*cases, made(latency_us=point)], True)
    assert [case.match.seq_q for case in family.cases] == [1000, 2048]
    curve = curves.curve(family)
    closed = comparison.closed_record("simfa-python", cases[0], True)
    at = curve[curve["length"] == 1000].iloc[0]
    assert (at["l2_bytes"], at["dram_bytes"]) == (closed["l2_bytes"], closed["dram_bytes"])
    assert [point["length"] for point in curves.points(family)] == [1000, 2048]


@pytest.mark.parametrize("name", ["=cmd|' /C calc'!A0", "+1+1", "-2", "@SUM(A1)", "\t=1", "\r=1"])
def test_downloaded_errors_cannot_start_a_spreadsheet_formula(name: str) -> None:
    hostile = made(latency_us=Reading(value=1.0, source=name)).model_copy(
        update={"kernel_name": name, "title": name, "file": name}
    )
    rows = comparison.compare([hostile], CLOSED, True).rows
    (row, _) = csv.DictReader(io.StringIO(export.to_csv(rows)))
    for key in ("kernel_name", "label", "file", "measured_source"):
        assert row[key].startswith("'"), key
    (line, *_) = csv.DictReader(io.StringIO(export.to_csv(comparison.summary(rows))))
    assert line["worst_case"].startswith("'") and float(line["mape_pct"]) > 0


def test_parquet_holds_the_rows_in_full_precision() -> None:
    rows = comparison.compare([own_gb10()], [*CLOSED, "sim-fa"], True).rows
    again = pd.read_parquet(io.BytesIO(shown.to_parquet(rows)))
    assert list(again["measured"]) == [row["measured"] for row in rows]
    assert again["estimated"].isna().sum() == sum(row["estimated"] is None for row in rows)


def test_tables_people_read_hold_numbers_with_their_units() -> None:
    found = comparison.compare([own_gb10()], [*CLOSED, "sim-fa"], True)
    table = shown.errors(found, "l2_bytes", CLOSED)
    assert table.loc[0, "Measured (MB)"] == pytest.approx(1090.519040)
    assert table.loc[0, "SimFA-python error (%)"] == 0.0
    assert "GenZ (MB)" not in table and "Sim-FA (MB)" not in table  # columns without any value are not shown
    assert comparison.NOT_SIMULATED in table.loc[0, "Remark"]
    summed = shown.summary(comparison.summary(found.rows))
    assert list(summed["Kernels"].unique()) == ["1 of 1"]
