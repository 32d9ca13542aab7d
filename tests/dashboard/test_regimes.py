"""Regimes without a browser: curves, landmarks, points, words, ceilings, and the figures drawn from them."""

import csv
import io
import json
import math

import pytest

from analytical import launch_order, simfa_python
from dashboard import compare, export, regimes, regimes_words, rooflines, what_if
from dashboard.catalog import ESTIMATORS
from dashboard.figures import regimes as regimes_figure
from dashboard.figures import roofline
from dashboard.recipe import Recipe
from presets import loader
from presets.arguments import bare_shape, build
from presets.errors import PresetError
from presets.specs import GpuSpec, KernelSpec

NAMES = {entry.name: (entry.title, entry.color) for entry in ESTIMATORS.values()}
MARKS = {entry.name: (entry.title, entry.color, entry.symbol) for entry in ESTIMATORS.values()}
CLOSED = ["simfa-python", "simfa-launch-order", "genz", "llm-viewer"]


def gb10(seq=4096, causal=False):
    gpu, kernel = loader.load(GpuSpec, "gb10"), loader.load(KernelSpec, "cutile-fa-64x64")
    return build(bare_shape(8, 8, 128), gpu, kernel, {}, seq_q=seq, seq_kv=seq, causal=causal)


def figure(shown, measured=(), simulated=()):
    marks = {
        "boundary": shown.boundary_tokens,
        "live_boundary": shown.live_boundary_tokens,
        "waves": shown.wave_steps,
        "length": shown.length,
    }
    title = regimes_words.title(shown)
    return regimes_figure.figure(shown.points, NAMES, marks, measured, simulated, "tokens", title)


def test_curves_are_the_estimators_own_numbers(make_experiment):
    case = make_experiment("llama3.1-405b", seq=65_536)
    shown = regimes.curves(case, peer=True)
    row = shown.points.set_index("length").loc[65_536]
    for name in CLOSED:
        assert row[f"dram.{name}"] == ESTIMATORS[name].run(case).dram_bytes
    assert row["l2.simfa-python"] == simfa_python.run(case).l2_bytes
    assert (shown.points["length"].min(), shown.points["length"].max()) == (512, 2**20)


def test_genz_is_never_above_simfa_python(make_experiment):
    points = regimes.curves(make_experiment("llama3-70b", seq=4096)).points
    assert (points["dram.genz"] <= points["dram.simfa-python"]).all()
    assert (points["dram.genz"] <= points["dram.simfa-launch-order"]).all()


@pytest.mark.parametrize(
    ("case", "one_head", "in_flight"),
    [
        (lambda make: gb10(), 49_152, 6144),  # 24 MiB / 512 B a token; eight heads: 24 MiB / 4096 B
        (lambda make: make("llama3.1-405b", seq=4096), 51_200, 51_200),
    ],
)
def test_boundaries_of_one_head_and_of_those_in_flight(make_experiment, case, one_head, in_flight):
    shown = regimes.curves(case(make_experiment))
    assert (shown.boundary_tokens, shown.live_boundary_tokens) == (one_head, in_flight)
    lengths = set(shown.points["length"])
    assert {one_head - 1, one_head, in_flight - 1, in_flight} <= lengths  # so that a step is drawn upright


def test_an_l2_that_holds_everything_has_no_boundary_for_the_heads_in_flight(make_experiment):
    case = what_if.applied(make_experiment(seq=4096), {"l2.bytes": "10GiB", "l2.effective_bytes": "10GiB"})
    shown = regimes.curves(case)
    assert shown.live_boundary_tokens is None
    assert "stays on the ideal line" in regimes_words.title(shown)
    assert "up to 1M tokens, where 1 KV head fits the L2" in regimes_words.transition(shown)[-1]


def test_wave_steps_are_where_eq_5_steps(make_experiment):
    case = make_experiment("llama3.1-405b", seq=4096)
    shown = regimes.curves(case)
    assert dict(shown.wave_steps)[2] == 1025  # 16 x 8 = 128 CTAs up to 1,024 tokens, 144 from there on 132 SMs
    for waves, length in shown.wave_steps:
        assert simfa_python.run(regimes.at_length(case, length)).waves >= waves
        assert simfa_python.run(regimes.at_length(case, length - 1)).waves < waves


def test_a_fixed_query_length_sweeps_only_the_keys(make_experiment):
    shown = regimes.curves(make_experiment(seq_q=1, seq_kv=4096), peer=True)
    assert not shown.sweeps_query and shown.wave_steps == ()
    assert shown.points["dram.genz"].is_monotonic_increasing


def test_measured_points_are_those_of_this_gpu_and_shape(make_experiment):
    points = regimes.measured_points(gb10())
    assert [(p["quantity"], p["length"], p["bytes"], p["kind"]) for p in points] == [
        ("l2_bytes", 4096, 1_090_519_040.0, "counter"),
        ("dram_bytes", 4096, 55_635_904.0, "estimate"),
    ]
    assert len({p["label"] for p in regimes.measured_points(gb10(causal=True))}) == 2  # cuTile and FlashAttention-2
    assert regimes.measured_points(make_experiment(seq=4096)) == []


def test_a_measured_point_lies_on_the_l2_line_and_near_the_launch_order_line():
    case = gb10()
    l2, dram = regimes.measured_points(case)
    assert l2["bytes"] == simfa_python.run(case).l2_bytes
    assert launch_order.run(case).dram_bytes == pytest.approx(dram["bytes"], rel=0.01)
    assert simfa_python.run(case).dram_bytes == pytest.approx(0.6 * dram["bytes"], rel=0.01)


def test_downloads_hold_curves_and_points_in_full(make_experiment):
    simulated = regimes.simulated_points(512, {"l2_bytes": 7, "dram_bytes": 5, "cycles": 9})
    shown = regimes.curves(gb10())
    rows = regimes.rows(shown, regimes.measured_points(gb10()), simulated)
    found = {(r["estimator"], r["quantity"], r["length"]): r["bytes"] for r in rows}
    assert found["measured", "dram_bytes", 4096] == 55_635_904.0
    assert found["sim-fa", "dram_bytes", 512] == 5
    assert found["genz", "dram_bytes", 4096] == 33_554_432
    read = list(csv.DictReader(io.StringIO(export.to_csv(rows))))
    assert len(read) == len(rows) == len(json.loads(export.to_json(rows)))
    assert read[0]["effective_l2_bytes"] == "25165824"


def test_words_hold_the_users_numbers(make_experiment):
    here, beyond, order = regimes_words.transition(regimes.curves(make_experiment("llama3.1-405b", seq=65_536)))
    assert "2 x 2 B x 65,536 x 128 = 33,554,432 B (32 MiB)" in here
    assert "63 waves of 132 CTAs" in here and "21.2 GB by Eq. (6)" in here and "4.56 GB" in here
    assert "The boundary is 51,200 tokens" in beyond and "3.82 times" in beyond and "49 waves" in beyond
    assert "1 KV head must stay" in order and "passed over 63 times" in order
    assert "8 KV heads must stay" in regimes_words.transition(regimes.curves(gb10()))[-1]


@pytest.mark.parametrize(
    ("seq", "said"),
    [
        (48_600, []),  # 5.1 % below
        (48_640, ["5.0 % below"]),
        (51_200, ["exactly at"]),
        (53_760, ["5.0 % above"]),
        (53_800, []),
    ],
)
def test_a_warning_within_five_percent_of_the_boundary(make_experiment, seq, said):
    found = regimes_words.warnings(regimes.curves(make_experiment("llama3.1-405b", seq=seq)))
    assert len(found) == len(said)
    for sentence, words in zip(found, said, strict=True):
        assert words in sentence and "25 MiB" in sentence and "GB of DRAM" in sentence


def test_a_warning_near_the_boundary_of_the_heads_in_flight():
    (sentence,) = regimes_words.warnings(regimes.curves(gb10(6000)))
    assert "2.3 % below the length of 6,144" in sentence and "24 MiB" in sentence


@pytest.mark.parametrize(
    ("settings", "sums"),
    [
        ({}, []),
        ({"tile.query_rows": "192"}, []),
        (
            {"tile.query_rows": "256"},
            ["2 B x 128 x (256 + 4 x 176) rows = 245,760 B", "256 x (128 + 176) FP32", "77,824 registers"],
        ),
        ({"pipeline.occupancy_ctas": "2"}, ["= 425,984 B in all, more than the 233,472 B", "= 77,824 registers"]),
    ],
)
def test_an_impossible_tile_is_shown_with_its_sum(make_experiment, settings, sums):
    found = " ".join(regimes_words.impossible(what_if.applied(make_experiment(seq=4096), settings)))
    assert bool(found) == bool(sums)
    assert all(part in found for part in sums)


def test_official_tiles_are_possible(make_experiment):
    for settings in ("192 192 3 64", "192 128 3 64", "128 80 2 256", "128 128 2 128"):
        rows, columns, groups, head_dim = settings.split()
        case = what_if.applied(
            make_experiment(seq=4096),
            {
                "tile.query_rows": rows,
                "tile.kv_rows": columns,
                "pipeline.consumer_warpgroups": groups,
                "head_dim": head_dim,
            },
        )
        assert regimes_words.impossible(case) == []


def test_a_what_if_that_cannot_be_built_is_refused_in_words(make_experiment):
    with pytest.raises(PresetError, match="must not exceed"):
        what_if.applied(make_experiment(seq=4096), {"l2.effective_bytes": "60MiB"})


def test_gigabytes_and_mebibytes_are_told_apart():
    assert regimes_words.gb(83_886_080) == "83.9 MB"
    assert regimes_words.gb(2_147_483_648) == "2.15 GB"
    assert regimes_words.mib(26_214_400) == "25 MiB"


def test_the_figure_has_a_line_per_estimator_in_gb_and_every_landmark(make_experiment):
    shown = regimes.curves(gb10())
    chart = figure(shown, regimes.measured_points(gb10()))
    lines = {trace.name: trace for trace in chart.data if trace.mode == "lines" and trace.xaxis == "x"}
    assert set(lines) == {NAMES[name][0] for name in ("simfa-python", "simfa-launch-order", "genz")}
    assert lines["GenZ-style ideal cache"].y[list(lines["GenZ-style ideal cache"].x).index(4096)] == 0.033554432
    dots = [trace for trace in chart.data if trace.name == "Measured"]
    assert [(trace.xaxis, trace.x[0], trace.marker.color) for trace in dots] == [
        ("x", 4096, "#000000"),
        ("x2", 4096, "#000000"),
    ]
    notes = {note.text.strip(): note.x for note in chart.layout.annotations}
    assert notes["Eq. (4), one head: 49,152 tokens"] == math.log10(49_152)
    assert notes["Eq. (4), heads in flight: 6,144"] == math.log10(6144)
    assert "here: 4,096" in notes and "2<br>|" in notes and "waves per KV group, Eq. (5)" in notes
    assert "GB = 10<sup>9</sup> bytes" in chart.layout.yaxis.title.text
    low, high = chart.layout.xaxis.range
    assert low < math.log10(512) and high > 20 * math.log10(2)


@pytest.mark.parametrize(("seq", "side"), [(65_536, "left"), (50_000, "right"), (8192, "right"), (1024, "left")])
def test_the_label_of_the_length_is_not_crossed_by_the_boundary(make_experiment, seq, side):
    """xanchor is the end of the text at the line: `left` stands to the right of it."""
    chart = figure(regimes.curves(make_experiment("llama3.1-405b", seq=seq)), [])
    notes = {note.text.strip(): note.xanchor for note in chart.layout.annotations}
    assert notes[f"here: {seq:,}"] == side
    assert notes["Eq. (4), one head: 51,200 tokens"] == "right"


@pytest.mark.parametrize(("seq", "low"), [(4096, 0.11), (16_384, 0), (2900, 0)])
def test_no_line_crosses_the_number_of_waves_beside_it(make_experiment, seq, low):
    shapes = figure(regimes.curves(make_experiment("llama3-8b", seq=seq)), []).layout.shapes
    (here,) = [shape for shape in shapes if shape.type == "line" and shape.x0 == seq]
    assert here.y0 == low


def test_titles_state_what_is_seen(make_experiment):
    paper = regimes_words.title(regimes.curves(make_experiment("llama3.1-405b", seq=4096)))
    assert paper.startswith("DRAM traffic leaves the ideal line at 51,200 tokens (Eq. 4): 59.4 times")
    assert "all heads in flight at 6,144" in regimes_words.title(regimes.curves(gb10()))


def test_ceilings_by_hand(make_experiment):
    caps = rooflines.ceilings(make_experiment(seq=4096))
    assert caps["tensor_tflops"] == pytest.approx(132 * 4096 * 1.83e9 / 1e12)
    assert caps["mufu_tflops"] == pytest.approx(132 * 16 * 1.83e9 * 512 / 1e12)  # 4 x 128 FLOP per exponential
    assert caps["l2_bytes_per_s"] == pytest.approx(80 * 64 * 1.83e9)
    assert (caps["dram_bytes_per_s"], caps["asymptote_flop_per_byte"]) == (3.35e12, 128)


def test_no_closed_form_stands_above_a_ceiling_of_its_level(make_experiment):
    for seq in (512, 4096, 65_536):
        case = make_experiment(seq=seq)
        caps = rooflines.ceilings(case)
        answers = compare.records([case], ["simfa-python", "simfa-launch-order"])
        for dot in rooflines.dots(answers):
            slope = caps[f"{dot['level']}_bytes_per_s"] * dot["intensity"] / 1e12
            assert dot["tflops"] <= min(slope, caps["tensor_tflops"], caps["mufu_tflops"]) * (1 + 1e-12)


@pytest.mark.parametrize("seq", [512, 4096, 51_200, 2**20])
@pytest.mark.parametrize("settings", ["", "l2.effective_bytes=1MiB", "dram.channel_bandwidth_bytes_per_s=1TB/s"])
def test_both_slopes_of_the_roofline_are_named_in_view(seq, settings):
    case = Recipe(llm="llama3.1-405b", seq=seq, set=settings).experiment()
    caps, answers = rooflines.ceilings(case), compare.records([case], CLOSED)
    chart = roofline.figure(caps, rooflines.dots(answers), MARKS, "title")
    (left, right), (bottom, top) = chart.layout.xaxis.range, chart.layout.yaxis.range
    for key, said in (("l2_bytes_per_s", " L2 "), ("dram_bytes_per_s", " DRAM ")):
        (note,) = [note for note in chart.layout.annotations if note.text.startswith(said)]
        assert left < note.x < right and bottom < note.y < top
        assert note.y == pytest.approx(note.x + math.log10(caps[key] / 1e12))  # on its slope


def test_the_roofline_names_every_ceiling_and_point(make_experiment):
    case = make_experiment(seq=4096)
    caps, answers = rooflines.ceilings(case), compare.records([case], CLOSED)
    chart = roofline.figure(caps, rooflines.dots(answers), MARKS, rooflines.title(answers, caps))
    notes = " ".join(note.text for note in chart.layout.annotations)
    for words in (
        "L2 9.37 TB/s",
        "DRAM 3.35 TB/s",
        "Tensor cores 989 TFLOPS",
        "MUFU (exp) 1,979 TFLOPS",
        "Eq. (12)",
    ):
        assert words in notes
    points = {trace.name: (trace.x[0], trace.y[0]) for trace in chart.data if trace.mode == "markers"}
    assert points["SimFA-python, at L2"][0] == 4096 / 33
    assert points["GenZ-style ideal cache, at DRAM"][0] == 2**38 / (80 * 2**20)
    assert "GenZ-style ideal cache, at L2" not in points
    assert "bound by tensor cores, 930 of 989 TFLOPS" in chart.layout.title.text
    assert "FLOP per byte" in chart.layout.xaxis.title.text and "TFLOPS" in chart.layout.yaxis.title.text


def test_labels_of_the_roofline_say_what_its_title_says(make_experiment):
    """One SM: 4,096 FLOP a cycle at 1.83 GHz is 7.50 TFLOPS, 16 exponentials of 4 x 128 FLOP 15.0."""
    case = what_if.applied(make_experiment(seq=4096), {"sm.count": "1"})
    caps, answers = rooflines.ceilings(case), compare.records([case], CLOSED)
    chart = roofline.figure(caps, rooflines.dots(answers), MARKS, rooflines.title(answers, caps))
    notes = [note.text for note in chart.layout.annotations]
    assert "of 7.50 TFLOPS" in chart.layout.title.text
    assert "Tensor cores 7.50 TFLOPS" in notes and "MUFU (exp) 15.0 TFLOPS" in notes


def test_traffic_from_a_sample_says_its_error() -> None:
    record = {"cycles": 1000, "l2_bytes": 8, "dram_bytes": 4}
    part = record | {"sample": {}, "sampled_fraction": 0.04, "dram_error_pct": 1.5}
    whole, sampled = (regimes.simulated_points(512, found) for found in (record, part))
    assert [point["source"] for point in whole] == ["1,000 cycles"] * 2
    assert [point["source"] for point in sampled] == [
        "1,000 cycles",
        "1,000 cycles, extrapolated from a sample of 4.00%: ± 1.5 %",
    ]


def test_the_baselines_curves_are_light_and_its_boundary_named(make_experiment):
    shown = regimes.curves(make_experiment(seq=4096))
    base = regimes.curves(what_if.applied(shown.experiment, {"l2.effective_bytes": "10MiB"}))
    marks = {
        "boundary": shown.boundary_tokens,
        "live_boundary": shown.live_boundary_tokens,
        "waves": shown.wave_steps,
        "length": shown.length,
        "baseline": base.boundary_tokens,
    }
    chart = regimes_figure.figure(shown.points, NAMES, marks, [], [], "tokens", "title", baseline=base.points)
    light = [trace for trace in chart.data if trace.opacity]
    assert [trace.showlegend for trace in light].count(True) == 1 and all(trace.opacity < 0.5 for trace in light)
    assert any(note.text.strip() == "Eq. (4), baseline: 20,480" for note in chart.layout.annotations)
    said = regimes_words.against(shown, base)
    assert "from 20,480 to 51,200 tokens (+30,720 tokens, +150.0 %)" in said[0]
    assert "(+" not in said[1] and " %)" in said[1]  # a larger cache never moves more bytes


def test_a_boundary_beyond_the_range_is_said_so(make_experiment):
    shown = regimes.curves(make_experiment(seq=4096))
    large = {"l2.bytes": "100GiB", "l2.effective_bytes": "100GiB"}
    said = regimes_words.against(shown, regimes.curves(what_if.applied(shown.experiment, large)))
    assert "moves from 209,715,200 to 51,200 tokens" in said[0]  # 100 GiB / 512 B a token
    assert "all heads in flight moves from beyond 1M to 51,200 tokens" in said[0]


def test_the_same_run_as_baseline_says_that_nothing_differs(make_experiment):
    shown = regimes.curves(make_experiment(seq=4096))
    said = regimes_words.against(shown, shown)
    assert "stays at 51,200 tokens" in said[0] and said[1].endswith("is the baseline's at every length.")


def test_the_download_tells_both_runs_apart(make_experiment):
    shown = regimes.curves(make_experiment(seq=4096))
    found = regimes.rows(shown, [], [], regimes.curves(make_experiment("llama3-70b", seq=4096)))
    assert {(row["run"], row["llm"]) for row in found} == {("this", "llama3-8b"), ("baseline", "llama3-70b")}


def test_the_roofline_draws_the_baselines_dots_light(make_experiment):
    now = compare.records([make_experiment(seq=4096)], CLOSED[:1])
    then = compare.records([make_experiment(seq=512)], CLOSED[:2])
    light = rooflines.dots_of({record["estimator"]: record for record in then}, now)
    assert {dot["estimator"] for dot in light} == {"simfa-python"}
    caps = rooflines.ceilings(make_experiment(seq=4096))
    chart = roofline.figure(caps, rooflines.dots(now), MARKS, "title", light)
    drawn = [trace for trace in chart.data if trace.opacity]
    assert [trace.x[0] for trace in drawn] == [dot["intensity"] for dot in light]
