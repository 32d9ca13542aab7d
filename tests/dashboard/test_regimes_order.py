"""What the Regimes page says of launch order: heads in flight here and at its landmarks, each by hand."""

import numpy as np
import pytest

from analytical import along, launch_order, simfa_python
from analytical.launch_order import Order
from dashboard import regimes, regimes_words, what_if
from dashboard.recipe import Recipe

SMALL = "l2.effective_bytes=1MiB;tile.query_rows=256"  # of the 405B model: 16 query heads to a KV head


def curves(llm="llama3-8b", seq=4096, settings="", **fields):
    case = Recipe(llm=llm, seq=seq, **fields).experiment()
    moved = dict(pair.split("=") for pair in settings.split(";") if pair)
    return regimes.curves(what_if.applied(case, moved) if moved else case)


def order_said(*args, **fields):
    return regimes_words.transition(curves(*args, **fields))[-1]


@pytest.mark.parametrize(
    ("fields", "parts"),
    [
        # 4 x 32 = 128 CTAs a head, 132 resident: 2 heads x 2 MiB. From 4,097 tokens on 132 CTAs a head: 1 head
        ({}, ["2 KV heads must stay in L2", ": 4 MiB of K/V fits the L2 of 25 MiB", "passed over 2 times"]),
        ({}, ["at 51,200 tokens, 1 KV head would fill the L2 of 25 MiB to the last byte."]),
        # 4 x 4 CTAs a head: 9 heads, there are 8, of 256 KiB; 128 CTAs all run at once
        ({"seq": 512}, ["8 KV heads are in flight: 2 MiB of K/V fits", "Each is passed over once", "10.5 MB"]),
        ({"seq": 512}, ["at 51,200 tokens, 1 KV head would fill"]),
        # head fastest: 8 heads at every length, 25 MiB / 8 / 512 B
        ({"settings": "pipeline.grid_order=head_fastest"}, ["at 6,400 tokens, 8 KV heads would fill the L2"]),
        # 16 x 16 = 256 CTAs a head: 1. Of 257 to 512 tokens 32 CTAs: ceil(132 / 32) = 5 heads, ceil(160 / 132) = 2
        # passes; 5 x 410 x 512 B = 1,049,600 B, 1,024 B above 1 MiB. Up to 256 tokens 8 x 16 CTAs run at once
        (
            {"llm": "llama3.1-405b", "settings": SMALL},
            ["1 KV head must stay", ": 2 MiB of K/V does not fit the L2 of 1 MiB"],
        ),
        (
            {"llm": "llama3.1-405b", "settings": SMALL},
            ["ideal line at 257 tokens, where 5 KV heads", "at 410 tokens, 5 KV heads of 1.001 MiB in all outgrow"],
        ),
    ],
)
def test_heads_here_and_where_the_l2_is_outgrown(fields, parts):
    said = order_said(**fields)
    assert all(part in said for part in parts), said


@pytest.mark.parametrize(
    ("fields", "parts"),
    [
        ({"settings": "pipeline.live_heads=2"}, ["(as asked), 2 KV heads must stay"]),
        (
            {"settings": "sm.count=1;pipeline.live_heads=8"},
            ["8 KV heads asked for, but only 1 CTA is resident, so at most 1 KV head is in flight), 1 KV head"],
        ),
        (
            {"llm": "llama3.1-405b", "settings": "sm.count=4;pipeline.live_heads=8"},
            [
                "but only 4 CTAs are resident, so at most 4 KV heads are in flight), 4 KV heads must",
                "at 12,800 tokens",
            ],
        ),
        (
            {"settings": "pipeline.live_heads=99"},
            ["(99 KV heads asked for, of which there are only 8), 8 KV heads"],
        ),
        ({}, ["(the grid runs block fastest)"]),
    ],
)
def test_what_decides_the_number_of_heads(fields, parts):
    said = order_said(**fields)
    assert all(part in said for part in parts), said


def test_more_heads_must_stay_than_are_in_flight():
    """Two CTAs run heads fastest: two heads at once, and all eight pass before the first comes again."""
    said = order_said(settings="sm.count=2;pipeline.grid_order=head_fastest", llm="llama3.1-405b")
    assert "8 KV heads must stay in L2 between passes (1 in flight at once, but all pass before" in said


def test_kv_that_fits_is_lost_where_sets_overflow():
    """Q and O tiles of 132 CTAs: 2 x 2 B x 132 x 128 x 128 = 8,650,752 B, 8.25 MiB."""
    said = order_said(seq=25_600)
    assert "26.2 % of K/V gone: 689 MB. L2 sets of 16 ways overflow one by one, and Q and O tiles" in said
    assert "tiles take 8.25 MiB beside it." in said and "overflow" not in order_said()


def test_one_pass_stays_on_the_ideal_line_whether_heads_fit_or_not():
    """One query token: a CTA for each group of heads, and 8 x 128 MiB of K/V."""
    shown = curves(seq=1, split=True, seq_kv=2**18)
    assert (shown.live_boundary_tokens, shown.off_ideal_tokens) == (None, None)
    said = regimes_words.transition(shown)[-1]
    assert "1,024 MiB of K/V does not fit the L2 of 25 MiB. Each is passed over once" in said
    assert said.endswith("up to 1M tokens, where 8 KV heads are passed over once.")


@pytest.mark.parametrize("llm", ["llama3-8b", "llama3.1-405b"])
@pytest.mark.parametrize(
    "settings",
    ["", SMALL, "l2.effective_bytes=3MiB;tile.query_rows=64", "pipeline.live_heads=3", "sm.count=7",
     "pipeline.grid_order=head_fastest;pipeline.kv_traversal=sawtooth"],
)  # fmt: skip
def test_landmarks_are_the_first_of_all_lengths(llm, settings):
    """Every length from 1 to 1M is tried: heads that fall in number make the L2 hold again what it did not."""
    shown = curves(llm, settings=settings)
    lengths = np.arange(1, regimes.LONGEST + 1)
    problem = simfa_python.changed(shown.experiment, **along.changes(lengths, True))
    flights = launch_order.in_flight(problem, Order.of(shown.experiment))
    for landmark, held in (
        (shown.live_boundary_tokens, flights.outgrown),
        (shown.off_ideal_tokens, flights.off_ideal),
    ):
        assert landmark == (int(lengths[np.argmax(held)]) if held.any() else None)


@pytest.mark.parametrize(
    ("seq", "said"),
    [
        # 512 B a token: one token of 51,200 is 0.0005 MiB of 25, and 0.002 %
        (51_199, ["26,213,888 B (24.9995 MiB); the effective L2 holds 26,214,400 B (25 MiB), so", "1 token below"]),
        (
            51_200,
            ["26,214,400 B (25 MiB); the effective L2 holds 26,214,400 B (25 MiB), no more, so", "exactly at"],
        ),
        (51_201, ["26,214,912 B (25.0005 MiB); the effective L2 holds 26,214,400 B (25 MiB), so", "1 token above"]),
        (51_202, ["(25.001 MiB)", "2 tokens above"]),
        (51_226, ["0.1 % above"]),  # 26 of 51,200 tokens: 0.0508 %
    ],
)
def test_numbers_that_differ_are_written_so_that_they_do(seq, said):
    shown = curves("llama3.1-405b", seq)
    found = " ".join(regimes_words.transition(shown) + regimes_words.warnings(shown))
    assert all(part in found for part in said), found
    assert "0.0 %" not in found and "25 MiB of K/V does not fit" not in found


def test_large_sizes_keep_all_digits_before_the_point():
    assert regimes_words.mib(2**40) == "1,048,576 MiB"
    assert regimes_words.apart(2**40, 2**40 + 2**20) == ("1,048,576 MiB", "1,048,577 MiB")
    assert regimes_words.apart(2**40, 2**40 + 2**19) == ("1,048,576 MiB", "1,048,576.5 MiB")
