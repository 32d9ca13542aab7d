"""One experiment: what a GPU's share of the heads is, what is outside validation, what is refused."""

import pytest

from presets import loader
from presets.errors import PresetError
from presets.experiment import MAX_LENGTH, Experiment, make_experiment, make_workload
from presets.specs import GpuSpec, KernelSpec, LlmSpec


def experiment(llm: str = "llama3-8b", gpu: str = "h800", kernel: str = "fa3", **workload: object) -> Experiment:
    work = make_workload(**({"seq_q": 4096, "seq_kv": 4096} | workload))
    return make_experiment(
        loader.load(LlmSpec, llm), loader.load(GpuSpec, gpu), loader.load(KernelSpec, kernel), work
    )


def test_tensor_parallel_divides_both_kinds_of_heads() -> None:
    shared = experiment("llama3.1-405b", tensor_parallel=8)
    assert (shared.heads_q, shared.heads_kv) == (16, 1)
    assert experiment("llama3.1-405b").heads_q == 128


@pytest.mark.parametrize("ways", [3, 16, 32])
def test_heads_that_do_not_divide_are_refused(ways: int) -> None:
    with pytest.raises(PresetError) as caught:
        experiment(tensor_parallel=ways)
    assert str(caught.value).startswith(f"--tensor-parallel: {ways} does not divide heads_")
    assert "of llama3-8b; allowed: 1, 2, 4, 8" in str(caught.value)


@pytest.mark.parametrize(("dtype", "size"), [("fp8", 1), ("fp16", 2), ("bf16", 2), ("fp32", 4)])
def test_precision(dtype: str, size: int) -> None:
    assert experiment(dtype=dtype).precision_bytes == size


@pytest.mark.parametrize(
    ("seq_q", "seq_kv", "decode"),
    [(1, 4096, True), (127, 4096, True), (128, 4096, False), (64, 64, False), (1, 1, False), (4096, 4096, False)],
)
def test_decode_is_fewer_query_rows_than_a_tile(seq_q: int, seq_kv: int, decode: bool) -> None:
    case = experiment(seq_q=seq_q, seq_kv=seq_kv)
    assert case.is_decode is decode
    assert any("outside the validated range" in caution for caution in case.cautions()) is decode


def test_cautions_are_silent_inside_the_validated_range() -> None:
    assert experiment().cautions() == []
    assert experiment(gpu="gb10", kernel="cutile-fa").cautions() == []


def test_cautions_name_shared_memory_and_instruction() -> None:
    # 4 B x 128 x 832 rows = 425,984 B, beyond 227 KiB = 232,448 B
    (caution,) = experiment(dtype="fp32").cautions()
    assert "425,984 B" in caution
    assert "232,448 B" in caution
    assert "fa3 is built on wgmma; gb10 runs mma.sync" in experiment(gpu="gb10").cautions()


@pytest.mark.parametrize(
    ("workload", "words"),
    [
        ({"seq_q": -5, "seq_kv": -5}, "--seq: -5 is out of range; allowed: 1 to 16,777,216"),
        ({"seq_q": 0}, "--seq: 0 is out of range"),
        ({"seq_kv": 0}, "--seq-kv: 0 is out of range"),
        ({"seq_kv": MAX_LENGTH + 1}, "--seq-kv: 16777217 is out of range"),
        ({"batch": 0}, "--batch: 0 is out of range; allowed: 1 to 65,536"),
        ({"tensor_parallel": 0}, "--tensor-parallel: 0 is out of range; allowed: 1 to 1,024"),
        ({"dtype": "fp4"}, "--dtype: 'fp4' is not allowed; allowed: 'fp8', 'fp16', 'bf16' or 'fp32'"),
        ({"seq_kv": 1.5}, "--seq-kv: Input should be a valid integer (got 1.5)"),
        ({"heads": 1}, "--heads"),
    ],
)
def test_a_bad_workload_is_refused_in_one_line(workload: dict[str, object], words: str) -> None:
    with pytest.raises(PresetError) as caught:
        experiment(**workload)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_experiment_never_changes() -> None:
    with pytest.raises(ValueError, match="frozen"):
        experiment().workload.batch = 2  # type: ignore[misc]


def test_words() -> None:
    case = experiment("llama3-70b", seq_q=512, tensor_parallel=2)
    assert case.words() == (
        "Llama 3 70B, 512 x 4,096 tokens, batch 1, FP16, tensor parallel 2, NVIDIA H800 SXM5, FlashAttention-3, "
        "paper parameters"
    )
