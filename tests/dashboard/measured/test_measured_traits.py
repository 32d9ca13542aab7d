"""One small file of our own per trait, with the values it holds in base units."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dashboard.measured import Launch, NeedsAnswer, Refused, read

DATA = Path(__file__).parent / "data"

ATTN = {
    "duration_ns": 10_340.0,
    "dram_read_bytes": 4_740_000.0,
    "dram_write_bytes": 512_500.0,
    "dram_bytes": 5_252_500.0,
    "l2_bytes": 32.0 * 34_089_136,
    "l2_bytes_sm_side": 32.0 * 33_554_432,
    "l2_hit_rate_pct": 87.5,
    "sm_clock_hz": 1.75e9,
    "grid": [8, 64, 1],
    "block": [128, 1, 1],
}
FMHA = {
    "duration_ns": 1_201_280.0,
    "dram_bytes": 12_500_000.0,
    "sm_clock_hz": 1.755e9,
    "device_name": "NVIDIA H100",
    "grid": [8, 64, 2],
}
SUM = {"total_ns": 7_898_470.0, "avg_ns": 47_869.5, "min_ns": 13_280.0, "max_ns": 80_187.0, "instances": 165}

# file -> the launches it holds; a field that must be missing is None
TRAITS: dict[str, list[dict[str, Any]]] = {
    "utf8_bom_crlf.csv": [ATTN],
    "utf16le_bom_crlf.csv": [ATTN],
    "utf16be_bom.csv": [ATTN],
    "utf16le_without_bom.csv": [ATTN],
    "latin1_kernel.csv": [ATTN | {"kernel": "größe<128>(Params)"}],
    "carriage_returns.csv": [ATTN],
    "tab.tsv": [ATTN],
    "german_semicolon.csv": [ATTN],
    "french_spaces.csv": [ATTN],
    "swiss_apostrophes.csv": [ATTN],
    "indian_lakh.csv": [ATTN],
    "german_comma_quoted.csv": [ATTN, {"duration_ns": 117_344.0}],
    "ambiguous_counts.csv": [{"duration_ns": 117_344.0, "dram_bytes": 61_824.0}],
    "html_kernel.csv": [ATTN | {"kernel": "<img src=x onerror=alert(1)>, **=cmd()**"}],
    "details_ragged_rules.csv": [
        {
            "duration_ns": 56_060.0,
            "dram_bytes": None,
            "dram_bytes_from_rate": pytest.approx(488.17e9 * 56.06e-6),
            "l2_bytes": None,
            "l2_hit_rate_pct": 25.78,
            "cycles": 63_779.0,
        }
    ],
    "details_old_12_columns.csv": [
        {
            "duration_ns": 7_500.0,
            "sm_clock_hz": 1.25e9,
            "dram_bytes_from_rate": pytest.approx(1.5e6),
            "grid": [1024],
            "grid_size": 1024,
            "block_size": 256,
            "device": None,
            "compute_capability": None,
        }
    ],
    "details_output_between_rows.csv": [ATTN | {"id": "0"}, ATTN | {"id": "1"}],
    "details_two_runs.csv": [
        ATTN | {"process_id": "1"},
        {"process_id": "2", "duration_ns": 1.2e6, "dram_bytes": None},
    ],
    "details_two_devices.csv": [
        {"device": "0", "compute_capability": "9.0"},
        {"device": "1", "compute_capability": "8.0"},
    ],
    "units_per_row.csv": [
        {"dram_bytes": 1_180_000.0},
        {"dram_bytes": 977_500.0},
        {"dram_bytes": 2.25e9},
        {"dram_bytes": 128.0},
        {"dram_bytes": None},
    ],
    "missing_values.csv": [
        {
            "duration_ns": 5_500.0,
            "dram_bytes": None,
            "dram_read_bytes": 4_736.0,
            "dram_write_bytes": None,
            "l2_bytes": None,
            "l2_bytes_sm_side": 32 * 1.2e6,
            "l2_hit_rate_pct": 100.96,
            "sm_clock_hz": None,
            "cycles": None,
        }
    ],
    "percent_only.csv": [{"duration_ns": None, "dram_bytes": None, "dram_bytes_from_rate": None, "l2_bytes": None}],
    "inst_is_not_ns.csv": [{"duration_ns": 320.0}],
    "op_counters.csv": [
        {
            "dram_bytes": 56_639_232.0,
            "dram_read_bytes": 53_261_312.0,
            "l2_bytes": 32.0 * 1_200_034,
            "l2_bytes_sm_side": 38_400_000.0,
        }
    ],
    "sectors_and_rates.csv": [
        {
            "duration_ns": pytest.approx(7_600.0),
            "dram_bytes": 32.0 * 1_024,
            "dram_bytes_from_rate": None,
            "l2_bytes": pytest.approx(32 * 12.5e6 * 7.6e-6),
        },
        {
            "dram_bytes": None,
            "dram_bytes_from_rate": pytest.approx(25_000.0),
            "l2_bytes": pytest.approx(40_000.0),
        },
    ],
    "print_summary.csv": [{"duration_ns": 11_250.0, "instances": 5, "compute_capability": "9.0"}],
    "raw_ms.csv": [FMHA, {"duration_ns": pytest.approx(31_968.0), "dram_bytes": 250_000.0}],
    "raw_us.csv": [FMHA],
    "raw_integrated.csv": [
        {"dram_bytes": 537_600.0, "dram_bytes_estimate": 537_600.0, "dram_read_bytes": 16_384.0}
    ],
    "raw_discrete_sysmem.csv": [{"dram_bytes": None, "dram_bytes_estimate": None, "dram_read_bytes": None}],
    "raw_four_suffixes.csv": [{"duration_ns": 2_000.0, "dram_bytes": 1_600.0, "l2_bytes": 32.0 * 84}],
    "raw_a100_fabric.csv": [{"l2_bytes": 4.8e6, "l2_bytes_sm_side": 3.2e6}],
    "ui_transposed.csv": [
        {
            "kernel": "matmul(float *, int)",
            "process_id": "3212",
            "duration_ns": 3.66e6,
            "dram_bytes": 8.4e6,
            "dram_write_bytes": 0.0,
            "l2_bytes": 32.0 * 16_783_089,
            "compute_capability": "8.9",
            "grid": [64, 64, 1],
        },
        {
            "duration_ns": 250_000.0,
            "dram_write_bytes": 1_024.0,
            "l2_bytes": 32.0 * 262_580,
            "grid": [1024, 32, 1],
        },
    ],
    "ui_wide.csv": [{"duration_ns": 12_500.0, "dram_bytes_from_rate": 1.25e6, "sm_clock_hz": 1.4105e9}],
    "nsys_trace.csv": [
        {
            "kernel": "void attn<int, 8>(float *, int)",
            "grid": [128, 2, 1],
            "block": [256, 1, 1],
            "duration_ns": 15_167.0,
            "start_ns": 2_591_659_227.0,
            "device": "1",
            "device_name": "NVIDIA A100",
            "dram_bytes": None,
        }
    ],
    "nsys_trace_2020_us.csv": [{"duration_ns": 15_167.0, "start_ns": pytest.approx(2_591_659_227.0)}],
    "nsys_exec_trace.csv": [{"duration_ns": 2_500.0, "start_ns": 9_000.0, "grid": [8, 64, 1]}],
    "nsys_kernsum_2019.csv": [SUM | {"duration_ns": 47_869.5, "med_ns": None}],
    "nsys_kernsum_2020.csv": [SUM | {"duration_ns": 47_869.5, "stddev_ns": None}],
    "nsys_kernsum_2021_us.csv": [{"duration_ns": 41_373.0, "avg_ns": 47_870.0, "stddev_ns": 25_059.0}],
    "nsys_kernsum_grid.csv": [SUM | {"duration_ns": 41_373.0, "grid": [8, 64, 1], "block": [128, 1, 1]}],
    "nsys_gpu_sum.csv": [{"kernel": "attn", "duration_ns": 300.0}],
    "nsys_many_reports.csv": [{"kernel": "attn", "duration_ns": 310.0, "instances": 2}],
    "nvprof_trace.csv": [
        {
            "kernel": "_Z4attnPfS_i",
            "id": "112",
            "grid": [128, 2, 1],
            "duration_ns": 15_167.0,
            "start_ns": 2.55e8,
        }
    ],
    "nvprof_summary.csv": [
        {"kernel": "attn(float*, int)", "duration_ns": 47_869.0, "min_ns": 13_280.0, "instances": 165}
    ],
    "nvprof_summary_old.csv": [{"kernel": "attn(float*, int)", "duration_ns": 4_786.0, "total_ns": 789_847.0}],
    "nvprof_metrics.csv": [{"dram_bytes": 2_020.0, "duration_ns": None, "instances": 3}],
}

# file -> words of the sentence with which it is refused
REFUSED = {
    "all_na.csv": "every metric reads n/a.*--query-metrics",
    "header_only.csv": "header but no kernel launches",
    "nsys_trace_empty.csv": "header but no kernel launches",
    "nsys_trace_only_copies.csv": "header but no kernel launches",
    "nsys_api_sum.csv": "CUDA API.*--report cuda_gpu_trace",
    "nsys_skipped.txt": "holds no kernels",
    "nsys_text.txt": "text output of nsys stats.*--format csv",
    "nvprof_text.txt": "text output of nvprof.*--csv",
    "ncu_text.txt": "text page of ncu.*--csv",
    "no_kernels.csv": "no kernels were profiled.*error code",
    "no_permission.csv": "ERR_NVGPUCTRPERM",
    "page.html": "HTML",
    "data.json": "JSON",
    "source_page.csv": "source page.*--page raw",
    "raw_without_units_row.csv": "row of units",
    "unquoted_decimal_comma.csv": "more cells than the header",
}


def launches(name: str, decimal: str | None = None) -> list[Launch]:
    return read(DATA / name, decimal=decimal)


@pytest.mark.parametrize("name", TRAITS)
def test_trait(name: str) -> None:
    found = [launch.record() for launch in launches(name)]
    picked = [{key: launch[key] for key in want} for launch, want in zip(found, TRAITS[name], strict=True)]
    assert picked == TRAITS[name]
    assert {launch["file"] for launch in found} == {name}


@pytest.mark.parametrize("name", REFUSED)
def test_refusal(name: str) -> None:
    with pytest.raises(Refused, match=REFUSED[name]) as caught:
        launches(name)
    assert str(caught.value).startswith(f"{name}: ")
    assert "\n" not in str(caught.value)


def test_every_data_file_has_a_test() -> None:
    asked = {"ambiguous.csv", "conflicting.csv"}
    assert {path.name for path in DATA.iterdir()} == set(TRAITS) | set(REFUSED) | asked


def test_an_ambiguous_file_asks_and_takes_both_answers() -> None:
    with pytest.raises(NeedsAnswer, match="117,344 if it is a comma") as caught:
        launches("ambiguous.csv")
    assert caught.value.readings == {".": 117.344, ",": 117_344.0}
    assert launches("ambiguous.csv", ".")[0].duration_ns == 117.344
    assert launches("ambiguous.csv", ",")[0].duration_ns == 117_344.0


def test_two_locales_in_one_file_ask_and_the_other_number_becomes_missing() -> None:
    with pytest.raises(NeedsAnswer, match="different decimal separators"):
        launches("conflicting.csv")
    launch = launches("conflicting.csv", ".")[0]
    assert launch.duration_ns == 10_340.0
    assert launch.dram_bytes is None
    assert launch.provenance["dram_bytes"].startswith("missing: dram__bytes.sum reads what is no number")


def test_provenance_names_counter_unit_and_assumption() -> None:
    origin = launches("utf8_bom_crlf.csv")[0].provenance
    assert origin["dram_bytes"] == "dram__bytes_read.sum [Mbyte] + dram__bytes_write.sum [Kbyte]"
    assert origin["l2_bytes_sm_side"] == "32 B x (lts__t_sectors_srcunit_tex.sum [sector])"
    assert origin["decimal"].startswith("decimal point")
    assert "caches" in origin["conditions"]


def test_provenance_says_estimate_average_and_assumed_unit() -> None:
    assert launches("raw_integrated.csv")[0].provenance["dram_bytes"].startswith("estimate")
    assert "no median" in launches("nsys_kernsum_2020.csv")[0].provenance["duration_ns"]
    assert "assumed" in launches("nsys_kernsum_2019.csv")[0].provenance["unit"]
    assert launches("missing_values.csv")[0].provenance["dram_bytes"].startswith("missing: ")
