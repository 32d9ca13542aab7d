"""The kernels that the end-to-end studies are about."""

from presets import loader
from presets.arguments import bare_shape, build
from presets.specs import GpuSpec, KernelSpec
from simfa import coverage
from simfa.validation import cases


def test_sixteen_kernels_ran_at_a_locked_clock() -> None:
    rows = cases.locked()
    assert len(rows) == 16
    assert len({cases.fa3_label(row) for row in rows}) == 16
    assert cases.fa3_label(rows[0]) == "D64, 512 tokens, batch 16, no mask"
    assert {row["seq_q"] for row in cases.locked(("2048",))} == {"2048"}


def test_sources_without_a_clock_and_the_kernels_of_gb10() -> None:
    assert [len(cases.unlocked(source)) for source in cases.UNLOCKED_SOURCES] == [24, 6]
    assert all(row["clock_mhz"] == "" for source in cases.UNLOCKED_SOURCES for row in cases.unlocked(source))
    assert [int(row["seq_q"]) for row in cases.gb10()] == [1024, 2048, 4096, 4096]
    assert len(cases.gb10(longest=8192)) == 5


def launch(gpu: str = "h100-sxm", chosen: str = "calibrated", settings: dict | None = None, **changes: object):
    shape = {"heads_q": 16, "heads_kv": 16, "head_dim": 128} | {
        key: changes.pop(key) for key in ("heads_q", "heads_kv", "head_dim") if key in changes
    }
    spec = loader.load(GpuSpec, gpu)
    seq = changes.pop("seq", 2048)
    work = {"seq_q": seq, "seq_kv": seq, "batch": 4} | changes
    kernel = loader.load(KernelSpec, spec.default_kernel)
    return build(bare_shape(**shape), spec, kernel, settings or {}, chosen, **work)


def test_only_what_was_held_against_kernels_counts_as_validated() -> None:
    assert coverage.validated(launch())
    assert coverage.validated(launch(head_dim=64, causal=True, seq=8192))
    assert coverage.validated(launch(settings={"sm.clock_hz": "1500MHz"}))  # the clock is the experiment's own
    outside = [
        launch(chosen="paper"),
        launch(settings={"l2.bytes": "100MiB"}),
        launch(seq=131_072),
        launch(head_dim=256),
        launch(dtype="bf16"),
        launch(heads_q=64, heads_kv=8),
        launch(gpu="h800"),
        launch(gpu="gb10", chosen="paper", dtype="bf16", head_dim=256),
    ]
    assert not any(coverage.validated(one) for one in outside)


def test_validated_agrees_with_what_standing_says() -> None:
    for one in (launch(), launch(seq=16_384), launch(chosen="paper"), launch(gpu="h800")):
        assert coverage.validated(one) == (", held against" in coverage.standing(one))
