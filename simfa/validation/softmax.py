"""The softmax between two GEMMs as CUDA-core cycles: the paper's count of section 5.2, from the preset's rates."""

from presets import loader
from presets.specs import GpuSpec
from simfa.trace.bubbles import softmax_cycles
from simfa.validation.study import Point, Study

QUERY_ROWS, KV_ROWS, HEAD_DIM = 64, 176, 128  # T_M, T_N and D of section 5.2
PUBLISHED_CYCLES = {"rowmax": 88, "exp": 704, "rowsum": 88, "convert": 44, "rescale": 64, "all steps": 988}


def study(gpu: GpuSpec | None = None) -> Study:
    """Each step of one consumer warpgroup's softmax on one tile, and their sum."""
    alu = (gpu or loader.load(GpuSpec, "h800")).alu
    steps = softmax_cycles(alu, QUERY_ROWS, KV_ROWS, HEAD_DIM)
    ours = {**steps._asdict(), "all steps": steps.total}
    points = [
        Point(name, cycles, ours[name], "cycles", series="one tile of 64 x 176, D 128")
        for name, cycles in PUBLISHED_CYCLES.items()
    ]
    return Study(
        "softmax",
        "Softmax bubble of one tile from operation counts and rates (section 5.2)",
        "Sim-FA paper, section 5.2",
        "nothing",
        points,
        "The reference is the paper's arithmetic, not a measurement: this shows that the preset's rates give it.",
    )
