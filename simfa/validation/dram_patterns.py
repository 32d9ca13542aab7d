"""The request streams behind `presets/measured/hbm3_reference.csv`, one row per pattern.

Random numbers come from NumPy's PCG64 with the seeds below, so that every stream is the reference's own, access
by access: `fingerprint` is its check.
"""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from presets.dram_specs import DramChannelSpec
from simfa import dram_channel
from simfa.dram_channel import Requests
from simfa.memory.channel.mapping import COORDINATES

GIB = 1 << 30
REQUESTS = 40_000
ADDRESS_SEED, STREAM_SEED, WRITE_SEED, ARRIVAL_SEED = 12345, 99, 4321, 777
BYTES_PER_TICK = 16  # of the channel, at its peak
IDLE_GROUPS = ("closed", "hit", "conflict")


@dataclass(frozen=True)
class Pattern:
    """A named stream with its mapping, its closed-loop width, and for idle studies the group of each request."""

    name: str
    requests: Requests
    mapping: str = "M1"
    outstanding: int = 32
    groups: np.ndarray = field(default_factory=lambda: np.zeros(0, str))


def _reads(address: np.ndarray, size_bytes: int, arrival: np.ndarray | None = None) -> Requests:
    return Requests(address % GIB, np.zeros(address.size, np.int64), size_bytes, arrival)


def _uniform(size_bytes: int) -> np.ndarray:
    blocks = np.random.default_rng(ADDRESS_SEED).integers(0, GIB // size_bytes, REQUESTS)
    return blocks.astype(np.int64) * size_bytes


def _strided(stride_bytes: int, size_bytes: int = 64) -> np.ndarray:
    """Address i times the stride, shifted by one request each time the gigabyte is full."""
    wraps, address = np.divmod(np.arange(REQUESTS, dtype=np.int64) * stride_bytes, GIB)
    return address + wraps * size_bytes


def _interleaved(streams: int) -> np.ndarray:
    """Sequential 64-byte streams from random bases, the next one drawn each time."""
    generator = np.random.default_rng(STREAM_SEED)
    bases = generator.integers(0, GIB // 65536, streams).astype(np.int64) * 65536
    picks = generator.integers(0, streams, REQUESTS)
    steps = np.zeros(REQUESTS, np.int64)
    for stream in range(streams):
        mine = picks == stream
        steps[mine] = np.arange(mine.sum())
    return bases[picks] + 64 * steps


def _arrivals(load: float, size_bytes: int = 64) -> np.ndarray:
    """Poisson arrivals at a share of the channel's peak, in whole ticks."""
    mean_ticks = size_bytes / (load * BYTES_PER_TICK)
    gaps = np.random.default_rng(ARRIVAL_SEED).exponential(mean_ticks, REQUESTS)
    return np.floor(np.cumsum(gaps)).astype(np.int64)


def _idle(size_bytes: int) -> Pattern:
    """One request at a time in each of the 64 banks: closed, row hit, row conflict, at both clock phases."""
    number = np.arange(64, dtype=np.int64)
    bank = (number & 1) << 6 | (number >> 1 & 3) << 7 | (number >> 3 & 3) << 13 | (number >> 5) << 15
    row_bytes = 65536
    visits = (
        ("closed", 5 * row_bytes),
        ("hit", 5 * row_bytes + 512),
        ("conflict", 9 * row_bytes),
        ("conflict", 5 * row_bytes),
        ("hit", 5 * row_bytes + 1024),
        ("conflict", 77 * row_bytes),
    )
    address = np.concatenate([bank + offset for _, offset in visits])
    groups = np.repeat([group for group, _ in visits], bank.size)
    arrival = 100 + 3001 * np.arange(address.size, dtype=np.int64)
    return Pattern(f"idle_{size_bytes}B", _reads(address, size_bytes, arrival), groups=groups)


def _mixed_random(name: str, share: float) -> Pattern:
    writes = np.random.default_rng(WRITE_SEED).random(REQUESTS) < share
    return Pattern(f"mix{name}_rand64_N32", Requests(_uniform(64), writes.astype(np.int64), 64))


def _mixed_sequential(name: str, period: int) -> Pattern:
    """A read stream from 0 and a write stream from 512 MiB + 8 KiB, which takes every `period`-th turn."""
    writes = np.arange(REQUESTS) % period == period - 1
    turn = np.where(writes, np.cumsum(writes), np.cumsum(~writes)) - 1
    address = np.where(writes, GIB // 2 + 8192, 0) + 64 * turn
    return Pattern(f"mix{name}_seq64_N32", Requests(address, writes.astype(np.int64), 64))


def _closed(
    kind: str, size_bytes: int, address: Callable[[], np.ndarray], widths: tuple[int, ...]
) -> Iterator[Pattern]:
    requests = _reads(address(), size_bytes)
    for width in widths:
        yield Pattern(f"{kind}{size_bytes}_N{width}", requests, outstanding=width)


def patterns() -> Iterator[Pattern]:
    """Every pattern of the reference, in its order."""
    yield from (_idle(32), _idle(64))
    widths = (1, 4, 8, 16, 32, 64)
    yield from _closed("rand", 32, lambda: _uniform(32), widths)
    yield from _closed("rand", 64, lambda: _uniform(64), widths)
    yield from _closed("seq", 64, lambda: _strided(64), widths)
    yield from _closed("seq", 128, lambda: _strided(128), widths[:-1])
    for stride in (256, 1024, 2048, 16384, 65536):
        for mapping in ("M1", "M1X"):
            yield Pattern(f"stride{stride}_{mapping}_N32", _reads(_strided(stride), 64), mapping)
    for mapping in ("M1X", "MOP4CLXOR", "RoBaRaCoCh"):
        yield Pattern(f"seq64_{mapping}_N32", _reads(_strided(64), 64), mapping)
        yield Pattern(f"rand64_{mapping}_N32", _reads(_uniform(64), 64), mapping)
    for streams in (8, 32):
        yield Pattern(f"streams{streams}_M1X_N32", _reads(_interleaved(streams), 64), "M1X")
    yield from (_mixed_random("21", 1 / 3), _mixed_random("11", 1 / 2))
    yield from (_mixed_sequential("21", 3), _mixed_sequential("11", 2))
    for load in (0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9):
        yield Pattern(f"open_rand64_L{int(load * 100)}", _reads(_uniform(64), 64, _arrivals(load)))
    for load in (0.1, 0.3, 0.5, 0.7, 0.9, 0.95):
        yield Pattern(f"open_seq64_L{int(load * 100)}", _reads(_strided(64), 64, _arrivals(load)))


def fingerprint(spec: DramChannelSpec, pattern: Pattern) -> str:
    """Sixteen hex digits of SHA-256 over mapped accesses, arrivals and types, as the reference has them."""
    requests = pattern.requests
    at = dram_channel.mapping_for(spec, pattern.mapping)(dram_channel.accesses(spec, requests))
    channel = np.zeros_like(at["row"])
    table = np.stack([channel, *(at[name] for name in COORDINATES)], axis=1).astype(np.int32)
    arrival = requests.arrival_ticks
    if arrival is None:
        arrival = np.full(requests.is_write.size, -1, np.int64)
    data = (table, arrival.astype(np.int64), requests.is_write.astype(np.int64))
    return hashlib.sha256(b"".join(part.tobytes() for part in data)).hexdigest()[:16]
