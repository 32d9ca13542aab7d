"""`python -m simfa validate`: every validation study with its errors, as a table or JSON."""

import argparse
from collections.abc import Callable
from typing import Any

from presets.arguments import print_json
from presets.errors import PresetError, unknown
from simfa.validation import (
    ablations,
    dram,
    fa3,
    fa3_ladder,
    fa3_unlocked,
    fa3_walk,
    fig9_traffic,
    gb10,
    softmax,
    tma_bandwidth,
    tma_latency,
    wgmma,
)
from simfa.validation.study import Study

STUDIES: dict[str, Callable[[], Study]] = {
    "dram-latency": dram.latency_study,
    "dram-bandwidth": dram.bandwidth_study,
    "tma-latency": tma_latency.study,
    "tma-bandwidth": tma_bandwidth.study,
    "wgmma": wgmma.study,
    "softmax": softmax.study,
    "ablations": ablations.study,
    "gb10": gb10.study,
    "fa3": fa3.study,
}
ON_REQUEST: dict[str, Callable[[], Study]] = {  # too long for every day
    "tma-mshr": tma_bandwidth.mshr_study,
    "fa3-all": fa3.full_study,
    "fa3-ladder": fa3_ladder.ladder_study,
    "fa3-walk": fa3_walk.walk_study,
    "fa3-fit": fa3_ladder.fit_study,
    "fa3-unlocked": fa3_unlocked.study,
    "fa3-unlocked-paper": fa3_unlocked.paper_study,
    "fig9-traffic": fig9_traffic.study,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which studies, and how to print them."""
    names = f"{', '.join(STUDIES)} (default: these); on request {', '.join(ON_REQUEST)}"
    parser.add_argument("--study", help=f"comma-separated: {names}")
    parser.add_argument(
        "--points", action="store_true", help="errors by group and every point, not only the summary"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Run the chosen studies and print their summaries. Raises PresetError on an unknown name."""
    known = STUDIES | ON_REQUEST
    names = [name.strip() for name in args.study.split(",")] if args.study else list(STUDIES)
    for name in names:
        if name not in known:
            raise PresetError(f"--study: {unknown('study', name, known)}")
    studies = [known[name]() for name in names]
    if args.json:
        print_json([study.record() if args.points else study.summary() for study in studies])
        return 0
    for study in studies:
        _print(study, args.points)
    return 0


def _print(study: Study, with_points: bool) -> None:
    found = study.summary()
    is_error = study.compares == "error"
    print(
        f"{study.title}: {_errors(found) if is_error else f'{len(study.points)} launches, changes of our own time'}"
    )
    for group in found["groups"] if with_points or not is_error else ():
        size = f"{group['mape_pct']:.2f} % of {group['points']}, mean " if is_error else "mean "
        more = f"; published: {group['published']}" if group["published"] else ""
        more += f"; {group['note']}" if group["note"] else ""
        print(f"  {group['group']}: {size}{group['mean_pct']:+.2f} %, worst {group['worst_pct']:+.2f} %{more}")
    reference = "measured" if is_error else "full model"
    for point in study.points if with_points else ():
        mark = "  fitted" if point.fitted else ""
        print(
            f"  {point.label}: {reference} {point.reference:.1f}, model {point.model:.1f} {point.unit} "
            f"({point.error_pct:+.1f} %){mark}"
        )


def _errors(found: dict[str, Any]) -> str:
    return (
        f"MAPE {found['mape_pct']:.2f} %, worst {found['worst_pct']:+.2f} % at {found['worst_at']}, "
        f"{found['points']} points; {found['unseen_points']} unseen by any fit: {found['unseen_mape_pct']:.2f} %"
    )
