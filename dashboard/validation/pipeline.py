"""Fig. 7: the pipeline of the first SM, Llama 3.1 405B at 6,144 tokens."""

import pandas as pd

from dashboard import window as windows
from dashboard.examples import long
from dashboard.figures import gantt
from dashboard.figures import paper as figures
from dashboard.validation import stored
from dashboard.validation.view import Answer, NotStored
from dashboard.window import Window
from presets import paper_tables
from simfa.validation.cases import PIPELINE


def fig7(_ink: str) -> Answer:
    """Fig. 7: who did what in the first cycles, and in what share of them once the pipeline has filled."""
    answer = long.pipeline()
    if answer is None:
        raise NotStored(f"This pipeline is not stored here. {stored.LONG} simulates and stores it.")
    experiment = long.launch(*PIPELINE, "paper")
    spans, record = answer["timeline"], answer["record"]
    low, high = gantt.window(spans, 0.0)
    steady = Window(high, long.KEPT_CYCLES)
    use = windows.use(spans, answer["occupancy"], steady)
    title = (
        f"Once filled, the tensor core works {use.tensor_core:.0%} of the time, consumers wait "
        f"{use.consumers_waiting:.0%} of theirs"
    )
    chart = gantt.figure(spans, experiment.gpu.sm.clock_hz, (low, high), title)
    table = pd.DataFrame(windows.warpgroups(spans, steady) * 100).reset_index()
    return Answer(
        title,
        table,
        spans.astype(dict.fromkeys(("row", "activity", "category"), str)).to_dict("records"),
        (
            f"SM {answer['sm']} of {experiment.words()}: the first {long.KEPT_CYCLES:,} of {record['cycles']:,} "
            "cycles; drag to zoom, and the Timeline page has any SM of any launch. The table's shares are of "
            f"cycles {steady.start_cycle:,.0f} to {steady.end_cycle:,.0f}.",
            "The paper's figure has no numbers; it shows the overlap of producer and consumers and their turns on "
            "the tensor core.",
        ),
        f"{paper_tables.SOURCE}, section 5.3; simulated with preset h800, seed {long.SEED}",
        chart=figures.untitled(chart),
        formats=dict.fromkeys(table.columns[1:], "{:.1f}"),
        wide=True,
        stale=stored.stale(long.FIG7),
    )
