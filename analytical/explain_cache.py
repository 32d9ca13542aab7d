"""The steps of DRAM traffic: Eqs. (3) to (6) as the paper has them, and with all KV heads in flight."""

from analytical.formula import Derivation
from analytical.launch_order import Order
from presets.experiment import Experiment

IDEAL = "P*B*D*(2*(H_KV*G)*L + 2*H_KV*S)"
REAL = "2*P*B*(H_KV*G)*L*D + (2*P*B*H_KV*S*D)*{passes}"


def paper(found: Derivation) -> None:
    """One KV head at a time: it fits (Eq. 4) and Eq. (3) holds, or every wave (Eq. 5) reads it, Eq. (6)."""
    fits = found.step(
        "Q_fits", "K and V of one head fit the effective L2", "size_L2 > 2*P*S*D", equation="Eq. (4)", key="regime"
    )
    found.step(
        "W_grp", "Waves per KV group", "max(1, ceil_div(G*ceil_div(L, T_M), N_SM*O_limit))",
        equation="Eq. (5)", key="waves",
    )  # fmt: skip
    _ideal(found)
    _real(found, "W_grp")
    why = "Eq. (4) holds: Eq. (3)." if fits else "Eq. (4) does not hold: Eq. (6)."
    found.step("M_DRAM", "DRAM traffic", "M_ideal if Q_fits else M_real", "B", key="dram_bytes", note=why)


def launch_order_steps(found: Derivation, experiment: Experiment) -> None:
    """Heads in flight, passes over each, the share of K/V lost between passes, and the bytes that costs."""
    order = Order.of(experiment)
    _heads(found, order)
    found.step(
        "W_pass", "Passes over each KV head", "max(ceil_div(G*ceil_div(L, T_M)*h, R), 1)",
        equation="Eq. (5) with h heads", key="waves",
    )  # fmt: skip
    found.step("F_reuse", "K and V of the heads in reuse", "r*(2*P*S*D)", "B")
    found.step("Q_fits", "They fit the effective L2", "size_L2 > F_reuse", equation="Eq. (4) with r heads")
    _loss(found, order, experiment.workload.causal)
    _ideal(found)
    _real(found, "W_pass")
    found.step(
        "M_DRAM", "DRAM traffic", "M_ideal + round((M_real - M_ideal)*Lambda)", "B", key="dram_bytes",
        note="Each pass after the first fetches the lost share again; whole bytes.",
    )  # fmt: skip


def _heads(found: Derivation, order: Order) -> None:
    found.step("R", "Resident CTAs", "N_SM*O_limit", "CTAs")
    if order.live_heads:
        found.step("h", "KV heads live at once", "min(h_asked, min(B*H_KV, R))", "heads", key="live_kv_heads")
    else:
        per_head = "G" if order.head_fastest else "G*ceil_div(L, T_M)"
        note = "head_fastest: neighbours in the grid are other heads" if order.head_fastest else (
            "block_fastest: neighbours in the grid are tiles of the same head"
        )  # fmt: skip
        found.step(
            "h", "KV heads live at once", f"min(ceil_div(R, {per_head}), min(B*H_KV, R))", "heads",
            key="live_kv_heads", note=note,
        )  # fmt: skip
    every = order.head_fastest and not order.live_heads
    found.step(
        "r", "KV heads in reuse", "B*H_KV" if every else "h", "heads", key="reuse_kv_heads",
        note="All heads pass before the first comes again." if every else "",
    )  # fmt: skip


def _loss(found: Derivation, order: Order, causal: bool) -> None:
    near = found.step(
        "F_near", "Nearest reuse", "(r - h)*(2*P*S*D)" if order.sawtooth else "F_reuse", "B",
        note="Sawtooth: a line at the turn has only the heads that do not run now behind it."
        if order.sawtooth
        else "Cyclic: every line has all K and V in reuse behind it.",
    )  # fmt: skip
    far = found.steps["F_reuse"].value
    tiles = "2*P*R*T_M*D" if order.ways else "0"
    found.step("M_tiles", "Q and O tiles of the resident CTAs", tiles, "B")
    expression, note = _loss_expression(found, order, causal, near < far)
    found.step("Lambda", "Share of K/V lost per pass", expression, key="lost_share", note=note)


def _loss_expression(found: Derivation, order: Order, causal: bool, spread: bool) -> tuple[str, str]:
    if causal:
        ways = "W_L2" if order.ways else "None"
        return f"lost_under_mask(F_near, F_reuse, M_tiles, size_L2, {ways}, L, S)", (
            "The mean of u times the loss of a prefix u, over prefixes from (S - L) / S to 1, whose distances "
            "are u times as long."
        )
    if not order.ways:
        if spread:
            return "min(max(F_reuse - size_L2, 0), F_reuse - F_near)/(F_reuse - F_near)", "What lies out of reach."
        return "1.0 if F_reuse >= size_L2 else 0.0", "No ways known: a sharp edge."
    found.step("m_far", "Lines between two uses, per set", "W_L2*(F_reuse + M_tiles)/size_L2", "lines")
    if not spread:
        return (
            "poisson_tail(m_far, W_L2)",
            "A set of W ways overflows where the hash gives it W more lines or more.",
        )
    found.step("m_near", "The same at the turn", "W_L2*(F_near + M_tiles)/size_L2", "lines")
    return "mean_poisson_tail(m_near, m_far, W_L2)", "The mean over lines from the turn to the far end."


def _ideal(found: Derivation) -> None:
    found.step("M_ideal", "DRAM traffic, ideal cache", IDEAL, "B", equation="Eq. (3)", key="dram_ideal_bytes")


def _real(found: Derivation, passes: str) -> None:
    found.step(
        "M_real", "DRAM traffic, every pass from DRAM", REAL.format(passes=passes), "B", equation="Eq. (6)",
        key="dram_real_bytes",
    )  # fmt: skip
