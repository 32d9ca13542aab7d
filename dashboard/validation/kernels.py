"""Views of whole kernels: every estimator's error on the same public measurements."""

from collections.abc import Sequence

import pandas as pd

from dashboard.figures import paper as figures
from dashboard.validation import estimators, stored
from dashboard.validation.estimators import CALIBRATED, GENZ, LATENCY, MARKS, PRESET, RIVAL, ROOFLINE, Estimate
from dashboard.validation.view import Answer, Row

_FORMATS = {"Points": "{:,}", "Mean (%)": "{:.2f}", "With sign (%)": "{:+.2f}", "Worst (%)": "{:+.2f}"}
_CLOSED = (
    "SimFA-python and GenZ get the kernel's own tile and the clock of the measurement, as on the Measured page. A "
    "roofline is a lower bound; GenZ knows no mask, so that it counts causal kernels twice."
)


def locked(_ink: str) -> Answer:
    """Sixteen FlashAttention-3 kernels on H100 at 1500 MHz."""
    found, study = estimators.locked(), stored.study("fa3-all")
    by_name = _by_estimator(found)
    ours, rival = by_name[CALIBRATED], by_name[RIVAL]
    title = (
        f"The calibrated simulation is off by {ours['mape_pct']:.1f} % on average and "
        f"{abs(ours['worst_pct']):.1f} % at worst, FlashGPU-Sim by {rival['mape_pct']:.1f} and "
        f"{abs(rival['worst_pct']):.1f} %"
    )
    unseen = [one for one in found if one.estimator == CALIBRATED and one.quantity == LATENCY and not one.fitted]
    blind = estimators.summary(unseen)[0]
    return _answer(
        title,
        found,
        study,
        (
            f"No fit has seen the {blind['points']} kernels of 2,048 tokens: {blind['mape_pct']:.2f} % mean, "
            f"{blind['worst_pct']:+.2f} % worst there. Informed values were chosen with all sixteen times in view, "
            "so no result here is blind. The paper's set differs most by its 64 lines in flight.",
            _CLOSED,
        ),
    )


def unlocked(_ink: str) -> Answer:
    """FlashAttention-3 on H100 where the clock is not known."""
    found, study = estimators.unlocked(), stored.study("fa3-unlocked")
    by_name = _by_estimator(found)
    title = (
        f"At unknown clocks the calibrated simulation is off by {by_name[CALIBRATED]['mape_pct']:.1f} %, the "
        f"roofline by {by_name[ROOFLINE]['mape_pct']:.1f} %, GenZ by {by_name[GENZ]['mape_pct']:.0f} %"
    )
    paper = (
        "The paper's tile does not fit at head dimension 256."
        if stored.has(estimators.UNLOCKED_PAPER)
        else f"The paper's set is not stored here for these; {stored.LONG} simulates it."
    )
    return _answer(
        title,
        found,
        study,
        (
            "Every time is predicted from the other kernels of its source: the simulation by a clock that falls "
            f"with tensor utilisation, SimFA-python and GenZ by one factor. {paper}",
        ),
    )


def gb10(_ink: str) -> Answer:
    """cuTile kernels on GB10: latency and traffic."""
    found, study = estimators.gb10(), stored.study("gb10")
    simulated = [one for one in found if one.estimator == PRESET]
    exact = all(one.error_pct == 0 for one in simulated if one.quantity == "L2 reads")
    longer = [(one.measured / one.estimated - 1) * 100 for one in simulated if one.quantity == LATENCY]
    title = (
        f"L2 reads are {'exact' if exact else 'not exact'}; public kernels take {min(longer):.0f} to "
        f"{max(longer):.0f} % longer than simulated"
    )
    return _answer(title, found, study, ("SimFA-python with launch order takes all live heads into Eq. (4).",))


def _by_estimator(found: Sequence[Estimate]) -> dict[str, Row]:
    return {row["estimator"]: row for row in estimators.summary(found) if row["quantity"] == LATENCY}


def _answer(title: str, found: Sequence[Estimate], study: Row, said: Sequence[str]) -> Answer:
    summed = estimators.summary(found)
    quantities = list(dict.fromkeys(row["quantity"] for row in summed))
    table = pd.DataFrame(
        [
            ({"Quantity": row["quantity"]} if len(quantities) > 1 else {})
            | {"Estimator": MARKS[row["estimator"]].short, "Points": row["points"],
               "Mean (%)": row["mape_pct"], "With sign (%)": row["mean_pct"], "Worst (%)": row["worst_pct"]}
            for row in summed
        ]
    )  # fmt: skip
    stale = stored.stale(study["study"])
    return Answer(
        title,
        table,
        [one.record() for one in found],
        (*said, study["context"]),
        study["source"],
        study["fitted"],
        figures.errors(found, MARKS),
        _FORMATS,
        stale=stale,
    )
