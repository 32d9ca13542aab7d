"""The workload a launch ran, read from its kernel name, grid and file name; every inference with its reason.

What these do not show stays blank. Launch shapes are known for four kernels only: FlashAttention-2 (query tiles,
batch, heads), the memory-efficient kernel of PyTorch (query tiles, heads, batch), FlashAttention-3 (a persistent
grid, which shows no length) and the cuTile kernel of the public GB10 exports (batch x heads, query tiles).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from dashboard.measured import gpus, tiles
from dashboard.measured.case import Match
from dashboard.measured.launch import Dims
from presets.experiment import MAX_LENGTH

Clue = tuple[dict[str, Any], str]
_ELEMENTS = {"half_t": "fp16", "__half": "fp16", "half": "fp16", "bfloat16_t": "bf16", "float_e4m3_t": "fp8"}
_TRUE = ("1", "true")
_C = r"cute::C<(\d+)>"
_FA3 = re.compile(
    rf"CollectiveMainloopFwdSm90<\d+, cute::tuple<{_C}, {_C}, {_C} ?>, cute::tuple<{_C}, {_C}, {_C} ?>, "
    r"\d+, (?:\w+::)*(\w+), float, [\w:]+, (\w+)"
)
_FA2 = re.compile(
    r"flash_fwd(_splitkv)?_kernel<\s*(?:\w+::)*Flash_fwd_kernel_traits<(\d+), (\d+), (\d+), \d+, \w+, \w+, "
    r"(?:\w+::)*(\w+)[^>]*>+, ?([\w, ]+)>"
)
_EFFICIENT = re.compile(r"fmha_cutlassF_(f16|bf16|f32)_aligned_(\d+)x(\d+)_")
_CUTILE = re.compile(r"flash_fwd_kernel(_fp\d+acc)?(_aligned)?")
_CUTILE_ROWS = 64
_FILE_CLUES = (
    ("batch", r"(b|bs|batch)(\d{1,9})"),
    ("heads_q", r"(h|hq|heads)(\d{1,9})"),
    ("heads_kv", r"(hkv|kvh|kvheads)(\d{1,9})"),
    ("seq_q", r"(s|l|n|seq|seqlen|len)(\d{1,9})"),
    ("head_dim", r"(d|hd|dim|headdim)(\d{1,9})"),
)
_GPU_NAMES = frozenset("b100 b200 b300 h20 h100 h200 h800 l4 l20 l40 gb10".split())
_FILE_DTYPES = {"fp16": "fp16", "float16": "fp16", "half": "fp16", "bf16": "bf16", "bfloat16": "bf16", "fp8": "fp8"}
_FILE_MASKS = {"causal": "causal", "noncausal": "none", "nocausal": "none"}


def propose(kernel: str, grid: Dims | None, file: str, device: str, capability: str) -> tuple[Match, list[str]]:
    """A match with what can be told, and one reason per inference or gap."""
    values: dict[str, Any] = {}
    reasons = []
    for found, reason in _clues(kernel, grid, file, device, capability):
        new = {key: value for key, value in found.items() if key not in values and _possible(value)}
        values |= new
        if new or not found:
            reasons.append(reason)
    return Match(**values), reasons


def _possible(value: Any) -> bool:
    """Whether a workload may have this value: names and grids hold any number."""
    return not isinstance(value, int) or 1 <= value <= MAX_LENGTH


def _clues(kernel: str, grid: Dims | None, file: str, device: str, capability: str) -> Iterator[Clue]:
    name, why = gpus.find(device, capability)
    yield ({"gpu": name} if name else {}), why
    bare = re.sub(r"\((?:int|bool|unsigned int)\)", "", kernel)
    shape = grid if grid is not None and len(grid) == 3 else None
    yield from _fa3(bare)
    yield from _fa2(bare, shape)
    yield from _efficient(bare, shape)
    yield from _cutile(bare, shape)
    yield from _from_file_name(file)


def _fa3(kernel: str) -> Iterator[Clue]:
    match = _FA3.search(kernel)
    if match is None:
        return
    cluster, query_rows, kv_rows, head_dim = (int(match[place]) for place in (1, 4, 5, 6))
    found = {"kernel": "fa3", "head_dim": head_dim, "mask": _mask(match[8])}
    if cluster <= 2:
        found["settings"] = tiles.settings(query_rows, kv_rows, cluster)
    if match[7] in _ELEMENTS:
        found["dtype"] = _ELEMENTS[match[7]]
    yield (
        found,
        (
            f"FlashAttention-3 by its name: {query_rows} x {kv_rows} tile, cluster {cluster}, head dimension "
            f"{head_dim}, {found['mask']} mask"
        ),
    )
    yield {}, "length and heads: not in the name, and the grid of FlashAttention-3 is persistent; fill them in"


def _fa2(kernel: str, grid: Dims | None) -> Iterator[Clue]:
    match = _FA2.search(kernel)
    if match is None:
        return
    split, head_dim, query_rows, kv_rows = match[1], int(match[2]), int(match[3]), int(match[4])
    flags = [flag.strip() for flag in match[6].split(",")]
    causal_at = 0 if split else 1
    found: dict[str, Any] = {"head_dim": head_dim, "settings": tiles.plain_settings(query_rows, kv_rows)}
    if match[5] in _ELEMENTS:
        found["dtype"] = _ELEMENTS[match[5]]
    if len(flags) > causal_at:
        found["mask"] = _mask(flags[causal_at])
    yield (
        found,
        (
            f"FlashAttention-2 by its name: {query_rows} x {kv_rows} tile, head dimension {head_dim}; no preset is "
            "this kernel, the GPU's own stands in with this tile"
        ),
    )
    if split:
        yield {}, "split over K/V: its grid shows neither length nor heads, and no estimator models the split"
    elif grid is not None:
        even = len(flags) == 8 and flags[4] in _TRUE
        yield {"batch": grid[1], "heads_q": grid[2]}, f"grid {_x(grid)} is query tiles x batch x heads"
        yield _length(grid[0], query_rows, even, "the name says that lengths are whole tiles")


def _efficient(kernel: str, grid: Dims | None) -> Iterator[Clue]:
    match = _EFFICIENT.search(kernel)
    if match is None:
        return
    query_rows, kv_rows = int(match[2]), int(match[3])
    dtype = {"f16": "fp16", "bf16": "bf16", "f32": "fp32"}[match[1]]
    yield (
        {"dtype": dtype, "settings": tiles.plain_settings(query_rows, kv_rows)},
        (
            f"memory-efficient attention by its name: {query_rows} x {kv_rows} tile; no preset is this kernel, the "
            "GPU's own stands in with this tile"
        ),
    )
    if grid is not None:
        yield {"heads_q": grid[1], "batch": grid[2]}, f"grid {_x(grid)} is query tiles x heads x batch"
        yield _length(grid[0], query_rows, False, "")


def _cutile(kernel: str, grid: Dims | None) -> Iterator[Clue]:
    match = _CUTILE.fullmatch(kernel)
    if match is None or grid is None or grid[2] != 1:
        return
    yield (
        {"kernel": "cutile-fa-64x64", "heads_q": grid[0]},
        (
            f"cuTile kernel of the public GB10 exports by its name: grid {_x(grid)} is batch x heads, query "
            f"tiles of {_CUTILE_ROWS}; taken as {grid[0]} heads, batch 1"
        ),
    )
    yield _length(grid[1], _CUTILE_ROWS, bool(match[2]), "the name says aligned")


def _from_file_name(file: str) -> Iterator[Clue]:
    base = re.sub(r"(?i)non?[-_ ]causal", "noncausal", file)
    words = [word for word in re.split(r"[^a-z0-9]+", base.lower()) if word not in _GPU_NAMES]
    found = {field: hit for field, pattern in _FILE_CLUES if (hit := _first(words, pattern))}
    short = [field for field, hit in found.items() if len(hit[1]) == 1]
    for field, hit in found.items():
        if len(hit[1]) > 1 or len(short) > 1:  # one letter alone, as in h64, may mean anything
            yield {field: int(hit[2])}, f"{field.replace('_', ' ')} {hit[2]}: from the file name"
    for field, known in (("dtype", _FILE_DTYPES), ("mask", _FILE_MASKS)):
        word = next((word for word in words if word in known), None)
        if word:
            yield {field: known[word]}, f"{field} {known[word]}: from the file name"


def _first(words: list[str], pattern: str) -> re.Match[str] | None:
    hits = (re.fullmatch(pattern, word) for word in words)
    return next((hit for hit in hits if hit and 0 < int(hit[2]) <= MAX_LENGTH), None)


def _length(count: int, rows: int, exact: bool, why: str) -> Clue:
    if exact:
        return {"seq_q": count * rows}, f"query length {count * rows:,}: {count} tiles of {rows} rows, {why}"
    low = (count - 1) * rows + 1
    return {}, f"query length: {count} tiles of {rows} rows, so {low:,} to {count * rows:,}; fill it in"


def _mask(flag: str) -> str:
    return "causal" if flag.lower() in _TRUE else "none"


def _x(grid: Dims) -> str:
    return " x ".join(map(str, grid))
