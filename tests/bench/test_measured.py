"""Reading speed of measured files: pytest tests/bench/test_measured.py --benchmark-enable [-m slow]

Figures of the files below with 100,000 launches, read from bytes in memory on one core of a shared 2-core
virtual machine, Python 3.11: details page 201 MB 4.9 s and 410 MiB at the peak (upload included), raw page
204 MB 4.4 s and 377 MiB, GPU trace 15 MB 2.0 s and 145 MiB. With the other core and half of this one busy
the details page took up to 8.5 s.
"""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator
from itertools import repeat
from typing import Any

import pytest

from dashboard.measured import read

KERNEL = "void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, half_t>, 0, 1>(Params)"
METRICS = (
    ("dram__bytes_read.sum", "Mbyte", "4.{:02d}"),
    ("dram__bytes_write.sum", "byte", "1,0{:02d},456"),
    ("gpu__time_duration.sum", "us", "10.{:02d}"),
    ("lts__t_sectors.sum", "sector", "34,0{:02d},136"),
    ("lts__t_sectors_srcunit_tex.sum", "sector", "33,0{:02d},136"),
    ("lts__t_sector_hit_rate.pct", "%", "95.{:02d}"),
    ("sm__cycles_elapsed.avg.per_second", "Ghz", "1.{:02d}"),
    ("sm__throughput.avg.pct_of_peak_sustained_elapsed", "%", "8.{:02d}"),
)
LAUNCH_COLUMNS = (
    *("ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream"),
    *("Block Size", "Grid Size", "Device", "CC"),
)


def _row(cells: Any) -> str:
    return '"' + '","'.join(cells) + '"\n'


def _launch(id_: int) -> tuple[str, ...]:
    return (
        str(id_),
        "4242",
        "python3.12",
        "127.0.0.1",
        KERNEL,
        "1",
        "7",
        "(128, 1, 1)",
        "(8, 64, 1)",
        "0",
        "9.0",
    )


def details(launches: int) -> Iterator[str]:
    """About 2 kB per launch, one row per metric."""
    yield _row((*LAUNCH_COLUMNS, "Section Name", "Metric Name", "Metric Unit", "Metric Value", "Rule Name"))
    for id_ in range(launches):
        for name, unit, form in METRICS:
            yield _row((*_launch(id_), "Command line profiler metrics", name, unit, form.format(id_ % 100)))


def raw(launches: int) -> Iterator[str]:
    """About 2 kB per launch, one column per metric, most of them not used."""
    others = 165
    yield _row((*LAUNCH_COLUMNS, *(name for name, _, _ in METRICS), *(f"smsp__x_{i}.sum" for i in range(others))))
    yield _row((*repeat("", 11), *(unit for _, unit, _ in METRICS), *repeat("inst", others)))
    for id_ in range(launches):
        values = (form.format(id_ % 100) for _, _, form in METRICS)
        yield _row((*_launch(id_), *values, *(f"{id_ * i % 99991}.00" for i in range(others))))


def trace(launches: int) -> Iterator[str]:
    """About 0.2 kB per launch."""
    yield "Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Device,Ctx,Strm,Name\n"
    rest = f'128,1,1,256,1,1,NVIDIA A100 (0),1,13,"{KERNEL}"'
    for id_ in range(launches):
        yield f"{2591659227 + id_},{15167 + id_ % 999},{id_},{rest}\n"


PAGES: dict[str, Callable[[int], Iterator[str]]] = {"details": details, "raw": raw, "trace": trace}


def _measure(benchmark: Any, page: str, launches: int, rounds: int) -> int:
    data = "".join(PAGES[page](launches)).encode()
    found = benchmark.pedantic(read, (data, page), rounds=rounds)
    peak_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    benchmark.extra_info.update(megabytes=len(data) / 1e6, launches=len(found), peak_mib=peak_kib / 1024)
    return len(found)


@pytest.mark.parametrize("page", PAGES)
def test_read(benchmark: Any, page: str) -> None:
    assert _measure(benchmark, page, 1_000, rounds=3) == 1_000


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_read_100_000_launches(benchmark: Any, page: str) -> None:
    assert _measure(benchmark, page, 100_000, rounds=1) == 100_000
