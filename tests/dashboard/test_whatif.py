"""What can be changed: every preset value, with unit, bounds and source."""

from dashboard import whatif
from dashboard.recipe import Recipe
from presets.loader import leaf_keys
from presets.specs import GpuSpec, KernelSpec, LlmSpec

KNOWN = whatif.editables(Recipe())


def test_every_preset_value_can_be_changed():
    assert set(KNOWN) == {key for kind in (GpuSpec, KernelSpec, LlmSpec) for key in leaf_keys(kind)}


def test_value_unit_bounds_and_source_stand_beside_it():
    found = KNOWN["l2.effective_bytes"]
    assert (found.typed, found.shown) == ("25MiB", "25 MiB")
    assert found.bounds == "above 0 B, at most l2.bytes"
    assert KNOWN["l2.bytes"].bounds == "above 0 B, at most 1,024 TiB"
    assert found.origin.startswith("published: Sim-FA paper, section 6.2.2")
    assert "Eq. (4)" in found.meaning
    assert KNOWN["l2.line_bytes"].bounds == "one of 32, 64, 128, 256"
    assert KNOWN["sm.scheduler"].bounds == "one of gto, lrr"
    assert KNOWN["sm.issue_per_cycle"].bounds == "at least 1, at most 4"
    assert KNOWN["pipeline.ping_pong"].bounds == "true or false"
    assert KNOWN["l2_timing.remote_copy_probability"].bounds == "at least 0, at most 1"
    assert KNOWN["l2.clock_hz"].shown == "1.755 GHz", "the calibrated set has an L2 clock of its own"
    assert whatif.editables(Recipe(params="paper"))["l2.clock_hz"].shown == "absent"


def test_the_preset_value_typed_again_changes_nothing():
    present = {key: found for key, found in KNOWN.items() if found.typed and found.shown != "absent"}
    text = "\n".join(f"{key}={found.typed}" for key, found in present.items())
    before, after = Recipe().experiment(), Recipe(set=text).experiment()
    assert after.model_dump() == before.model_dump()
    assert not any(whatif.is_changed(found, found.typed) for found in present.values())


def test_what_is_changed_already_does_not_move_the_preset_value():
    assert whatif.editables(Recipe(set="l2.effective_bytes=20MiB"))["l2.effective_bytes"].typed == "25MiB"


def test_lines_are_added_replaced_and_taken_out_beside_others():
    text = whatif.with_value("l2.bytes=1GiB\nnonsense", "tma.inflight_lines", "128")
    assert text == "l2.bytes=1GiB\nnonsense\ntma.inflight_lines=128"
    assert whatif.with_value(text, "l2.bytes", "2GiB").startswith("l2.bytes=2GiB\nnonsense")
    assert whatif.with_value(text, "l2.bytes", None) == "nonsense\ntma.inflight_lines=128"
    twice = "l2.bytes=1GiB\nlayers=2\n l2.bytes = 2GiB"
    assert whatif.with_value(twice, "l2.bytes", "3GiB") == "l2.bytes=3GiB\nlayers=2", (
        "one value, whichever was meant"
    )
    assert whatif.with_value(twice, "l2.bytes", None) == "layers=2"
    assert whatif.changes(text) == {"l2.bytes": "1GiB", "tma.inflight_lines": "128"}


def test_a_wrong_value_is_said_at_its_row_only():
    settings = {"tma.inflight_lines": "0", "l2.bytes": "100MiB"}
    assert "greater than 0 (got 0)" in whatif.problem(Recipe(), settings, "tma.inflight_lines")
    assert whatif.problem(Recipe(), settings, "l2.bytes") == ""
