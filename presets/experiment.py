"""One experiment: a model's attention, on a GPU, by a kernel, for a workload. The input of every estimator."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, model_validator

from presets.errors import PresetError
from presets.specs import GpuSpec, KernelSpec, LlmSpec, Section

Params = Literal["paper", "calibrated"]
Dtype = Literal["fp8", "fp16", "bf16", "fp32"]
DTYPES: dict[str, int] = {"fp8": 1, "fp16": 2, "bf16": 2, "fp32": 4}
MAX_LENGTH = 2**24

Length = Annotated[int, Field(ge=1, le=MAX_LENGTH)]
ONE_LAYER = "one layer's attention forward pass"


class Workload(Section):
    """What one launch computes: batch B, query length L, K/V length S, mask, dtype, tensor parallelism."""

    batch: Annotated[int, Field(ge=1, le=65_536)] = 1
    seq_q: Length
    seq_kv: Length
    causal: bool = False
    dtype: Dtype = "fp16"
    tensor_parallel: Annotated[int, Field(ge=1, le=1024)] = 1


class Experiment(Section):
    """GpuSpec + LlmSpec + KernelSpec + Workload. Latencies are those of one layer's attention forward."""

    llm: LlmSpec
    gpu: GpuSpec
    kernel: KernelSpec
    workload: Workload
    params: Params = "paper"  # where the values of GPU and kernel come from
    sample: bool = False  # the cycle simulation answers by sampling, with an error, where the launch is long

    @model_validator(mode="after")
    def _heads_shared(self) -> "Experiment":
        ways = self.workload.tensor_parallel
        for key in ("heads_q", "heads_kv"):
            heads = getattr(self.llm, key)
            if heads % ways:
                allowed = ", ".join(str(n) for n in range(1, self.llm.heads_kv + 1) if self.llm.heads_kv % n == 0)
                model = self.llm.name or "the bare shape"
                raise ValueError(
                    f"--tensor-parallel: {ways} does not divide {key} {heads} of {model}; allowed: {allowed}"
                )
        return self

    @property
    def heads_q(self) -> int:
        """Query heads on one GPU."""
        return self.llm.heads_q // self.workload.tensor_parallel

    @property
    def heads_kv(self) -> int:
        """KV heads on one GPU."""
        return self.llm.heads_kv // self.workload.tensor_parallel

    @property
    def precision_bytes(self) -> int:
        """P of Table 1: bytes of one element of Q, K, V and O."""
        return DTYPES[self.workload.dtype]

    @property
    def is_decode(self) -> bool:
        """Fewer query rows than one tile against a longer K/V: no split over K/V is modelled for these."""
        return self.workload.seq_q < min(self.kernel.tile.query_rows, self.workload.seq_kv)

    def cautions(self) -> list[str]:
        """Why this experiment lies outside what was validated; empty when it does not."""
        found = []
        if self.is_decode:
            found.append("decode: no split over K/V is modelled; outside the validated range")
        need = self.kernel.shared_memory_bytes(self.llm.head_dim, self.precision_bytes)
        if need > self.gpu.sm.cta_shared_memory_bytes:
            found.append(
                f"the {self.kernel.name} tile needs {need:,} B of shared memory at head dimension "
                f"{self.llm.head_dim}; {self.gpu.name} allows {self.gpu.sm.cta_shared_memory_bytes:,} B per CTA"
            )
        if self.kernel.instruction != self.gpu.tensor.instruction:
            found.append(
                f"{self.kernel.name} is built on {self.kernel.instruction}; "
                f"{self.gpu.name} runs {self.gpu.tensor.instruction}"
            )
        return found

    def words(self) -> str:
        """The experiment as one line of words."""
        work = self.workload
        length = f"{work.seq_q:,}" if work.seq_q == work.seq_kv else f"{work.seq_q:,} x {work.seq_kv:,}"
        parts = [self.llm.title, f"{length} tokens", f"batch {work.batch}", work.dtype.upper()]
        parts += ["causal"] if work.causal else []
        parts += [f"tensor parallel {work.tensor_parallel}"] if work.tensor_parallel > 1 else []
        return ", ".join([*parts, self.gpu.title, self.kernel.title, f"{self.params} parameters"])


def make_workload(**values: object) -> Workload:
    """A checked Workload; PresetError names the option, its value and the allowed range."""
    try:
        return Workload.model_validate(values)
    except ValidationError as error:
        items = error.errors()
        if values.get("seq_q") == values.get("seq_kv"):
            items = [item for item in items if item["loc"] != ("seq_kv",)]
        raise PresetError("\n".join(map(_option_sentence, items))) from None


def make_experiment(
    llm: LlmSpec, gpu: GpuSpec, kernel: KernelSpec, workload: Workload, parameter_set: Params = "paper"
) -> Experiment:
    """A checked Experiment; PresetError where heads do not divide among GPUs."""
    try:
        return Experiment(llm=llm, gpu=gpu, kernel=kernel, workload=workload, params=parameter_set)
    except ValidationError as error:
        raise PresetError(error.errors()[0]["msg"].removeprefix("Value error, ")) from None


def _option_sentence(item: Mapping[str, Any]) -> str:
    key, bounds = str(item["loc"][0]), item.get("ctx", {})
    option = "--seq" if key == "seq_q" else "--" + key.replace("_", "-")
    if "ge" in bounds or "le" in bounds:
        field = Workload.model_fields[key].metadata
        low = next((m.ge for m in field if hasattr(m, "ge")), "")
        high = next((m.le for m in field if hasattr(m, "le")), "")
        return f"{option}: {item['input']!r} is out of range; allowed: {low} to {high:,}"
    if "expected" in bounds:
        return f"{option}: {item['input']!r} is not allowed; allowed: {bounds['expected']}"
    return f"{option}: {item['msg']} (got {item['input']!r})"
