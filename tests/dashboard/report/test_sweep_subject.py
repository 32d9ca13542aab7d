"""What a citation says of a sweep: enough to repeat it, without pages of values."""

import pytest

from dashboard.recipe import Recipe
from dashboard.report import sweep as report
from dashboard.sweep import plan

NUMBERS = list(plan.numeric_values(Recipe().experiment()))


@pytest.mark.parametrize("mode", [plan.GRID, plan.LIST])
def test_values_stand_there_as_they_were_typed_and_give_the_same_points(mode):
    made = plan.make(Recipe(), mode, "seq= 1024..4096*2 , 512\nl2.effective_bytes=10MiB..40MiB+10MiB")
    words = report.varied(made)
    assert words == f"varied as a {mode}: seq=1024..4096*2,512; l2.effective_bytes=10MiB..40MiB+10MiB"
    again = plan.make(Recipe(), mode, words.partition(": ")[2].replace("; ", "\n"))
    assert again.points == made.points


def test_very_many_values_are_shortened_and_counted():
    made = plan.make(Recipe(), plan.GRID, "batch=" + ",".join(str(n) for n in range(1, 101)))
    assert report.varied(made) == "varied as a grid: batch=1,2,...,100 (100 values)"


def test_few_keys_of_a_study_are_named_and_many_counted():
    few = plan.make(Recipe(), plan.SENSITIVITY, "l2.bytes,sm.count", 20)
    assert report.varied(few) == "varied one at a time by ± 20 %: l2.bytes, sm.count"
    every = report.varied(plan.make(Recipe(), plan.SENSITIVITY, ",".join(NUMBERS), 10))
    assert f"each of the {len(NUMBERS)} preset values that are numbers, by ± 10 %" in every
    some = report.varied(plan.make(Recipe(), plan.SENSITIVITY, ",".join(NUMBERS[:20]), 10))
    assert f"each of 20 of the {len(NUMBERS)} preset values" in some and max(map(len, (every, some))) < 120


def test_a_study_of_nothing_says_so():
    made = plan.make(Recipe(), plan.SENSITIVITY, "", 10)
    assert report.subject(made, [{}], "genz").endswith("; nothing varied")
    assert " over 1 point around " in report.subject(made, [{}], "genz")
