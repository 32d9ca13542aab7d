"""The Sim-FA paper's numbered equations, one function each, in the paper's symbols (Table 1).

B batch, L and S query and K/V lengths, H_KV KV heads, G query heads per KV head, D head dimension, T_M query
rows of one thread block, P bytes per element, N_SM SMs, O_limit thread blocks per SM. Every argument is an int
or an integer array; exact equations return exact integers, approximate ones (8, 9, 10, 12) floats. Bytes are
bytes, FLOPs are FLOPs. The equations are for non-causal attention; `analytical.tiles` counts what a mask leaves.
"""

from analytical.numbers import Ints, Reals, at_least, ceil_div


def eq1_flops(B: Ints, H_KV: Ints, G: Ints, L: Ints, S: Ints, D: Ints) -> Ints:
    """Eq. (1): FLOPs of Q K^T and P V over all query heads."""
    return 4 * B * (H_KV * G) * L * S * D


def eq2_l2_bytes(P: Ints, B: Ints, H_KV: Ints, G: Ints, D: Ints, L: Ints, S: Ints, T_M: Ints) -> Ints:
    """Eq. (2): bytes that all thread blocks request from L2: Q and O once, K and V once per query tile."""
    return P * B * (H_KV * G) * D * (2 * L + ceil_div(L, T_M) * 2 * S)


def eq3_dram_ideal_bytes(P: Ints, B: Ints, D: Ints, H_KV: Ints, G: Ints, L: Ints, S: Ints) -> Ints:
    """Eq. (3): DRAM bytes under an ideal cache: Q, K and V read once, O written once."""
    return P * B * D * (2 * (H_KV * G) * L + 2 * H_KV * S)


def eq4_fits_l2(size_L2: Ints, P: Ints, S: Ints, D: Ints) -> Ints:
    """Eq. (4): whether one K head and one V head fit the effective L2; equality does not fit."""
    return size_L2 > 2 * P * S * D


def eq5_waves(G: Ints, L: Ints, T_M: Ints, N_SM: Ints, O_limit: Ints) -> Ints:
    """Eq. (5): waves of thread blocks, each a pass over K and V, that one KV group needs."""
    return at_least(ceil_div(G * ceil_div(L, T_M), N_SM * O_limit), 1)


def eq6_dram_real_bytes(P: Ints, B: Ints, H_KV: Ints, G: Ints, L: Ints, S: Ints, D: Ints, W_grp: Ints) -> Ints:
    """Eq. (6): DRAM bytes when every wave fetches K and V again."""
    return 2 * P * B * (H_KV * G) * L * D + (2 * P * B * H_KV * S * D) * W_grp


def eq7_traffic_ratio(M_L2: Ints, M_DRAM_real: Ints) -> Reals:
    """Eq. (7): L2 bytes per DRAM byte; high means that the L2 filters well."""
    return M_L2 / M_DRAM_real


def eq8_l2_bytes_long(P: Ints, B: Ints, H_KV: Ints, G: Ints, D: Ints, L: Ints, S: Ints, T_M: Ints) -> Reals:
    """Eq. (8): Eq. (2) where K and V dominate (long sequences)."""
    return 2 * P * B * (H_KV * G) * D * (L / T_M) * S


def eq9_dram_real_bytes_long(
    P: Ints, B: Ints, H_KV: Ints, G: Ints, D: Ints, L: Ints, S: Ints, T_M: Ints, N_SM: Ints, O_limit: Ints
) -> Reals:
    """Eq. (9): Eq. (6) where K and V dominate (long sequences)."""
    return (2 * P * B * H_KV * S * D) * (G * L / (N_SM * T_M * O_limit))


def eq10_traffic_ratio_long(N_SM: Ints, O_limit: Ints) -> Ints:
    """Eq. (10): Eq. (7) for long sequences: the number of thread blocks that run at once."""
    return N_SM * O_limit


def eq11_intensity(F_total: Ints, M_L2: Ints) -> Reals:
    """Eq. (11): FLOPs per byte requested from L2."""
    return F_total / M_L2


def eq12_intensity_long(T_M: Ints, P: Ints) -> Reals:
    """Eq. (12): Eq. (11) for long sequences: set by the tile and the precision alone."""
    return 2 * T_M / P
