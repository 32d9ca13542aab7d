"""Preset files and overrides: one path of checks; every refusal names file, key, value and what is allowed."""

from pathlib import Path

import pytest

from presets import loader
from presets.errors import PresetError
from presets.specs import GpuSpec, KernelSpec, LlmSpec, Spec

SOURCE = 'label = "measured", source = "a test"'
LLM = """
name = "mine"
title = "Mine"
heads_q = { value = 32, label = "published", source = "a test" }
heads_kv = { value = 8, label = "published", source = "a test" }
head_dim = { value = 96, label = "inferred", source = "a test" }
"""


def write(folder: Path, text: str, name: str = "mine.toml") -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def refusal(kind: type[Spec], name: str) -> str:
    with pytest.raises(PresetError) as caught:
        loader.load(kind, name)
    return str(caught.value)


def test_a_users_own_file_loads_by_path(tmp_path: Path) -> None:
    llm = loader.load(LlmSpec, write(tmp_path, LLM))
    assert (llm.name, llm.heads_q, llm.heads_kv, llm.head_dim, llm.layers) == ("mine", 32, 8, 96, None)
    assert llm.provenance["head_dim"].label == "inferred"


def test_a_file_that_builds_on_a_shipped_preset_lists_only_what_differs(tmp_path: Path) -> None:
    gpu = loader.load(
        GpuSpec, write(tmp_path, f'base = "h800"\n[sm]\ncount = {{ value = 144, {SOURCE} }}', "big.toml")
    )
    assert (gpu.sm.count, gpu.l2.slices) == (144, 80)
    assert gpu.provenance["sm.count"].source == "a test"
    assert gpu.provenance["l2.slices"] == loader.load(GpuSpec, "h800").provenance["l2.slices"]
    assert (gpu.name, gpu.title, gpu.note) == ("big", "big", ""), "never under the base's own name"


def test_a_base_may_lie_beside_its_file(tmp_path: Path) -> None:
    write(tmp_path, LLM, "base.toml")
    derived = write(tmp_path, f'base = "base.toml"\nname = "x"\nhead_dim = {{ value = 64, {SOURCE} }}', "x.toml")
    llm = loader.load(LlmSpec, derived)
    assert (llm.name, llm.heads_q, llm.head_dim) == ("x", 32, 64)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("heads_kv =", "head_kv =", ["unknown key 'head_kv'", "Did you mean 'heads_kv'", "Allowed: head_dim"]),
        ("heads_kv =", "[l2.bytes]\nx =", ["unknown key 'l2.bytes.x'", "Allowed: head_dim"]),
        ('title = "Mine"', 'title = "Mine"\n[sm]', ["sm.heads_q", "unknown key"]),
        ('head_dim = { value = 96, label = "inferred", source = "a test" }', "", ["head_dim: missing key"]),
        ('name = "mine"', "", ["name: missing key"]),
        ('name = "mine"', "name = 7", ["name", "valid string", "7"]),
        ('name = "mine"', "name = { x = 1 }", ["name", "valid string"]),
        ("value = 96", "value = -96", ["head_dim", "greater than 0", "-96"]),
        ("value = 96", "value = 0", ["head_dim", "greater than 0", "got 0"]),
        ("value = 96", "value = 2048", ["head_dim", "less than or equal to 1024", "2048"]),
        ("value = 96", 'value = "96"', ["head_dim", "valid integer", "'96'"]),
        ("value = 96", "value = 96.0", ["head_dim", "valid integer", "96.0"]),
        ("value = 96", "value = true", ["head_dim", "valid integer", "True"]),
        ("value = 96", "value = nan", ["head_dim", "nan"]),
        ("value = 96", "value = inf", ["head_dim", "inf"]),
        ("value = 32", "value = 30", ["heads_q (30)", "multiple of heads_kv (8)", "1, 2, 3, 5, 6, 10, 15, 30"]),
        ('"inferred"', '"guessed"', ["head_dim", "'guessed'", "measured, published, fitted, informed, inferred"]),
        ('"inferred"', '"override"', ["head_dim", "'override'", "measured, published, fitted, informed, inferred"]),
        (
            'label = "inferred", ',
            "",
            ["head_dim", "label is None", "measured, published, fitted, informed, inferred"],
        ),
        (', source = "a test" }\nhead_dim', " }\nhead_dim", ["heads_kv", "source is missing"]),
        ('"inferred", source = "a test"', '"inferred", source = " "', ["head_dim", "source is missing"]),
        ("value = 96", "value = 96, unit = 1", ["head_dim", "unknown field 'unit'", "label, source, value"]),
        ('{ value = 96, label = "inferred", source = "a test" }', "96", ["head_dim", "value = 96", "label"]),
        ("value = 96", "value = ", ["not valid TOML", "line 6"]),
    ],
)
def test_a_bad_file_is_refused_in_words(tmp_path: Path, old: str, new: str, words: list[str]) -> None:
    assert old in LLM
    message = refusal(LlmSpec, write(tmp_path, LLM.replace(old, new, 1)))
    for word in ["mine.toml", *words]:
        assert word in message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[sm]\nclock_hz = { value = inf, X }", ["sm.clock_hz", "finite", "inf"]),
        ("[sm]\nclock_hz = { value = -1.0, X }", ["sm.clock_hz", "greater than 0", "-1.0"]),
        ("[dram]\nlatency_s = { value = nan, X }", ["dram.latency_s", "finite", "nan"]),
        ("[l2]\nline_bytes = { value = 100, X }", ["l2.line_bytes", "32, 64, 128 or 256", "100"]),
        ("[l2]\nbytes = { value = 1000, X }", ["l2.effective_bytes (25 MiB) must not exceed l2.bytes (1,000 B)"]),
        ("l2 = { value = 5, X }", ["unknown key 'l2'"]),
        ("provenance = { value = 5, X }", ["unknown key 'provenance'"]),
        ("[l3]", ["l3", "empty section"]),
        ("sm = []", ["sm", "value ="]),
    ],
)
def test_a_bad_gpu_file_is_refused_in_words(tmp_path: Path, text: str, words: list[str]) -> None:
    message = refusal(GpuSpec, write(tmp_path, 'base = "h800"\n' + text.replace("X", SOURCE)))
    for word in ["mine.toml", *words]:
        assert word in message


def test_bases_in_a_circle_are_named(tmp_path: Path) -> None:
    write(tmp_path, 'base = "a.toml"', "b.toml")
    message = refusal(LlmSpec, write(tmp_path, 'base = "b.toml"', "a.toml"))
    assert "circle: a.toml -> b.toml -> a.toml" in message


def test_a_base_that_is_nowhere_is_named_with_its_file(tmp_path: Path) -> None:
    message = refusal(GpuSpec, write(tmp_path, 'base = "h80"'))
    assert "mine.toml: base: unknown preset 'h80'. Did you mean 'h800'?" in message
    assert "base must be the name" in refusal(GpuSpec, write(tmp_path, "base = 5"))


def test_a_wrong_name_a_missing_file_and_a_binary_file_are_refused(tmp_path: Path) -> None:
    assert "unknown llm 'llama3-8'. Did you mean 'llama3-8b'?" in refusal(LlmSpec, "llama3-8")
    assert "llama3-70b, llama3-8b, llama3.1-405b" in refusal(LlmSpec, "gpt")
    assert "no such preset file" in refusal(LlmSpec, str(tmp_path / "absent.toml"))
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    assert "binary.toml: cannot be read" in refusal(LlmSpec, str(tmp_path / "binary.toml"))


def test_consumers_must_share_the_query_rows(tmp_path: Path) -> None:
    message = refusal(
        KernelSpec, write(tmp_path, f'base = "fa3"\n[tile]\nquery_rows = {{ value = 127, {SOURCE} }}')
    )
    assert "tile.query_rows (127) must be a multiple of pipeline.consumer_warpgroups (2)" in message


def overridden(name: str, **settings: str) -> GpuSpec:
    return loader.override(loader.load(GpuSpec, name), {k.replace("__", "."): v for k, v in settings.items()})


@pytest.mark.parametrize("same", ["25MiB", "26214400", "25600KiB"])
def test_a_value_set_to_what_the_preset_has_keeps_its_source(same: str) -> None:
    gpu = overridden("h800", l2__effective_bytes=same)
    assert gpu == loader.load(GpuSpec, "h800")
    assert overridden("h800", l2__bytes="50MiB") == loader.load(
        GpuSpec, "h800"
    )  # what follows it does not move either


def test_the_instruction_said_again_still_tells_of_another_kernel() -> None:
    kernel = loader.override(loader.load(KernelSpec, "cutile-fa"), {"instruction": "mma.sync"})
    assert kernel.provenance["instruction"].label == "override"


def test_an_override_goes_through_the_same_checks() -> None:
    gpu = overridden("h800", sm__clock_hz="1.5GHz", launch__floor_s="2.5us", l2_timing__slice_hash="modulo")
    assert (gpu.sm.clock_hz, gpu.launch.floor_s) == (1.5e9, 2.5e-6)
    assert gpu.l2_timing is not None
    assert gpu.l2_timing.slice_hash == "modulo"
    assert gpu.provenance["sm.clock_hz"].label == "override"
    assert gpu.provenance["sm.clock_hz"].source == "--set sm.clock_hz=1.5GHz"
    assert gpu.provenance["sm.count"].label == "published"
    assert gpu.name == "h800"


def test_effective_bytes_keep_their_share_of_the_l2() -> None:
    assert overridden("h800", l2__bytes="100MiB").l2.effective_bytes == 50 * 2**20
    assert overridden("gb10", l2__bytes="48MiB").l2.effective_bytes == 48 * 2**20
    assert overridden("h800", l2__bytes="100MiB", l2__effective_bytes="30MiB").l2.effective_bytes == 30 * 2**20
    assert overridden("h800", l2__effective_bytes="25e6").l2.bytes == 50 * 2**20
    assert "scaled with l2.bytes" in overridden("h800", l2__bytes="100MiB").provenance["l2.effective_bytes"].source


@pytest.mark.parametrize(
    ("key", "text", "words"),
    [
        ("l2.byts", "5", ["unknown key 'l2.byts'", "Did you mean 'l2.bytes'?", "Allowed: alu."]),
        ("heads_q", "5", ["unknown key 'heads_q'"]),
        ("name", "x", ["unknown key 'name'"]),
        ("provenance", "x", ["unknown key 'provenance'"]),
        ("l2.bytes", "-5", ["l2.bytes: input should be greater than 0 (got -5)"]),
        (
            "l2.bytes",
            "many",
            ["l2.bytes: input should be a size such as 25MiB or 26214400, in whole bytes", "'many'"],
        ),
        ("l2.bytes", "true", ["l2.bytes", "a size such as 25MiB", "True"]),
        ("l2.bytes", "1.5", ["l2.bytes", "a size such as 25MiB", "1.5"]),
        ("l2.bytes", "1__0", ["l2.bytes", "a size such as 25MiB", "'1__0'"]),
        ("l2.bytes", "2GHz", ["l2.bytes is in bytes", "'2GHz' is in hz"]),
        ("sm.clock_hz", "nan", ["sm.clock_hz", "valid number", "'nan'"]),
        ("sm.clock_hz", "1e999", ["sm.clock_hz", "finite"]),
        ("l2_timing.slice_hash", "sha", ["l2_timing.slice_hash", "'xor' or 'modulo'", "'sha'"]),
        ("l2.effective_bytes", "60MiB", ["l2.effective_bytes (60 MiB) must not exceed l2.bytes (50 MiB)"]),
        ("l2.effective_bytes", "100000MiB", ["l2.effective_bytes (100,000 MiB) must not exceed l2.bytes (50 MiB)"]),
        ("l2.bytes", "2000TiB", ["l2.bytes: input should be at most 1,024 TiB"]),
    ],
)
def test_a_bad_override_is_refused_in_one_line(key: str, text: str, words: list[str]) -> None:
    with pytest.raises(PresetError) as caught:
        loader.override(loader.load(GpuSpec, "h800"), {key: text})
    message = str(caught.value)
    assert "\n" not in message
    for word in ["--set", *words]:
        assert word in message


def test_a_section_the_gpu_lacks_cannot_be_set_in_part() -> None:
    with pytest.raises(PresetError, match=r"has no section 'latency_probe'.*latency_probe\.load_path_cycles"):
        overridden("gb10", latency_probe__mbarrier_wait_cycles="32")


def test_a_section_the_gpu_lacks_can_be_set_as_a_whole() -> None:
    whole = {
        "latency_probe.load_path_cycles": "40",
        "latency_probe.mbarrier_wait_cycles": "64",
        "latency_probe.shared_memory_load_cycles": "29",
    }
    gb10 = loader.override(loader.load(GpuSpec, "gb10"), whole)
    assert gb10.latency_probe is not None and gb10.latency_probe.mbarrier_wait_cycles == 64
