"""Each numbered equation at points worked out by hand, with the arithmetic beside."""

import numpy as np
import pytest

from analytical import equations as eq
from presets.measured_points import rows


def test_eq1_flops() -> None:
    # 4 x 2 batches x (3 KV heads x 5) x 7 x 11 x 13 = 120 x 1001
    assert eq.eq1_flops(B=2, H_KV=3, G=5, L=7, S=11, D=13) == 120_120
    # Llama 3 8B, 4096: 4 x 32 x 4096^2 x 128 = 2^(2 + 5 + 24 + 7) = 2^38
    assert eq.eq1_flops(B=1, H_KV=8, G=4, L=4096, S=4096, D=128) == 2**38


def test_eq2_l2_bytes() -> None:
    # 2 B x 1 x 2 x 10 x (2 x 100 + ceil(100 / 64) x 2 x 300) = 40 x (200 + 2 x 600) = 40 x 1400
    assert eq.eq2_l2_bytes(P=2, B=1, H_KV=1, G=2, D=10, L=100, S=300, T_M=64) == 56_000
    # Llama 3 8B, 4096, T_M 128: 2 x 32 x 128 x (8192 + 32 x 8192) = 8192 x 8192 x 33 = 33 x 2^26
    assert eq.eq2_l2_bytes(P=2, B=1, H_KV=8, G=4, D=128, L=4096, S=4096, T_M=128) == 33 * 2**26


def test_eq3_dram_ideal_bytes() -> None:
    # 1 B x 2 x 10 x (2 x (3 x 4) x 5 + 2 x 3 x 7) = 20 x (120 + 42)
    assert eq.eq3_dram_ideal_bytes(P=1, B=2, D=10, H_KV=3, G=4, L=5, S=7) == 3240
    # Llama 3 8B, 4096: 256 x (64 + 16) x 4096 = 80 MiB
    assert eq.eq3_dram_ideal_bytes(P=2, B=1, D=128, H_KV=8, G=4, L=4096, S=4096) == 80 * 2**20


def test_eq4_equality_does_not_fit() -> None:
    # 2 x 2 B x 10 x 8 = 320
    assert eq.eq4_fits_l2(size_L2=321, P=2, S=10, D=8)
    assert not eq.eq4_fits_l2(size_L2=320, P=2, S=10, D=8)
    # 48K: 4 x 49152 x 128 = 25,165,824 B = 24 MiB, GB10's whole L2; H800's half is 25 MiB
    assert not eq.eq4_fits_l2(size_L2=24 * 2**20, P=2, S=49_152, D=128)
    assert eq.eq4_fits_l2(size_L2=25 * 2**20, P=2, S=49_152, D=128)
    assert not eq.eq4_fits_l2(size_L2=25_000_000, P=2, S=49_152, D=128)


@pytest.mark.parametrize(
    ("G", "L", "T_M", "N_SM", "O_limit", "waves"),
    [
        (4, 4096, 128, 132, 1, 1),  # 4 x 32 = 128 blocks on 132
        (16, 6144, 128, 132, 1, 6),  # 16 x 48 = 768; 768 / 132 = 5.8
        (4, 4224, 128, 132, 1, 1),  # 4 x 33 = 132 blocks: exactly one wave
        (4, 4225, 128, 132, 1, 2),  # 4 x 34 = 136 blocks
        (4, 4225, 128, 132, 2, 1),  # two blocks per SM: 136 on 264
        (1, 1, 128, 132, 1, 1),  # never below one
    ],
)
def test_eq5_waves(G: int, L: int, T_M: int, N_SM: int, O_limit: int, waves: int) -> None:
    assert eq.eq5_waves(G, L, T_M, N_SM, O_limit) == waves


def test_eq6_dram_real_bytes() -> None:
    # Q and O: 2 x 1 x 2 x 12 x 5 x 10 = 2400; K and V: 2 x 1 x 2 x 3 x 7 x 10 = 840, four times = 3360
    assert eq.eq6_dram_real_bytes(P=1, B=2, H_KV=3, G=4, L=5, S=7, D=10, W_grp=4) == 2400 + 3360


def test_one_wave_makes_eq6_equal_eq3() -> None:
    assert eq.eq6_dram_real_bytes(2, 3, 8, 4, 500, 700, 96, W_grp=1) == eq.eq3_dram_ideal_bytes(
        2, 3, 96, 8, 4, 500, 700
    )


def test_eq7_traffic_ratio() -> None:
    # 33 x 2^26 B at the L2, 80 x 2^20 B at DRAM: 33 x 64 / 80
    assert eq.eq7_traffic_ratio(33 * 2**26, 80 * 2**20) == 26.4


def test_eq8_l2_bytes_long() -> None:
    # 2 x 2 B x 1 x 2 x 10 x (100 / 64) x 300 = 80 x 468.75
    assert eq.eq8_l2_bytes_long(P=2, B=1, H_KV=1, G=2, D=10, L=100, S=300, T_M=64) == 37_500


def test_eq9_dram_real_bytes_long() -> None:
    # (2 x 2 B x 1 x 3 x 600 x 10) x (4 x 1000 / (5 x 50 x 2)) = 72,000 x 8
    answer = eq.eq9_dram_real_bytes_long(P=2, B=1, H_KV=3, G=4, D=10, L=1000, S=600, T_M=50, N_SM=5, O_limit=2)
    assert answer == 576_000


def test_eq10_is_eq8_over_eq9() -> None:
    assert eq.eq10_traffic_ratio_long(N_SM=132, O_limit=2) == 264
    shape = {"P": 2, "B": 3, "H_KV": 8, "G": 4, "D": 128, "L": 2**20, "S": 2**20, "T_M": 128}
    ratio = eq.eq8_l2_bytes_long(**shape) / eq.eq9_dram_real_bytes_long(**shape, N_SM=132, O_limit=2)
    assert ratio == pytest.approx(264, rel=1e-12)


def test_eq11_intensity() -> None:
    # Llama 3 8B, 4096: 2^38 FLOP / (33 x 2^26 B) = 4096 / 33
    assert eq.eq11_intensity(2**38, 33 * 2**26) == 4096 / 33


def test_eq12_is_eq1_over_eq8() -> None:
    assert eq.eq12_intensity_long(T_M=128, P=2) == 128
    assert eq.eq12_intensity_long(T_M=64, P=1) == 128
    l2_bytes = eq.eq8_l2_bytes_long(P=2, B=1, H_KV=8, G=4, D=128, L=4096, S=4096, T_M=128)
    assert eq.eq1_flops(1, 8, 4, 4096, 4096, 128) / l2_bytes == 128


def test_the_long_forms_are_limits() -> None:
    shape = {"P": 2, "B": 1, "H_KV": 8, "G": 16, "D": 128, "L": 2**22, "S": 2**22, "T_M": 128}
    assert eq.eq8_l2_bytes_long(**shape) == pytest.approx(eq.eq2_l2_bytes(**shape), rel=1e-4)


def test_exact_equations_stay_exact_beyond_64_bits() -> None:
    assert eq.eq1_flops(B=2**16, H_KV=2**10, G=1, L=2**24 - 1, S=2**24 - 1, D=1) == 2**28 * (2**24 - 1) ** 2


def test_arrays_go_through_every_equation() -> None:
    L = np.array([128, 4096])
    assert eq.eq2_l2_bytes(2, 1, 8, 4, 128, L, L, 128).tolist() == [
        eq.eq2_l2_bytes(2, 1, 8, 4, 128, int(n), int(n), 128) for n in L
    ]
    assert eq.eq4_fits_l2(512 * 4096, 2, L, 128).tolist() == [True, False]
    assert eq.eq5_waves(16, L, 128, 132, 1).tolist() == [1, 4]


TRAFFIC = rows("measured_traffic")


@pytest.mark.parametrize("row", [r for r in TRAFFIC if r["metric"] == "l2_read_bytes"], ids=lambda r: r["kernel"])
def test_eq2_gives_measured_l2_reads_exactly(row: dict[str, str]) -> None:
    """All that Eq. (2) counts but the output; a causal query tile reads K and V to the end of its own rows."""
    block, heads, D, L, S = (int(row[k]) for k in ("block_m", "heads_q", "head_dim", "seq_q", "seq_kv"))
    output_bytes = 2 * heads * L * D
    if row["causal"] == "0":
        assert eq.eq2_l2_bytes(2, 1, heads, 1, D, L, S, block) - output_bytes == int(row["bytes"])
    kv_rows = sum(min(S, (i + 1) * block) if row["causal"] == "1" else S for i in range(-(-L // block)))
    assert output_bytes + 2 * heads * D * 2 * kv_rows == int(row["bytes"])


def test_every_measured_read_row_is_covered() -> None:
    assert [r["block_m"] + "/" + r["causal"] for r in TRAFFIC if r["metric"] == "l2_read_bytes"] == [
        "64/1", "64/0", "128/1",
    ]  # fmt: skip


@pytest.mark.parametrize("row", [r for r in TRAFFIC if r["metric"] == "l2_write_bytes"], ids=lambda r: r["kernel"])
def test_measured_l2_writes_are_the_output(row: dict[str, str]) -> None:
    """cuTile writes O and no more. FlashAttention-2 also writes row statistics: here only a floor."""
    output_bytes = 2 * int(row["heads_q"]) * int(row["seq_q"]) * int(row["head_dim"])
    if row["kernel"].startswith("cuTile"):
        assert int(row["bytes"]) == output_bytes
    else:
        assert output_bytes < int(row["bytes"]) < 1.4 * output_bytes
