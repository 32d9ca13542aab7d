"""What the end-to-end studies are about: the paper's own launches, and the public kernels with their names.

Needs no compiled code, so that other estimators can be asked about the very same kernels.
"""

from collections.abc import Sequence

from presets import measured_points

Row = dict[str, str]

# Section 5.3 and Fig. 6 of the paper: fifteen launches; Fig. 7: the first SM of one of them.
GPU, KERNEL = "h800", "fa3"
MODELS = ("llama3-8b", "llama3-70b", "llama3.1-405b")
LENGTHS = (512, 1024, 2048, 4096, 6144)  # tokens
PIPELINE = ("llama3.1-405b", 6144)

# Section 6.2 and Fig. 9: DRAM traffic from 16K to 64K tokens; L2s of one partition of the H800 and of all of it.
FIG9_MODEL = "llama3.1-405b"
FIG9_LENGTHS = (16_384, 24_576, 32_768, 49_152, 65_536)  # tokens
MIB = 2**20
FIG9_L2 = (("h800", 25 * MIB), ("h800", 50 * MIB), ("gb10", 24 * MIB))

LOCKED_MHZ = "1500"
UNLOCKED_SOURCES = ("FA3 paper figure", "MagiAttention Oct 2025")

FLASH_FWD, FMHA = "cuTile flash_fwd (T_M=64)", "cuTile FMHA (TileGym 1.3.0)"
GB10_LONGEST = 4096  # tokens; TileGym's point of 8,192 takes most of a minute


def locked(lengths: Sequence[str] = ("512", "2048", "8192")) -> list[Row]:
    """FlashAttention-3 on H100 at a locked clock, kernels of these lengths: rows of measured_attention."""
    rows = measured_points.rows("measured_attention")
    return [row for row in rows if row["clock_mhz"] == LOCKED_MHZ and row["seq_q"] in lengths]


def unlocked(source: str) -> list[Row]:
    """FlashAttention-3 on H100 at a clock that the source does not state: rows of measured_attention."""
    return [row for row in measured_points.rows("measured_attention") if row["source"] == source]


def gb10(longest: int = GB10_LONGEST, kernels: Sequence[str] = (FLASH_FWD, FMHA)) -> list[Row]:
    """cuTile kernels on GB10 of up to `longest` tokens: rows of measured_attention."""
    rows = measured_points.rows("measured_attention")
    of_gb10 = (row for row in rows if row["gpu"].startswith("GB10") and row["kernel"] in kernels)
    return [row for row in of_gb10 if int(row["seq_q"]) <= longest]


def fig9_series(gpu: str, l2_bytes: int) -> str:
    """What the study of Fig. 9 calls one GPU's launches."""
    return f"{gpu.upper()}, L2 of {l2_bytes / MIB:g} MiB"


def fa3_label(row: Row) -> str:
    """A FlashAttention-3 kernel in words: what its points are called after their group."""
    return f"D{row['head_dim']}, {int(row['seq_q']):,} tokens, batch {row['batch']}, {_mask(row)}"


def gb10_label(row: Row) -> str:
    """A cuTile kernel in words."""
    return f"{row['kernel']}, {int(row['seq_q']):,} tokens, {_mask(row)}"


def _mask(row: Row) -> str:
    return "causal" if row["causal"] == "1" else "no mask"
