"""The softmax bubble of section 5.2, step by step."""

from presets import loader
from presets.specs import GpuSpec
from simfa.validation import softmax


def test_the_rates_give_the_papers_988_cycles() -> None:
    found = {point.label: (point.reference, point.model) for point in softmax.study().points}
    assert found["all steps"] == (988, 988)
    assert all(reference == model for reference, model in found.values())
    assert sum(model for name, (_, model) in found.items() if name != "all steps") == 988


def test_a_slower_mufu_is_seen() -> None:
    slow = loader.override(loader.load(GpuSpec, "h800"), {"alu.mufu_op_per_cycle": "8"})
    found = softmax.study(slow)
    assert found.summary()["worst_at"] == "exp"
    assert found.points[-1].model == 988 + 704
