"""Windows, alignment and second runs of the Timeline page, by hand and against the simulator's own counts."""

import pytest

from dashboard import align, shown, spans, what_if, window
from dashboard.recipe import Recipe
from dashboard.shown import Shown
from dashboard.window import Window
from presets.errors import PresetError
from simfa import simulate
from tests.dashboard.conftest import experiment


def span(row, activity, start, end, cta=0, category="compute"):
    return {
        "row": row,
        "activity": activity,
        "category": category,
        "start_cycle": start,
        "end_cycle": end,
        "issued_cycle": start,
        "cta": cta,
    }


HAND = spans.frame(
    [
        span("consumer 1", "wait for K", 0, 50, category="wait"),
        span("consumer 1", "softmax", 50, 90, category="softmax"),
        span("consumer 1", "softmax", 150, 190, category="softmax"),
        span("tensor core", "QK GEMM, consumer 1", 40, 60),
        span("producer", "wait for a free K stage", 0, 200, category="wait"),
        span("MUFU, consumer 1", "exp, consumer 1", 55, 85, category="softmax"),
        span("consumer 1", "softmax", 300, 340, cta=7, category="softmax"),
    ]
)
LEVELS = spans.table(
    {
        "start_cycle": [0, 100, 200],
        "end_cycle": [100, 200, 250],
        "sm_tma_lines": [10.0, 20.0, 40.0],
        "l2_backlog_cycles": [0.0, 1.0, 0.0],
        "dram_backlog_cycles": [0.0, 0.0, 0.0],
    }
)


@pytest.fixture(scope="module")
def run():
    todo = experiment(seq=1024)
    return Shown(todo, spans.answer(todo, simulate.run(todo, timeline_sm=2)), "This experiment")


def test_spans_are_clipped_to_the_window():
    use = window.use(HAND, LEVELS, Window(50, 150))
    assert use.tensor_core == pytest.approx(0.10)
    assert use.mufu == pytest.approx(0.30)
    assert (use.producer_waiting, use.consumers_waiting) == (1.0, 0.0)
    assert use.tma_lines == pytest.approx(15)
    assert use.l2_backlog_cycles == pytest.approx(0.5)


def test_a_level_outside_the_run_counts_only_where_the_run_lasted():
    assert window.level(LEVELS, "sm_tma_lines", Window(200, 1000)) == pytest.approx(40)
    assert window.level(LEVELS, "sm_tma_lines", Window(-50, 0)) == 0


@pytest.mark.parametrize(
    ("window", "expected"),
    [((-50, 50), (0, 100)), ((950, 1050), (900, 1000)), ((300, 400), (300, 400)), ((-500, 1500), (-500, 1500))],
)
def test_a_window_is_moved_into_the_run(window, expected):
    assert Window(*window).within(Window(0, 1000)) == Window(*expected)


def test_a_warpgroups_shares_add_up_to_one():
    table = window.warpgroups(HAND, Window(0, 200))
    assert table["consumer 1"].to_dict() == pytest.approx(
        {"wait for a free K stage": 0, "wait for K": 0.25, "softmax": 0.4, window.REST: 0.35}
    )
    assert table.sum().tolist() == pytest.approx([1, 1])


def test_an_empty_window_has_no_shares():
    assert window.use(HAND, LEVELS, Window(1000, 2000)).tensor_core == 0
    assert window.shares(HAND, Window(10, 10)).to_numpy().sum() == 0


def test_waits_of_the_whole_run_are_the_stall_cycles_of_its_ctas(run):
    whole = Window(0, run.answer["record"]["cycles"])
    table = window.warpgroups(run.spans, whole) * whole.cycles
    ctas = run.answer["ctas"]
    mine = ctas[ctas["sm"] == 2]
    for role in ("producer", "consumer 1", "consumer 2"):
        waits = table.loc[table.index.str.startswith("wait"), role].sum()
        assert waits == pytest.approx(mine[f"{role.replace(' ', '_')}_stall_cycles"].sum())


def test_the_tensor_core_is_as_busy_as_the_record_says_on_average(run):
    use = run.use(Window(0, run.answer["record"]["cycles"]))
    assert use.tensor_core == pytest.approx(run.answer["record"]["tensor_core_utilization"], rel=0.15)


def test_a_place_is_a_ctas_start_or_a_tiles_softmax():
    assert align.origin(HAND, align.START, 5, 5) == 0
    assert align.origin(HAND, align.CTA, 2, 1) == 300
    assert [align.origin(HAND, align.TILE, 1, tile) for tile in (1, 2)] == [50, 150]


@pytest.mark.parametrize(
    ("place", "cta", "tile", "words"),
    [
        (align.CTA, 3, 1, "the SM ran 2 CTAs, there is no CTA 3; choose 1 to 2"),
        (align.TILE, 1, 3, "CTA 1 has 2 K/V tiles, there is no tile 3"),
        (align.TILE, 1, 0, "there is no tile 0"),
    ],
)
def test_a_place_that_is_not_there_is_said(place, cta, tile, words):
    with pytest.raises(PresetError, match=words):
        align.origin(HAND, place, cta, tile)


def test_every_tile_of_a_real_cta_is_found(run):
    ctas = align.ctas_of(run.spans)
    of_table = run.answer["ctas"].set_index("cta")
    assert of_table.loc[ctas, "start_cycle"].is_monotonic_increasing
    for cta in ctas:
        assert len(align.tiles_of(run.spans, cta)) == of_table.loc[cta, "kv_tiles"]


def test_the_first_view_starts_before_an_aligned_place(run):
    assert shown.view([run], 0.0).start_cycle == 0
    tile = run.aligned(align.TILE, 1, 2)
    assert -5000 < shown.view([tile], 0.0).start_cycle < 0
    whole = shown.view([run, tile], None)
    assert whole.start_cycle == pytest.approx(-tile.origin_cycle, abs=50)
    assert run.use(Window(0, 9000)) == tile.use(Window(-tile.origin_cycle, 9000 - tile.origin_cycle))


def test_a_second_run_is_the_experiment_with_its_what_ifs():
    todo = experiment()
    second = what_if.changed(todo, " tma.inflight_lines=128; l2.bytes=100MiB,tile.kv_rows=128")
    assert second.gpu.tma.inflight_lines == 128 and second.gpu.l2.bytes == 100 * 2**20
    assert second.kernel.tile.kv_rows == 128 and second.workload == todo.workload
    assert what_if.changed(todo, " ") is None
    assert what_if.changed(todo, "l2.bytes=100 MiB").gpu.l2.bytes == 100 * 2**20


def test_a_what_if_keeps_the_parameter_set():
    todo = Recipe(params="calibrated").experiment()
    for second in (what_if.changed(todo, "tma.inflight_lines=128"), what_if.applied(todo, {"sm.count": "100"})):
        assert second is not None and second.params == "calibrated" and "calibrated" in second.words()
        assert second.kernel == todo.kernel and second.gpu.l2_timing == todo.gpu.l2_timing


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tma.inflight=128", "Did you mean 'tma.inflight_lines'"),
        ("tma.inflight_lines", "KEY=VALUE"),
        ("tma.inflight_lines=0", "tma.inflight_lines"),
        ("tma.inflight_lines=many", "tma.inflight_lines"),
    ],
)
def test_a_wrong_second_run_is_said(text, words):
    with pytest.raises(PresetError, match=words):
        what_if.changed(experiment(), text)


@pytest.fixture(scope="module")
def calibrated():
    todo = Recipe(seq=512).experiment()
    return Shown(todo, spans.answer(todo, simulate.run(todo, timeline_sm=0)), "Calibrated")


def test_a_share_of_the_cycles_stands_beside_their_time_and_the_launch_apart(calibrated):
    record = calibrated.answer["record"]
    run_us, launch_us = record["cycles"] / 1830, record["latency_us"] - record["cycles"] / 1830
    assert launch_us == pytest.approx(3.67)  # fitted, of the calibrated parameter set
    assert f"of {run_us:.3g} µs ({record['latency_us']:.3g} µs with the launch)" in shown.title([calibrated])


def test_the_note_says_whether_consumers_share_the_mufu(run, calibrated):
    assert "does not share the MUFU" in shown.note([run])
    assert "bubble" not in shown.note([calibrated]) and "exponentials, which share it" in shown.note([calibrated])
    both = shown.note([run, calibrated])
    assert "This experiment: the exponentials' part" in both and "Calibrated: the phases" in both


def test_titles_and_windows_say_what_is_seen_in_both_units(run):
    whole, run_us = run.use(Window(0, run.answer["record"]["cycles"])), run.answer["record"]["cycles"] / 1830
    assert shown.title([run]).startswith(f"SM 2: tensor core busy {whole.tensor_core:.0%} of {run_us:#.3g} µs †, ")
    words = shown.window_words(Window(0, 1830), [run], selected=True)
    assert words == "Selected window: 1,830 cycles (1.000 µs), from 0 to 1,830 (0.000 to 1.000 µs)"
    table = shown.utilization([run], Window(0, 9000))
    assert table.loc["This experiment", "TMA lines in flight"].endswith(" of 64")
