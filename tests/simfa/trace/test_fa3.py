"""FlashAttention-3's programs against section 5.2: counts, order, stages, and the cycles of softmax and WGMMA."""

from typing import Any

import pytest

from presets import loader
from presets.specs import GpuSpec, KernelSpec
from simfa import launch
from simfa.engine import opcodes as op
from simfa.isa import NAME_OF, Program
from simfa.trace import fa3
from simfa.trace.bubbles import softmax_cycles

H800 = loader.load(GpuSpec, "h800")
FA3 = loader.load(KernelSpec, "fa3")
TIMING = launch.wgmma_timing(H800)


def cycles_of(row: dict[str, Any]) -> int:
    return TIMING.cycles(row["n"], row["dtype"], row["mode"], bool(row["sp"]))


def shape(**changes: Any) -> fa3.Shape:
    values = {"kernel": FA3, "head_dim": 128, "dtype": "fp16", "softmax_cycles": 988}
    return fa3.Shape(**(values | changes))


def kernel(**pipeline: Any) -> KernelSpec:
    return FA3.model_copy(update={"pipeline": FA3.pipeline.model_copy(update=pipeline)})


def words(program: Program) -> list[str]:
    """The program in short: runs of one instruction as a count, waits and stages with their operand."""
    found: list[str] = []
    for row in program.rows:
        name = NAME_OF[row["opcode"]]
        operands = [f"{key[0]}{row[key]}" for key in ("map", "sid", "bid", "count") if key in row]
        text = " ".join([name, *operands])
        if found and found[-1].endswith(" " + text) and name == "WGMMA":
            found[-1] = f"{int(found[-1].split()[0]) + 1} {text}"
        else:
            found.append(f"1 {text}" if name == "WGMMA" else text)
    return found


def test_softmax_of_the_papers_tile_is_988_cycles() -> None:
    steps = softmax_cycles(H800.alu, 64, 176, 128)
    assert steps == (88, 704, 88, 44, 64)
    assert steps.total == 988
    # Half the keys: every step but the rescale of O halves.
    assert softmax_cycles(H800.alu, 64, 88, 128) == (44, 352, 44, 22, 64)
    assert softmax_cycles(H800.alu, 64, 176, 64).rescale == 32


def test_a_warpgroup_has_128_threads_however_wide_the_alus() -> None:
    wide = H800.alu.model_copy(update={"fp32_op_per_cycle": 256.0})
    assert softmax_cycles(wide, 64, 176, 128) == (88, 704, 88, 44, 64)
    half = H800.alu.model_copy(update={"fp32_op_per_cycle": 64.0, "mufu_op_per_cycle": 32.0})
    assert softmax_cycles(half, 64, 176, 128) == (176, 352, 176, 44, 128)


@pytest.mark.parametrize("n", [64, 128, 176, 256])
@pytest.mark.parametrize("mode", ["SS", "RS"])
def test_a_wgmma_takes_half_of_n_cycles(n: int, mode: str) -> None:
    assert TIMING.cycles(n, "fp16", mode) == n // 2
    # FP8 has K = 32 at twice the rate, TF32 K = 8 at half the rate: the same time.
    assert TIMING.cycles(n, "fp8", mode) == TIMING.cycles(n, "int8", mode) == n // 2
    assert TIMING.cycles(n, "tf32", mode) == n // 2


def test_wgmmas_as_measured_on_h800() -> None:
    """arXiv 2402.13499: m64n256 sparse 144 SS, 128 RS; n8 at 158.2 (SS), 216.7 (RS) of n256's 728.5 TFLOPS."""
    assert TIMING.cycles(256, "fp16", "SS", sparse=True) == 144
    assert TIMING.cycles(256, "fp16", "RS", sparse=True) == 128
    assert TIMING.cycles(8, "fp16", "SS") == round(8 / 158.2 / (256 / 728.5) * 128) == 18
    assert TIMING.cycles(8, "fp16", "RS") == round(8 / 216.7 / (256 / 728.5) * 128) == 13


@pytest.mark.parametrize("n", range(8, 257, 8))
def test_ss_takes_longer_than_rs_below_n_64_only(n: int) -> None:
    assert (TIMING.cycles(n, "fp16", "SS") > TIMING.cycles(n, "fp16", "RS")) == (n < 64)


def test_a_tile_is_8_wgmmas_of_88_and_11_of_64_cycles() -> None:
    rows = [row for row in fa3.roles(shape(), 3)[1].rows if NAME_OF[row["opcode"]] == "WGMMA"]
    for tag, count, cycles in ((fa3.TAG_QK, 8, 88), (fa3.TAG_PV, 11, 64)):
        assert [cycles_of(row) for row in rows if row["tag"] == tag] == [cycles] * count * 3
    # Two consumers: 2 x (8 x 88 + 11 x 64) = 2816 cycles of the tensor core per K/V tile.
    assert 2 * sum(map(cycles_of, rows)) == 3 * 2816


def test_the_producer_loads_k_ahead_of_v_into_alternating_stages() -> None:
    # Stage 0 is Q's; K has 1 and 2, V has 3 and 4; maps 0 to 3 are Q, K, V, O.
    assert words(fa3.roles(shape(), 3)[0]) == [
        "ACQUIRE_STAGE s1", "TMA_TENSOR m1 s1",
        "TMA_TENSOR m0 s0",
        "ACQUIRE_STAGE s2", "TMA_TENSOR m1 s2", "ACQUIRE_STAGE s3", "TMA_TENSOR m2 s3",
        "ACQUIRE_STAGE s1", "TMA_TENSOR m1 s1", "ACQUIRE_STAGE s4", "TMA_TENSOR m2 s4",
        "ACQUIRE_STAGE s3", "TMA_TENSOR m2 s3",
    ]  # fmt: skip


def test_k_and_v_come_from_the_last_tile_to_the_first() -> None:
    def rows(kernel_spec: KernelSpec) -> list[int]:
        producer = fa3.roles(shape(kernel=kernel_spec), 3)[0].rows
        return [row["gmem"][2] for row in producer if row.get("map") == fa3.MAP_K]

    assert rows(FA3) == [352, 176, 0]
    assert rows(kernel(kv_order="first_to_last")) == [0, 176, 352]


def test_the_first_consumer_as_section_5_2_has_it() -> None:
    # Consumer 1 is number 0: it arrives at the other's barrier 1 before Q K^T and waits at 0 before softmax.
    # K is released right after WAIT_WG_1 (WAIT_WG_0 in the first tile, where no P V is in flight).
    assert words(fa3.roles(shape(), 2)[1]) == [
        "MB_WAIT s0",
        "MB_WAIT s1", "BAR_ARRIVE b1", "8 WGMMA", "WGMMA_COMMIT", "WGMMA_WAIT c0", "RELEASE_STAGE s1",
        "BAR_WAIT b0 c1", "BUBBLES",
        "MB_WAIT s2", "BAR_ARRIVE b1", "8 WGMMA", "WGMMA_COMMIT",
        "MB_WAIT s3", "11 WGMMA", "WGMMA_COMMIT", "WGMMA_WAIT c1", "RELEASE_STAGE s2",
        "BAR_WAIT b0 c1", "BUBBLES", "WGMMA_WAIT c0", "RELEASE_STAGE s3",
        "MB_WAIT s4", "11 WGMMA", "WGMMA_COMMIT", "WGMMA_WAIT c0", "RELEASE_STAGE s4",
        "TMA_STORE m3", "TMA_COMMIT", "TMA_WAIT c0",
    ]  # fmt: skip


def test_the_second_consumer_mirrors_the_barriers_and_owns_the_next_64_rows() -> None:
    first, second = fa3.roles(shape(), 2)[1:]
    swap = {"BAR_ARRIVE b1": "BAR_ARRIVE b0", "BAR_WAIT b0 c1": "BAR_WAIT b1 c1"}
    assert [swap.get(word, word) for word in words(first)] == words(second)
    rows = [next(row["gmem"][2] for row in c.rows if row.get("map") == fa3.MAP_O) for c in (first, second)]
    assert rows == [0, 64]


@pytest.mark.parametrize("consumers", [1, 2, 3])
@pytest.mark.parametrize("tiles", [0, 1, 2, 7])
@pytest.mark.parametrize("stages", [1, 2, 3])
def test_every_signal_has_its_wait(consumers: int, tiles: int, stages: int) -> None:
    spec = kernel(consumer_warpgroups=consumers, k_stages=stages, v_stages=stages)
    spec = spec.model_copy(update={"tile": spec.tile.model_copy(update={"query_rows": 64 * consumers})})
    producer, *others = fa3.roles(shape(kernel=spec), tiles)
    loads = [row["sid"] for row in producer.rows if NAME_OF[row["opcode"]] == "TMA_TENSOR"]
    acquired = [row["sid"] for row in producer.rows if NAME_OF[row["opcode"]] == "ACQUIRE_STAGE"]
    assert len(loads) == 2 * tiles + 1
    assert sorted(acquired) == sorted(sid for sid in loads if sid != fa3.SID_Q)
    for consumer in others:
        waited = [row["sid"] for row in consumer.rows if NAME_OF[row["opcode"]] == "MB_WAIT"]
        released = [row["sid"] for row in consumer.rows if NAME_OF[row["opcode"]] == "RELEASE_STAGE"]
        assert sorted(waited) == sorted(loads)
        assert sorted(released) == sorted(acquired)
    for index in range(consumers):
        arrivals = sum(w == f"BAR_ARRIVE b{index}" for c in others for w in words(c))
        assert arrivals == (consumers - 1) * tiles


def test_without_ping_pong_there_are_no_named_barriers() -> None:
    for program in fa3.roles(shape(kernel=kernel(ping_pong=False)), 3):
        assert not [word for word in words(program) if word.startswith("BAR_")]


def test_a_query_tile_that_sees_no_key_loads_q_and_stores_o() -> None:
    producer, first, _ = fa3.roles(shape(), 0)
    assert words(producer) == ["TMA_TENSOR m0 s0"]
    assert words(first) == ["MB_WAIT s0", "TMA_STORE m3", "TMA_COMMIT", "TMA_WAIT c0"]


@pytest.mark.parametrize(("head_dim", "dtype", "qk", "pv"), [
    (64, "fp16", (4, 88), (11, 32)),
    (80, "fp16", (5, 88), (11, 40)),
    (128, "fp8", (4, 88), (6, 64)),
    (128, "fp32", (16, 88), (22, 64)),
])  # fmt: skip
def test_wgmmas_of_other_shapes(head_dim: int, dtype: str, qk: tuple[int, int], pv: tuple[int, int]) -> None:
    rows = fa3.roles(shape(head_dim=head_dim, dtype=dtype), 1)[1].rows
    for tag, expected in ((fa3.TAG_QK, qk), (fa3.TAG_PV, pv)):
        cycles = [cycles_of(row) for row in rows if NAME_OF[row["opcode"]] == "WGMMA" and row["tag"] == tag]
        assert (len(cycles), cycles[0]) == expected


def test_a_row_wider_than_256_is_split_into_wgmmas_that_exist() -> None:
    rows = [row for row in fa3.roles(shape(head_dim=300), 1)[1].rows if row["tag"] == fa3.TAG_PV and "n" in row]
    assert [row["n"] for row in rows] == [256] * 11 + [48] * 11


def test_groups_are_numbered_in_order_of_issue() -> None:
    rows = [row for row in fa3.roles(shape(), 3)[1].rows if "gid" in row and row["opcode"] != op.TMA_STORE]
    commits = [row["gid"] for row in rows if NAME_OF[row["opcode"]] == "WGMMA_COMMIT"]
    assert commits == list(range(6))
    waits = [(row["gid"], row["count"]) for row in rows if NAME_OF[row["opcode"]] == "WGMMA_WAIT"]
    assert waits == [(0, 0), (2, 1), (2, 0), (4, 1), (4, 0), (5, 0)]
