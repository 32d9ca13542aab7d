"""`python -m simfa dram`: one DRAM channel alone, driven by the requests of an .npz file."""

import argparse
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from presets import loader
from presets.arguments import parse_settings, print_json
from presets.dram_specs import DramChannelSpec
from presets.errors import PresetError, unknown
from simfa import dram_channel
from simfa.dram_channel import REFRESHES, Requests
from simfa.memory.channel.mapping import MAPPINGS

MAX_REQUESTS = 50_000_000
MAX_REQUEST_BYTES = 4096
MAX_TICKS = 1 << 50
_UNREADABLE = (OSError, ValueError, EOFError, MemoryError, NotImplementedError, zipfile.BadZipFile, zlib.error)
REQUIRED = ("address", "is_write", "size_bytes")
OPTIONAL = ("arrival_ns",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    presets = ", ".join(loader.names(DramChannelSpec))
    parser.add_argument("--preset", default="hbm3-5200", help=f"DRAM preset ({presets}), or a .toml file")
    parser.add_argument(
        "--requests",
        type=Path,
        required=True,
        metavar="FILE.npz",
        help="arrays address (bytes, modulo the channel), is_write, scalar size_bytes; arrival_ns: open loop",
    )
    parser.add_argument("--outstanding", type=int, default=32, help="closed loop: requests in flight (default 32)")
    parser.add_argument("--mapping", help=f"address mapping: {', '.join(MAPPINGS)}; default: the preset's")
    parser.add_argument("--refresh", default="none", help=" or ".join(REFRESHES))
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="change a value: timing.cl_cycles=20"
    )
    parser.add_argument("--json", action="store_true", help="print a JSON record")


def run(args: argparse.Namespace) -> int:
    """Simulate the file's requests and print the statistics. Raises PresetError."""
    if args.refresh not in REFRESHES:
        raise PresetError(f"--refresh: {unknown('kind', args.refresh, REFRESHES)}")
    spec = loader.load(DramChannelSpec, args.preset)
    if args.set:
        spec = loader.override(spec, parse_settings(args.set))
    requests = read_requests(args.requests, spec)
    options = {
        "outstanding": args.outstanding,
        "mapping": args.mapping or spec.controller.mapping,
        "refresh": args.refresh,
    }
    result = dram_channel.run(spec, requests, **options)
    if requests.arrival_ticks is not None:
        options["outstanding"] = None
    statistics = dram_channel.statistics(result)
    record = {"preset": spec.name, **options, **statistics, "commands": result.commands, "wall_s": result.wall_s}
    if args.json:
        print_json(record)
    else:
        print(_line(record))
    return 0


def _line(record: dict[str, Any]) -> str:
    latency = "no read"
    if record["latency_mean_ns"] is not None:
        figures = (f"{name} {record[f'latency_{name}_ns']:.1f}" for name in ("mean", "p50", "p95", "p99"))
        latency = f"latency {' '.join(figures)} ns"
    bandwidth = record["bandwidth_gbs"]
    speed = "too few to time" if bandwidth is None else f"{bandwidth:.2f} GB/s"
    count = f"{record['requests']:,} requests in {record['wall_s']:.3f} s"
    return f"{record['preset']}  {latency}  {speed}  {count}"


def read_requests(path: Path, spec: DramChannelSpec) -> Requests:
    """The requests of an .npz file, checked. Raises PresetError naming file, array and what is allowed."""
    arrays = _load(path)
    address = _whole(arrays, "address", path)
    if address.ndim != 1 or not 1 <= address.size <= MAX_REQUESTS:
        raise _error(
            path, "address", f"has shape {address.shape}; allowed: one dimension, 1 to {MAX_REQUESTS:,} items"
        )
    step = spec.organisation.access_bytes
    _check(path, "address", address, (address >= 0) & (address % step == 0), f"a multiple of {step} from 0 up")
    is_write = _whole(arrays, "is_write", path)
    _same_length(path, "is_write", is_write, address)
    _check(path, "is_write", is_write, (is_write == 0) | (is_write == 1), "0 or 1, or a boolean")
    size = _whole(arrays, "size_bytes", path)
    if size.size != 1:
        raise _error(path, "size_bytes", f"has {size.size} items; allowed: one number")
    fits = (size > 0) & (size <= MAX_REQUEST_BYTES) & (size % step == 0)
    _check(path, "size_bytes", size, fits, f"a multiple of {step} up to {MAX_REQUEST_BYTES}")
    return Requests(address, is_write, int(size.flat[0]), _arrivals(arrays, path, address, spec))


def _load(path: Path) -> dict[str, np.ndarray]:
    try:
        loaded = np.load(path, allow_pickle=False)
        if not isinstance(loaded, np.lib.npyio.NpzFile):
            raise PresetError(f"{path}: a single array; allowed: an .npz archive of {', '.join(REQUIRED)}")
        with loaded as archive:
            missing = [name for name in REQUIRED if name not in archive.files]
            if missing:
                names = ", ".join(archive.files) or "nothing"
                raise PresetError(
                    f"{path}: {missing[0]}: missing array; needed: {', '.join(REQUIRED)}; found: {names}"
                )
            return {name: archive[name] for name in (*REQUIRED, *OPTIONAL) if name in archive.files}
    except _UNREADABLE as error:
        if isinstance(error, PresetError):
            raise
        raise PresetError(f"{path}: cannot be read as an .npz archive of plain arrays: {error}") from None


def _whole(arrays: dict[str, np.ndarray], name: str, path: Path) -> np.ndarray:
    """The array as int64. Unsigned values above the range fail the sign test of the caller."""
    array = arrays[name]
    if array.dtype.kind not in "biu":
        raise _error(
            path, name, f"has type {array.dtype}; allowed: whole numbers{' or booleans' * (name == 'is_write')}"
        )
    return array.astype(np.int64)


def _arrivals(
    arrays: dict[str, np.ndarray], path: Path, address: np.ndarray, spec: DramChannelSpec
) -> np.ndarray | None:
    """Arrivals as the ticks in which they fall; None where the file has none (a closed loop)."""
    if "arrival_ns" not in arrays:
        return None
    given = arrays["arrival_ns"]
    if given.dtype.kind not in "iuf":
        raise _error(path, "arrival_ns", f"has type {given.dtype}; allowed: numbers of ns")
    _same_length(path, "arrival_ns", given, address)
    ticks = given.astype(float) / dram_channel.tick_ns(spec)
    _check(path, "arrival_ns", given, (ticks >= 0) & (ticks < MAX_TICKS), "finite numbers of ns from 0 up")
    _check(path, "arrival_ns", given, np.diff(ticks, prepend=0) >= 0, "times that never decrease")
    return np.floor(ticks + 1e-6).astype(np.int64)


def _same_length(path: Path, name: str, array: np.ndarray, address: np.ndarray) -> None:
    if array.shape != address.shape:
        raise _error(path, name, f"has shape {array.shape}; allowed: that of address, {address.shape}")


def _check(path: Path, name: str, array: np.ndarray, good: np.ndarray, allowed: str) -> None:
    bad = np.flatnonzero(~good)
    if bad.size:
        raise _error(path, name, f"item {bad[0]} is {array.flat[bad[0]]}; allowed: {allowed}")


def _error(path: Path, name: str, message: str) -> PresetError:
    return PresetError(f"{path}: {name}: {message}")
