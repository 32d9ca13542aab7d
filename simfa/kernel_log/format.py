"""The binary log: a header, then a fixed buffer of 16-byte entries for every warp (section 5.1, Table 4).

The buffer of warp w of block b is number b * warps_per_block + w. Lane 0 of a warp writes its entries in order;
once the buffer is full nothing more is recorded, so a full buffer counts as overflowed. Entries not used are zero.
Everything is little-endian. `simfa_log.cuh` writes the same.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from presets.errors import PresetError

MAGIC = b"SIMFALOG"
BYTE_ORDER = 0x01020304
VERSION = 1
WARPS_PER_WARPGROUP = 4

ENTRY = np.dtype(
    [
        ("timestamp", "<u8"),
        ("event", "<u2"),
        ("stage", "<u2"),  # of the K or V ring buffer
        ("payload", "<u2"),  # tile index: of K and V rows, for Q of query rows
        ("padding", "<u2"),
    ]
)
TENSORS = ("q", "k", "v", "o")
_COUNTS = (
    "byte_order version header_bytes entry_bytes blocks warps_per_block entries_per_warp batch seq_q seq_kv "
    "heads_q heads_kv head_dim query_rows kv_rows k_stages v_stages dtype ping_pong cluster ctas_per_sm reserved"
).split()
_PLACES = [
    f"{tensor}_{what}" for tensor in TENSORS for what in ("base", "head_stride", "row_stride", "batch_stride")
]
HEADER = np.dtype(
    [("magic", "S8")]
    + [(name, "<u4") for name in _COUNTS]
    + [(name, "<u8") for name in _PLACES]
    + [("unused", "V32")]
)
DTYPES = ("fp16", "bf16", "fp8", "fp32")

EVENTS = {
    name: number
    for number, name in enumerate(
        "TMA_Q_ISSUE TMA_K_ISSUE TMA_V_ISSUE WAIT_K_START GEMM_QK_ISSUE WAIT_V_START GEMM_PV_ISSUE WAIT_WG_1 "
        "WAIT_WG_0".split(),
        start=1,
    )
}
EVENT_NAMES = {number: name for name, number in EVENTS.items()}
PRODUCER_EVENTS = ("TMA_Q_ISSUE", "TMA_K_ISSUE", "TMA_V_ISSUE")
# Least and greatest value of what a header must hold; the rest may be any number.
_RANGES = {
    "blocks": (1, 2**24), "warps_per_block": (8, 32), "entries_per_warp": (1, 2**24), "batch": (1, 2**16),
    "seq_q": (1, 2**24), "seq_kv": (1, 2**24), "heads_q": (1, 2**12), "heads_kv": (1, 2**12), "head_dim": (1, 1024),
    "query_rows": (1, 4096), "kv_rows": (1, 4096), "k_stages": (1, 8), "v_stages": (1, 8), "ping_pong": (0, 1),
    "dtype": (0, len(DTYPES) - 1), "cluster": (1, 16), "ctas_per_sm": (1, 32),
}  # fmt: skip


class LogError(PresetError):
    """A log that is truncated, overflowed, out of order, of another machine's byte order, or no log at all."""


@dataclass(frozen=True)
class Log:
    """A decoded log: its header's values, and entries of shape (blocks, warps_per_block, entries_per_warp)."""

    name: str
    header: dict[str, int]
    entries: np.ndarray

    def place(self, block: int, warp: int, entry: int) -> str:
        """Where an entry is, for messages."""
        number = (block * self.header["warps_per_block"] + warp) * self.header["entries_per_warp"] + entry
        return f"{self.name}: block {block}, warp {warp}, entry {entry} (byte {HEADER.itemsize + 16 * number})"


def read(path: Path) -> Log:
    """The log in a file, checked entry by entry. Raises LogError."""
    try:
        return decode(path.read_bytes(), str(path))
    except OSError as error:
        raise PresetError(f"cannot read {path}: {error.strerror}") from None


def decode(data: bytes, name: str = "log") -> Log:
    """The log that some bytes hold. Raises LogError."""
    header = _header(data, name)
    shape = (header["blocks"], header["warps_per_block"], header["entries_per_warp"])
    need = HEADER.itemsize + int(np.prod(shape)) * ENTRY.itemsize
    if len(data) != need:
        what = "truncated" if len(data) < need else "longer than its header says"
        raise LogError(f"{name}: {what}: {len(data):,} bytes, {need:,} expected for {shape[0]:,} blocks")
    log = Log(name, header, np.frombuffer(data, ENTRY, offset=HEADER.itemsize).reshape(shape))
    _check_entries(log)
    return log


def encode(header: dict[str, int], entries: np.ndarray) -> bytes:
    """A log as bytes; the constants and the entries' shape are put into the header."""
    record = np.zeros(1, HEADER)
    values = dict(zip(("blocks", "warps_per_block", "entries_per_warp"), entries.shape, strict=True))
    constants = {"byte_order": BYTE_ORDER, "version": VERSION, "header_bytes": HEADER.itemsize, "entry_bytes": 16}
    record["magic"] = MAGIC
    for key, value in {**header, **values, **constants}.items():
        record[key] = value
    return record.tobytes() + np.ascontiguousarray(entries).tobytes()


def _header(data: bytes, name: str) -> dict[str, int]:
    if not data.startswith(MAGIC):
        raise LogError(f"{name}: not a Sim-FA kernel log: it begins with {data[:8]!r}, not {MAGIC!r}")
    if len(data) < HEADER.itemsize:
        raise LogError(f"{name}: truncated: {len(data)} bytes, the header alone has {HEADER.itemsize}")
    record = np.frombuffer(data, HEADER, 1)[0]
    header = {key: int(record[key]) for key in (*_COUNTS, *_PLACES)}
    if header["byte_order"] != BYTE_ORDER:
        swapped = header["byte_order"] == int.from_bytes(BYTE_ORDER.to_bytes(4, "big"), "little")
        why = "written on a big-endian machine" if swapped else "its byte-order mark is damaged"
        raise LogError(f"{name}: {why}; logs are little-endian")
    for key, value in (("version", VERSION), ("header_bytes", HEADER.itemsize), ("entry_bytes", ENTRY.itemsize)):
        if header[key] != value:
            raise LogError(f"{name}: {key} is {header[key]}, this reader knows {value}")
    for key, (low, high) in _RANGES.items():
        if not low <= header[key] <= high:
            raise LogError(f"{name}: header: {key} is {header[key]}; allowed: {low} to {high}")
    _check_header(header, name)
    return header


def _check_header(header: dict[str, int], name: str) -> None:
    if header["warps_per_block"] % WARPS_PER_WARPGROUP:
        raise LogError(f"{name}: header: {header['warps_per_block']} warps are no whole warpgroups")
    if header["heads_q"] % header["heads_kv"]:
        raise LogError(
            f"{name}: header: heads_q {header['heads_q']} is no multiple of heads_kv {header['heads_kv']}"
        )
    tiles = -(-header["seq_q"] // header["query_rows"])
    blocks = tiles * header["heads_q"] * header["batch"]
    if header["blocks"] != blocks:
        raise LogError(
            f"{name}: header: {header['blocks']:,} blocks, but {tiles:,} query tiles, {header['heads_q']} heads "
            f"and a batch of {header['batch']} make {blocks:,}; log every output tile of a "
            "persistent kernel as a block"
        )


def _check_entries(log: Log) -> None:
    """Unknown events, padding, holes, timestamps that run backward, full buffers."""
    entries = log.entries
    used = entries["event"] != 0
    if used[:, :, -1].any():
        block, warp = (int(axis[0]) for axis in np.nonzero(used[:, :, -1]))
        raise LogError(
            f"{log.name}: block {block}, warp {warp}: its buffer of {log.header['entries_per_warp']} entries is "
            "full, later events were not recorded; log with more entries per warp"
        )
    _refuse(log, used & (entries["event"] > len(EVENTS)), _unknown_event)
    blank = ~used & ((entries["timestamp"] != 0) | (entries["stage"] != 0) | (entries["payload"] != 0))
    _refuse(log, blank | (entries["padding"] != 0), lambda entry: "damaged: a blank event or padding that is not 0")
    hole = np.zeros_like(used)
    hole[:, :, 1:] = used[:, :, 1:] & ~used[:, :, :-1]
    _refuse(log, hole, lambda entry: "an event after an empty entry: entries are lost or out of order")
    backward = np.zeros_like(used)
    backward[:, :, 1:] = used[:, :, 1:] & (entries["timestamp"][:, :, 1:] < entries["timestamp"][:, :, :-1])
    _refuse(log, backward, lambda entry: "a timestamp before that of the entry before it: out of order")


def _unknown_event(entry: Any) -> str:
    number = int(entry["event"])
    swapped = EVENT_NAMES.get(int.from_bytes(number.to_bytes(2, "big"), "little"))
    hint = f"; in the other byte order it is {swapped}" if swapped else ""
    return f"unknown event {number}{hint}"


def _refuse(log: Log, bad: np.ndarray, why: Any) -> None:
    if bad.any():
        block, warp, entry = (int(axis[0]) for axis in np.nonzero(bad))
        raise LogError(f"{log.place(block, warp, entry)}: {why(log.entries[block, warp, entry])}")
