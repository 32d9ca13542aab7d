"""Public bug reports of other readers of the same files: one test for each behaviour they teach."""

from __future__ import annotations

from pathlib import Path

import pytest

from dashboard.measured import Launch, NeedsAnswer, Refused, read

DATA = Path(__file__).parent / "data"
HEAD = '"ID","Process ID","Kernel Name","Metric Name","Metric Unit","Metric Value"\n'


def details(*rows: tuple[object, ...]) -> list[Launch]:
    """A details page of (ID, kernel, metric, unit, value) rows, read."""
    lines = [f'"{id_}","1","{kernel}","{metric}","{unit}","{value}"\n' for id_, kernel, metric, unit, value in rows]
    return read((HEAD + "".join(lines)).encode(), "made.csv")


def test_01_an_empty_unit_cell_is_missing_not_an_error() -> None:
    launch = details((0, "k", "gpu__time_duration.sum", "", "5.5"), (0, "k", "dram__bytes.sum", "byte", "7"))[0]
    assert (launch.duration_ns, launch.dram_bytes) == (None, 7.0)
    assert launch.provenance["duration_ns"] == "missing: gpu__time_duration.sum has no unit"


@pytest.mark.parametrize("lines", [1, 2, 50, 204])
def test_02_03_any_number_of_warnings_before_the_header(lines: int) -> None:
    page = (DATA / "utf8_bom_crlf.csv").read_bytes()[3:]
    noise = b'==WARNING== Kernel Name, ID and "Metric Name" are not here\n' * lines
    assert read(noise + page, "a.csv") == read(page, "a.csv")


def test_04_06_columns_are_found_by_name_in_any_order_and_number() -> None:
    text = "Metric Value;Extra;Metric Name;Kernel Name;ID;Metric Unit\n"
    text += "7,50;x;gpu__time_duration.sum;k<1, 2>;0;us\n"
    launch = read(text.encode(), "a.csv")[0]
    assert (launch.kernel, launch.duration_ns) == ("k<1, 2>", 7_500.0)


def test_05_11_program_output_after_disconnecting_and_between_rows() -> None:
    page = (DATA / "details_output_between_rows.csv").read_bytes()
    noise = b"==PROF== Disconnected from process 1\nloss, 1, 2.5, 3\n"
    assert read(noise + page + noise, "a.csv") == read(page, "a.csv")


def test_output_without_a_line_end_in_front_of_header_and_rows() -> None:
    page = (DATA / "utf8_bom_crlf.csv").read_text("utf-8-sig")
    lines = page.splitlines(keepends=True)
    glued = "".join(["loss 0.5, done", *lines[:3], "step 2...", *lines[3:]])
    assert read(glued.encode(), "a.csv") == read(page.encode(), "a.csv")


def test_a_row_cut_in_a_quoted_cell_does_not_swallow_the_next_rows() -> None:
    page = (DATA / "details_output_between_rows.csv").read_text()
    rows = page.splitlines(keepends=True)
    cut = rows[1][:70] + "\n"
    assert cut.count('"') % 2 == 1
    assert read("".join([rows[0], cut, *rows[1:], cut]).encode(), "a.csv") == read(page.encode(), "a.csv")


def test_07_an_empty_trace_gives_a_sentence() -> None:
    with pytest.raises(Refused, match="no kernel launches"):
        read(DATA / "nsys_trace_empty.csv")


def test_08_an_absent_metric_is_missing() -> None:
    launch = details((0, "k", "dram__bytes.sum", "byte", "7"))[0]
    assert launch.duration_ns is None and launch.l2_bytes is None


def test_09_overlapping_and_repeated_kernels_stay_apart() -> None:
    launches = details(
        (0, "k", "gpu__time_duration.sum", "ns", "100"),
        (1, "k", "gpu__time_duration.sum", "ns", "300"),
        (0, "k", "dram__bytes.sum", "byte", "7"),
    )
    assert [(launch.duration_ns, launch.dram_bytes) for launch in launches] == [(100.0, 7.0), (300.0, None)]


def test_10_every_field_goes_through_the_same_units() -> None:
    fields = {"dram__bytes.sum": "dram_bytes", "lts__t_bytes.sum": "l2_bytes"}
    for metric, field in fields.items():
        values = [
            getattr(details((0, "k", metric, unit, "1"))[0], field) for unit in ("byte", "Kbyte", "MB", "Gbytes")
        ]
        assert values == [1.0, 1e3, 1e6, 1e9]


def test_12_autotuning_launches_stay_separate_and_named() -> None:
    launches = details(*((i, f"tune_{i}", "gpu__time_duration.sum", "ns", "100") for i in range(5)))
    assert [launch.kernel for launch in launches] == [f"tune_{i}" for i in range(5)]


def test_13_missing_columns_are_an_error_not_an_empty_report() -> None:
    with pytest.raises(Refused, match="no table of kernel launches.*template.*llm, heads_q"):
        read(b"Kernel Name,Time\nk,5\n", "a.csv")


def test_14_a_unit_is_a_whole_token() -> None:
    assert read(DATA / "inst_is_not_ns.csv")[0].duration_ns == 320.0


def test_15_the_source_of_a_time_is_named() -> None:
    assert read(DATA / "utf8_bom_crlf.csv")[0].provenance["source"].startswith("Nsight Compute")
    assert read(DATA / "nsys_trace.csv")[0].provenance["source"].startswith("Nsight Systems")


def test_16_a_well_formed_page_of_na_says_so() -> None:
    with pytest.raises(Refused, match="every metric reads n/a"):
        read(DATA / "all_na.csv")


def test_17_no_position_and_no_unit_is_assumed() -> None:
    assert read(DATA / "raw_ms.csv")[0].duration_ns == pytest.approx(read(DATA / "raw_us.csv")[0].duration_ns)


def test_18_traffic_of_the_l2_fabric_is_kept_from_the_sm_side() -> None:
    launch = read(DATA / "raw_a100_fabric.csv")[0]
    assert launch.l2_bytes == 4.8e6 and launch.l2_bytes_sm_side == 3.2e6


def test_19_a_german_thousand_is_never_read_as_a_fraction() -> None:
    with pytest.raises(NeedsAnswer):
        details((0, "k", "gpu__time_duration.sum", "ns", "117.344"))
    proven = details((0, "k", "gpu__time_duration.sum", "ns", "117.344"), (0, "k", "x", "%", "8,25"))
    assert proven[0].duration_ns == 117_344.0


def test_a_metric_whose_name_only_resembles_is_not_taken() -> None:
    launch = details(
        (0, "k", "pmsampling:sm__cycles_elapsed.avg.per_second", "Ghz", "563.25"),
        (0, "k", "TriageCompute.lts__t_sectors.sum", "sector", "9"),
        (0, "k", "breakdown:dram__bytes.sum", "byte", "9"),
        (0, "k", "gpu__time_duration.sum", "ns", "9"),
    )[0]
    assert launch.sm_clock_hz is None and launch.l2_bytes is None and launch.dram_bytes is None


def test_dram_rules_first_match_wins() -> None:
    rows = [
        (0, "k", "dram__sectors_read.sum", "sector", "1"),
        (0, "k", "dram__sectors_write.sum", "sector", "1"),
        (0, "k", "dram__bytes_op_read.sum", "byte", "100"),
        (0, "k", "dram__bytes_op_write.sum", "byte", "11"),
        (0, "k", "dram__bytes_read.sum", "byte", "200"),
        (0, "k", "dram__bytes_write.sum", "byte", "22"),
        (0, "k", "dram__bytes.sum", "byte", "333"),
    ]
    totals = [details(*rows[:count])[0].dram_bytes for count in (2, 4, 6, 7)]
    assert totals == [64.0, 111.0, 222.0, 333.0]
    assert details(*rows[:1])[0].dram_bytes is None


def test_the_estimate_is_for_integrated_gpus_only() -> None:
    miss = "dram__bytes.sum,n/a lts__t_sectors_lookup_miss.sum,10"
    for cc, estimate in (("12.1", 320.0), ("11.0", 320.0), ("8.7", 320.0), ("12.0", None), ("9.0", None)):
        rows = "".join(f"0,k,{cc},{pair.split(',')[0]},sector,{pair.split(',')[1]}\n" for pair in miss.split())
        text = "ID,Kernel Name,CC,Metric Name,Metric Unit,Metric Value\n" + rows
        launch = read(text.encode(), "a.csv")[0]
        assert (launch.dram_bytes_estimate, launch.dram_bytes) == (estimate, estimate)


def test_rows_without_an_id_column_still_make_launches() -> None:
    text = "Kernel Name,Metric Name,Metric Unit,Metric Value\n" + "k,gpu__time_duration.sum,ns,5\n" * 3
    assert len(read(text.encode(), "a.csv")) == 3


def test_an_unquoted_name_with_commas_is_joined_again() -> None:
    text = (DATA / "nsys_trace.csv").read_text().replace('"', "")
    assert read(text.encode(), "a.csv")[0].kernel == "void attn<int,8>(float *,int)"


def test_unquoted_decimal_commas_are_refused_not_shifted() -> None:
    text = (DATA / "nsys_kernsum_2021_us.csv").read_text().replace("41.373", "41,373")
    with pytest.raises(Refused, match="more cells"):
        read(text.encode(), "a.csv")


def test_nvprof_with_shapes_in_one_column() -> None:
    text = '"Start","Duration","Grid Size","Block Size","Name"\nms,us,,,\n'
    text += '255.5,15.125,"(128 2 1)","(256 1 1)","k"\n'
    launch = read(text.encode(), "a.csv")[0]
    assert (launch.grid, launch.block, launch.duration_ns) == ((128, 2, 1), (256, 1, 1), 15_125.0)


def test_a_cut_last_row_is_left_out() -> None:
    page = (DATA / "nsys_trace.csv").read_bytes()
    assert len(read(page + page.splitlines(keepends=True)[-1][:60], "a.csv")) == 1
