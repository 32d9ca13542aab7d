"""Fig. 6: the fifteen latencies of section 5.3 by every estimator."""

from statistics import fmean

import pandas as pd

from dashboard.catalog import ESTIMATORS, record_of
from dashboard.compare import digits
from dashboard.examples import long
from dashboard.figures import paper as figures
from dashboard.validation import stored
from dashboard.validation.estimators import CALIBRATED, GENZ, MARKS, PAPER, ROOFLINE
from dashboard.validation.view import Answer, NotStored, Row
from presets import loader, paper_tables
from presets.specs import LlmSpec
from simfa.validation.cases import LENGTHS, MODELS

SHOWN = (PAPER, CALIBRATED, ROOFLINE, GENZ)
_STORED = {PAPER: "paper", CALIBRATED: "calibrated"}


def rows() -> list[Row]:
    """A row per launch: its model and length, and the latency of each estimator in microseconds."""
    launches = {(r["params"], r["llm"], r["seq_q"]): r for r in long.launches()}
    if not launches:
        raise NotStored(f"The fifteen launches are not stored here. {stored.LONG} simulates and stores them.")
    found = []
    for llm in MODELS:
        for tokens in LENGTHS:
            row: Row = {"llm": llm, "model": loader.load(LlmSpec, llm).title, "tokens": tokens}
            for name in SHOWN:
                record = launches[_STORED[name], llm, tokens] if name in _STORED else _closed(name, llm, tokens)
                row[f"{name}_us"] = record["latency_us"]
            row["paper_set_cycles"] = launches["paper", llm, tokens]["cycles"]
            row["calibrated_cycles"] = launches["calibrated", llm, tokens]["cycles"]
            found.append(row)
    return found


def _closed(name: str, llm: str, tokens: int) -> Row:
    return record_of(ESTIMATORS[name].name, long.launch(llm, tokens, "paper"))


def fig6(_ink: str) -> Answer:
    """Fig. 6: simulated latencies of both parameter sets, the roofline's and GenZ's, at 1830 MHz."""
    found = rows()
    titles = {f"{name}_us": MARKS[name].short.removeprefix("Sim-FA, ").capitalize() for name in (PAPER, CALIBRATED)}
    titles |= {f"{name}_us": MARKS[name].short for name in (ROOFLINE, GENZ)}
    table = pd.DataFrame(found)[["model", "tokens", *titles]]
    table = table.rename(columns={"model": "Latency (µs)", "tokens": "Tokens"} | titles)
    less = fmean(row[f"{CALIBRATED}_us"] / row[f"{PAPER}_us"] for row in found)
    above = [row[f"{PAPER}_us"] / row[f"{ROOFLINE}_us"] for row in found]
    title = (
        f"The paper's parameters take {digits(min(above))} to {digits(max(above))} times the roofline's time; "
        f"calibrated ones {(1 - less) * 100:.0f} % less than the paper's"
    )
    mean, worst = (value for _, _, value in paper_tables.stated("Fig. 6"))
    return Answer(
        title,
        table,
        found,
        (
            f"The paper states {mean:g} % mean and {worst:g} % worst error against its own H800 at 1830 MHz. "
            "It prints the fifteen measured times in a figure only and nobody else has published them, so no error "
            "of ours can be given here: for errors see the H100 kernels under Public measurements.",
            "One layer, FP16, no mask, batch 1. Calibrated values stem from H100 SXM, the same die.",
        ),
        f"{paper_tables.SOURCE}, section 5.3; simulated with preset h800, seed 0",
        "nothing on these launches; the calibrated set has two values fitted on H100 kernels",
        figures.latencies(found, SHOWN, MARKS),
        dict.fromkeys(titles.values(), "{:,.4g}") | {"Tokens": "{:,}"},
        stale=stored.stale(long.LAUNCHES),
    )
