"""The tour: the paper's main finding in steps, each with a number computed now, a figure, and a place to go on.

Every number in a sentence comes from the closed forms, from a shipped measurement, or from the stored simulation,
and is written by the code that computed it; nothing is typed in.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

import plotly.graph_objects as go

from analytical import genz, launch_order, simfa_python
from dashboard import examples, regimes, traffic
from dashboard.catalog import ESTIMATORS
from dashboard.compare import difference, digits, said
from dashboard.figures import tour as figures
from dashboard.figures.style import CEILING
from dashboard.figures.tour import Bar, Curve
from dashboard.measured import comparison, gallery
from dashboard.measured.comparison import Row
from dashboard.recipe import Recipe
from dashboard.regimes_words import gb, mib
from presets import measured_points
from presets.experiment import Experiment
from presets.record import to_record

SUBJECT = Recipe(llm="llama3.1-405b", seq=65_536, params="paper")
LEAVES = 1.1  # a curve counts as having left the ideal line from here on
SIZES_MIB = tuple(range(16, 51))
_PAPER, _IDEAL, _ORDER = (ESTIMATORS[name] for name in (simfa_python.NAME, genz.NAME, launch_order.NAME))
_COUNTERS = "presets/measured/measured_traffic.csv"


@dataclass(frozen=True)
class Link:
    """Where to go on: the words on the button, the page's path, and its state."""

    label: str
    page: str
    query: str

    @property
    def address(self) -> str:
        """Relative to any page of the app."""
        return f"./{self.page}?{self.query}" if self.query else f"./{self.page}"


@dataclass(frozen=True)
class Step:
    """One step: a heading, a number with what it is, two or three sentences, a figure, links, and the sources."""

    title: str
    number: str
    what: str
    text: str
    figure: go.Figure
    links: tuple[Link, ...]
    source: str


def steps(recipe: Recipe = SUBJECT) -> list[Step]:
    """The tour of one recipe: the paper's own is Llama 3.1 405B, 65,536 tokens, H800."""
    experiment, counted = recipe.experiment(), counters()
    made = [
        _finding(recipe, experiment),
        _condition(recipe, experiment),
        _capacity(recipe, experiment),
        _time(recipe, experiment),
        _agree(counted),
        _disagree(counted),
        _smooth(recipe, experiment),
        _cycles(),
    ]
    return [step for step in made if step is not None]


def _finding(recipe: Recipe, experiment: Experiment) -> Step:
    curve = traffic.curve(experiment, traffic.SHORTEST)
    real, ideal = _dram(simfa_python, experiment), _dram(genz, experiment)
    length, lengths = experiment.workload.seq_kv, list(curve.points["length"])
    lines = [
        Curve(_PAPER.short, _PAPER.color, "solid", lengths, list(curve.points["simfa_python"] / 1e9)),
        Curve(_IDEAL.title, _IDEAL.color, "dash", lengths, list(curve.points["genz"] / 1e9)),
    ]
    times = f"{digits(real / ideal)} times"
    return Step(
        "Ideal-cache models leave out the traffic that capacity causes",
        times,
        f"the ideal DRAM traffic, {experiment.llm.title}, {length:,} tokens, {experiment.gpu.title}",
        f"With an ideal cache every tensor crosses DRAM once: {gb(ideal)}, Eq. (3), as GenZ has it. SimFA-python, "
        f"the paper's closed forms, has {gb(real)}, Eq. (6).",
        figures.curves(
            lines,
            f"DRAM traffic leaves the ideal line at {curve.first_unfit_tokens:,} tokens",
            ("Sequence length L = S (tokens)", "DRAM traffic (GB)"),
            place=(length, f"{length:,} tokens"),
        ),
        (Link("Open in Regimes", "regimes", recipe.query()),),
        "Eqs. (3) and (6) by analytical/; the effective L2 is "
        f"{experiment.gpu.provenance['l2.effective_bytes'].source}.",
    )


def _condition(recipe: Recipe, experiment: Experiment) -> Step:
    size, edge = experiment.gpu.l2.effective_bytes, traffic.first_unfit_tokens(experiment)
    here = simfa_python.run(experiment)
    lengths = [2**n for n in range(10, 18)]
    heads = [_head_bytes(regimes.at_length(experiment, n)) / 2**20 for n in lengths]
    residents = experiment.gpu.sm.count * experiment.kernel.pipeline.occupancy_ctas
    return Step(
        "The condition: one K and one V head must fit the L2",
        f"{edge:,} tokens",
        "the shortest K/V for which Eq. (4) fails",
        f"One K and one V head take {mib(_head_bytes(experiment))} at {experiment.workload.seq_kv:,} tokens; the "
        f"effective L2 holds {mib(size)}. So {here.waves} waves of {residents} CTAs, Eq. (5), each read K and V "
        "again.",
        figures.curves(
            [Curve("One K and one V head", _PAPER.color, "solid", lengths, heads)],
            f"One K and one V head outgrow {mib(size)} at {edge:,} tokens",
            ("K/V length S (tokens)", "Bytes of K and V (MiB)"),
            level=(size / 2**20, f"effective L2, {mib(size)}"),
            place=(edge, f"{edge:,} tokens"),
        ),
        (Link("Open at the boundary", "regimes", recipe.changed({"seq": str(edge)}).query()),),
        "Eqs. (4) and (5). MiB = 2^20 bytes, GB = 10^9.",
    )


def _capacity(recipe: Recipe, experiment: Experiment) -> Step:
    needed = _head_bytes(experiment) // 2**20 + 1
    sizes = sorted({*SIZES_MIB, needed})
    runs = [_with_l2(recipe, n) for n in sizes]
    lines = [
        Curve(entry.short, entry.color, dash, sizes, [_dram(module, run) / 1e9 for run in runs])
        for entry, module, dash in ((_PAPER, simfa_python, "solid"), (_ORDER, launch_order, "longdashdot"))
    ]
    enough = _with_l2(recipe, needed)
    vary = "l2.effective_bytes=" + ",".join(f"{n}MiB" for n in (20, 25, 30, needed, 40, 50) if n)
    return Step(
        "What if the L2 were larger",
        f"{needed} MiB",
        "the smallest whole number of MiB that restores Eq. (3)",
        f"By Eq. (4) that brings {gb(_dram(simfa_python, enough))} back. With launch order, where sets of the L2 "
        f"overflow one by one, it still moves {gb(_dram(launch_order, enough))}.",
        figures.curves(
            lines,
            f"DRAM traffic at {experiment.workload.seq_kv:,} tokens against L2 size",
            ("Effective L2 (MiB)", "DRAM traffic (GB)"),
            logarithmic=False,
        ),
        (Link("Open in Sweep", "sweep", _query(recipe, vary=vary)),),
        "Closed forms over l2.effective_bytes, a what-if of the preset.",
    )


def _time(recipe: Recipe, experiment: Experiment) -> Step:
    real, ideal = (to_record(experiment, module.run(experiment)) for module in (simfa_python, genz))
    ratios = {
        "DRAM traffic": real["dram_bytes"] / ideal["dram_bytes"],
        "Latency": real["latency_us"] / ideal["latency_us"],
    }
    slower = difference(real["latency_us"], ideal["latency_us"]) or "no difference"
    return Step(
        "The time does not show it",
        slower,
        "latency of SimFA-python against the ideal cache, for the same launch",
        f"Both rooflines are bound by {said(real['bottleneck'])}: {digits(real['latency_us'] / 1e3)} and "
        f"{digits(ideal['latency_us'] / 1e3)} ms. A model can be right in time and wrong in traffic, which "
        "counts where DRAM bandwidth or energy is the question.",
        figures.bars(
            [Bar(name, _PAPER.color, value, f"{digits(value)} times") for name, value in ratios.items()],
            "SimFA-python over the ideal cache",
            "Multiple of the ideal-cache model",
            (1.0, "equal"),
        ),
        (Link("Open in Compare", "", recipe.query()),),
        "Rooflines by analytical/: the highest ceiling counts.",
    )


def counters() -> list[Row]:
    """Public traffic counters against SimFA-python and launch order, at the preset's clock."""
    cases = [case for case in gallery.cases() if case.dram_bytes.value is not None]
    found = comparison.compare(cases, [simfa_python.NAME, launch_order.NAME], False)
    return [row for row in found.rows if row["quantity"] != "latency_us" and row["estimated"]]


def table(rows: Sequence[Row]) -> list[dict[str, object]]:
    """The counters as people read them: measured, estimated, their ratio, and the source of each."""
    return [
        {
            "Kernel": row["label"],
            "Quantity": "L2 traffic" if row["quantity"] == "l2_bytes" else "DRAM traffic",
            "Measured (MB)": row["measured"] / 1e6,
            "Estimator": ESTIMATORS[row["estimator"]].title,
            "Estimated (MB)": row["estimated"] / 1e6,
            "Measured / estimated": row["measured"] / row["estimated"],
            "Source": row["measured_source"],
        }
        for row in rows
    ]


def _agree(counted: Sequence[Row]) -> Step:
    rows = _of(counted, "l2_bytes", simfa_python.NAME)
    exact = [row for row in rows if row["measured"] == row["estimated"]]
    ratios = [row["measured"] / row["estimated"] for row in rows]
    return Step(
        "Where public counters agree: bytes between SMs and L2",
        f"{len(exact)} of {len(rows)}",
        "public L2 counters that Eq. (2) meets to the byte",
        f"Eq. (2) counts what tiles ask of the L2; Nsight Compute on GB10 counts {min(ratios):.4f} to "
        f"{max(ratios):.4f} times that.",
        _ratios(rows, "L2 bytes, measured over Eq. (2)", None),
        (Link("What else is checked: Validation", "validation", ""),),
        f"{_COUNTERS}: {_sources(rows)}.",
    )


def _disagree(counted: Sequence[Row]) -> Step:
    rows, ordered = (_of(counted, "dram_bytes", name) for name in (simfa_python.NAME, launch_order.NAME))
    worst = max(rows, key=lambda row: row["measured"] / row["estimated"])
    beside = next(row for row in ordered if row["case"] == worst["case"])
    others = [row["measured"] / row["estimated"] for row in rows if row is not worst]
    longest = max(row["seq_kv"] for row in rows)
    fits = f"{worst['regime']} by Eq. (4)"
    return Step(
        "Where they disagree: DRAM, with several heads in flight",
        f"{worst['measured'] / worst['estimated']:.2f} times",
        f"Eq. (3): {worst['label']}",
        f"That launch is {fits}, but Eq. (4) is about one KV head and {worst['heads_kv']} are in flight. Launch "
        f"order gives {digits(beside['estimated'] / 1e6)} MB where {digits(beside['measured'] / 1e6)} are counted. "
        f"The others lie at {min(others):.2f} to {max(others):.2f} times. No public counter here goes beyond "
        f"{longest:,} tokens: step 1 rests on the paper's own (Fig. 9).",
        _ratios(rows, "DRAM bytes, measured over Eq. (3)", {row["case"]: row for row in ordered}),
        (
            Link("Open in Measured", "measured", urlencode({"measured_quantity": "dram_bytes"})),
            Link("This launch in Regimes", "regimes", _launch(worst)),
        ),
        f"{_COUNTERS}: {_sources(rows)}. On GB10 misses of the L2 stand in for DRAM counters; launches of one "
        "kernel spread.",
    )


def _smooth(recipe: Recipe, experiment: Experiment) -> Step:
    shown = regimes.curves(experiment)
    points = shown.points[(shown.points["length"] >= 4096) & (shown.points["length"] <= traffic.LONGEST)]
    lengths, ideal = list(points["length"]), points[f"dram.{genz.NAME}"]
    lines = [
        Curve(entry.short, entry.color, dash, lengths, list(points[f"dram.{entry.name}"] / ideal))
        for entry, dash in ((_PAPER, "solid"), (_ORDER, "longdashdot"))
    ]
    left = points[points[f"dram.{_ORDER.name}"] > LEAVES * ideal]
    start = int(left["length"].iloc[0]) if len(left) else shown.boundary_tokens
    return Step(
        "The transition is smooth, not a step",
        f"{start:,} tokens",
        f"where launch order lies {LEAVES - 1:.0%} above Eq. (3)",
        f"Eq. (4) switches at {shown.boundary_tokens:,} tokens. A hashed, set-associative L2 loses lines long "
        "before that: launch order leaves the ideal line earlier and meets Eq. (6) behind the switch. Near it, "
        "take the answer as a range.",
        figures.curves(
            lines,
            "Multiple of Eq. (3): a step by Eq. (4), a slope by launch order",
            ("Sequence length L = S (tokens)", "Multiple of Eq. (3)"),
            place=(shown.boundary_tokens, f"Eq. (4): {shown.boundary_tokens:,} tokens"),
        ),
        (Link("Open where they differ", "regimes", recipe.changed({"seq": "32768"}).query()),),
        "Closed forms; sets by the ways of the L2 in the preset. No public counter reaches these lengths.",
    )


def _cycles() -> Step | None:
    """The worked example: what limits it beyond the roofline. None where its stored run is of other sources."""
    example = examples.current()
    if example is None:
        return None
    experiment, answer = example
    record, run = to_record(experiment, simfa_python.run(experiment)), answer["record"]
    ceilings = {said(name): value for name, value in record["ceilings_us"].items()}
    found = [Bar(name, CEILING, value, f"{digits(value)} µs") for name, value in ceilings.items()]
    simulated = ESTIMATORS["sim-fa"]
    found.append(Bar("Sim-FA, simulated", simulated.color, run["latency_us"], f"{digits(run['latency_us'])} µs"))
    share = run["utilization"].get(run["bottleneck"])
    return Step(
        "What a roofline cannot say: why the cycles",
        f"{digits(record['latency_us'])} µs",
        f"SimFA-python's highest ceiling, {experiment.llm.title}, {experiment.workload.seq_q:,} tokens",
        f"The cycle simulation takes {digits(run['latency_us'])} µs with the {run['params']} parameters, bound by "
        f"{said(run['bottleneck'])}" + (f" {share:.0%} of its cycles" if share is not None else "") + ". Timeline "
        "shows every wait, Validation how far to believe it.",
        figures.bars(found, "Ceilings of the roofline and the simulated time", "Latency of one layer (µs)"),
        (Link("Open in Timeline", "timeline", Recipe().query()), Link("Open in Validation", "validation", "")),
        "Ceilings by analytical/; the simulated time is stored with this version of the simulator.",
    )


def _ratios(rows: Sequence[Row], title: str, beside: dict[str, Row] | None) -> go.Figure:
    found = []
    for row in rows:
        ratio = row["measured"] / row["estimated"]
        found.append(Bar(_short(row), "#999999" if beside is None else _PAPER.color, ratio, f"{ratio:.2f}"))
        if beside is not None:
            other = row["measured"] / beside[row["case"]]["estimated"]
            found.append(Bar(f"{_short(row)}, over launch order", _ORDER.color, other, f"{other:.2f}"))
    return figures.bars(found, title, "Measured / estimated", (1.0, "equal"))


def _short(row: Row) -> str:
    name, _, place = row["label"].partition(" on ")
    return f"{name.split(' (')[0]}, {place.split(',')[0]}{', causal' if row['causal'] else ''}"


def _of(rows: Sequence[Row], quantity: str, estimator: str) -> list[Row]:
    return [row for row in rows if row["quantity"] == quantity and row["estimator"] == estimator]


def _sources(rows: Sequence[Row]) -> str:
    """Who measured: the source column of the data file."""
    kernels = {row["kernel_name"] for row in rows}
    found = [row["source"] for row in measured_points.rows("measured_traffic") if row["kernel"] in kernels]
    return "; ".join(dict.fromkeys(found))


def _launch(row: Row) -> str:
    """A measured launch as the query of a page."""
    shape = {key: row[key] for key in ("heads_q", "heads_kv", "head_dim", "batch", "causal", "gpu", "kernel")}
    return Recipe(llm="bare", seq=row["seq_q"], **shape).query()


def _query(recipe: Recipe, **more: str) -> str:
    return f"{recipe.query()}&{urlencode(more)}"


def _with_l2(recipe: Recipe, size_mib: int) -> Experiment:
    size = f"{size_mib}MiB"
    larger = {"l2.bytes": size} if size_mib * 2**20 > recipe.experiment().gpu.l2.bytes else {}
    return recipe.changed({"l2.effective_bytes": size} | larger).experiment()


def _head_bytes(experiment: Experiment) -> int:
    """One K and one V head, the right side of Eq. (4)."""
    return 2 * experiment.precision_bytes * experiment.workload.seq_kv * experiment.llm.head_dim


def _dram(module: object, experiment: Experiment) -> int:
    found: int = module.run(experiment).dram_bytes  # type: ignore[attr-defined]
    return found
