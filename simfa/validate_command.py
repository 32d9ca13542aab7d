"""`python -m simfa validate`: every validation study with its errors, as a table or JSON."""

import argparse
from collections.abc import Callable

from presets.arguments import print_json
from presets.errors import PresetError, unknown
from simfa.validation import dram, tma_latency, wgmma
from simfa.validation.study import Study

STUDIES: dict[str, Callable[[], Study]] = {
    "dram-latency": dram.latency_study,
    "dram-bandwidth": dram.bandwidth_study,
    "tma-latency": tma_latency.study,
    "wgmma": wgmma.study,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which studies, and how to print them."""
    parser.add_argument("--study", help=f"comma-separated: {', '.join(STUDIES)}; default all")
    parser.add_argument("--points", action="store_true", help="every point, not only the summary")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Run the chosen studies and print their summaries. Raises PresetError on an unknown name."""
    names = [name.strip() for name in args.study.split(",")] if args.study else list(STUDIES)
    for name in names:
        if name not in STUDIES:
            raise PresetError(f"--study: {unknown('study', name, STUDIES)}")
    studies = [STUDIES[name]() for name in names]
    if args.json:
        print_json([study.record() if args.points else study.summary() for study in studies])
        return 0
    for study in studies:
        _print(study, args.points)
    return 0


def _print(study: Study, with_points: bool) -> None:
    found = study.summary()
    print(
        f"{study.title}: MAPE {found['mape_pct']:.2f} %, worst {found['worst_pct']:+.2f} % at {found['worst_at']}, "
        f"{found['points']} points; {found['unseen_points']} unseen by any fit: {found['unseen_mape_pct']:.2f} %"
    )
    for point in study.points if with_points else ():
        mark = "  fitted" if point.fitted else ""
        print(
            f"  {point.label}: measured {point.reference:.1f}, model {point.model:.1f} {point.unit} "
            f"({point.error_pct:+.1f} %){mark}"
        )
