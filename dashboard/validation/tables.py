"""Tables 2, 3, 4 and 6 of the paper with what this project has in their place."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from dashboard.compare import ABSENT
from dashboard.examples import long
from dashboard.validation.view import Answer, Row
from presets import loader, paper_tables, params
from presets.specs import GpuSpec, LlmSpec
from simfa.validation.cases import GPU

PEAK = "peak"
LOGGED = ("llama3-8b", 512)  # the launch whose log Table 4 counts: small, with all events
TFLOPS = 1e12


def table2(_ink: str) -> Answer:
    """Table 2: every value of the paper's configuration beside the preset's, with label and source."""
    paper = loader.load(GpuSpec, GPU)
    calibrated = params.calibrated_gpu(paper)
    rows = [_configured(row, paper, calibrated) for row in paper_tables.rows("table2")]
    same = sum(row["paper_set"] == row["paper"] for row in rows)
    compared = sum(row["paper_set"] is not None for row in rows)
    other = [str(row["item"]) for row in rows if row["calibrated_set"] != row["paper_set"]]
    shown = pd.DataFrame(
        [
            {
                "Part": row["component"],
                "Value": row["item"],
                "Paper": _written(row["paper"], row["unit"]),
                "Paper's set": _written(row["paper_set"], row["unit"]),
                "Calibrated": _written(row["calibrated_set"], row["unit"]),
                "Label": row["label"],
                "Source and remark": "; ".join(filter(None, (row["source"], row["remark"]))),
            }
            for row in rows
        ]
    )
    return Answer(
        f"{same} of {compared} values of Table 2 are the preset's; the calibrated set changes {_listed(other)}",
        shown,
        rows,
        (
            "The paper's set is the preset h800; Calibrated lays the public H100 measurements over it. The Presets "
            "page shows every value of either, also those that Table 2 does not have.",
        ),
        f"{paper_tables.SOURCE}, Table 2; presets/gpus/{GPU}.toml; presets/calibrated",
        wide=True,
    )


def _configured(row: Mapping[str, str], paper: GpuSpec, calibrated: GpuSpec) -> Row:
    key, scale = row["key"], float(row["scale"] or 1)
    origin = paper.provenance.get("tensor.fp16_flop_per_cycle" if key == PEAK else key)
    later = calibrated.provenance.get(key)
    changed = later is not None and later != origin
    source = origin.source if origin else "by construction of the model"
    return {
        "component": row["component"],
        "item": row["item"],
        "paper": _plain(row["paper"]),
        "paper_set": _value(paper, key, scale),
        "calibrated_set": _value(calibrated, key, scale),
        "unit": row["unit"],
        "key": key,
        "label": origin.label if origin else "",
        "source": source + (f"; calibrated: {later.label}, {later.source}" if changed and later else ""),
        "remark": row["remark"],
    }


def _value(gpu: GpuSpec, key: str, scale: float) -> float | str | None:
    if not key:
        return None
    if key == PEAK:
        return float(round(gpu.peak_flop_per_s("fp16") / TFLOPS))
    value: Any = loader.flatten(gpu)[key]
    return value if isinstance(value, str) else float(value) / scale


def _plain(text: str) -> float | str:
    return float(text) if text.replace(".", "", 1).isdigit() else text


def _written(value: float | str | None, unit: str) -> str:
    if value is None:
        return ABSENT
    return value if isinstance(value, str) else f"{value:,g} {unit}".rstrip()


def _listed(names: list[str]) -> str:
    return ", ".join(name[0].lower() + name[1:] for name in names) if names else "none of them"


def table3(_ink: str) -> Answer:
    """Table 3: one row per instruction of the simulator's table, with the paper's operands beside its own."""
    from simfa import isa  # brings numba along: loaded where the table is shown

    printed = {row["instruction"]: row for row in paper_tables.rows("table3")}
    rows = []
    for spec in isa.INSTRUCTIONS:
        theirs = printed[spec.name]
        rows.append(
            {
                "category": theirs["category"],
                "instruction": spec.name,
                "operands": " ".join(spec.operand_names),
                "paper_operands": theirs["operands"],
                "primitive": spec.primitive,
                "does": theirs["does"],
                "extras": " ".join(isa.EXTRAS.get(spec.name, ())),
            }
        )
    kept = sum(bool(row["paper_operands"]) for row in rows)
    titles = {
        "category": "Category",
        "instruction": "Instruction",
        "operands": "Operands",
        "does": "What it does",
        "primitive": "Hopper primitive",
        "paper_operands": "Operands in the paper",
        "extras": "May follow as key=value",
    }
    return Answer(
        f"All {kept} instructions of Table 3 are in the simulator, and {len(rows) - kept} beyond it",
        pd.DataFrame(rows)[list(titles)].rename(columns=titles),
        rows,
        (
            "N and k of the paper are called count, the paper's bubbles -1 is BUBBLES with its cycles. Beyond the "
            "paper: copies without a tensor map, softmax as phases on shared pipes, and loops of persistent CTAs.",
        ),
        f"{paper_tables.SOURCE}, Table 3; simfa/isa.py",
        wide=True,
    )


def table4(_ink: str) -> Answer:
    """Table 4: the logged events, what each becomes, and how many one launch writes."""
    counts, size = _logged()
    rows: list[Row] = []
    for row in paper_tables.rows("table4"):
        entries, events = counts[row["event"]]
        rows.append(dict(row) | {"entries": entries, "warpgroup_events": events})
    total, merged = (sum(row[key] for row in rows) for key in ("entries", "warpgroup_events"))
    titles = {
        "warpgroup": "Warpgroup",
        "event": "Event",
        "call_site": "Recorded",
        "becomes": "Becomes",
        "entries": "Entries",
        "warpgroup_events": "After de-duplication",
    }
    model, tokens = loader.load(LlmSpec, LOGGED[0]).title, LOGGED[1]
    return Answer(
        f"{model} at {tokens} tokens logs {total:,} events, {merged:,} after de-duplication",
        pd.DataFrame(rows)[list(titles)].rename(columns=titles),
        rows,
        (
            f"Its log has {size:,} bytes, 16 a record, in buffers of one size. It is written by this project's "
            "generator, event by event as the kernel's loops run; the paper states no counts. A consumer's "
            "WAIT_WG_0 after the first tile also releases K and takes the bubble.",
        ),
        f"{paper_tables.SOURCE}, Table 4 and section 5.2; simfa/kernel_log",
        formats={"Entries": "{:,}", "After de-duplication": "{:,}"},
        wide=True,
    )


def _logged() -> tuple[dict[str, tuple[int, int]], int]:
    """By event: entries of the log, and events of its warpgroups; and the bytes of the log."""
    from simfa.kernel_log import generate  # brings compiled code along: loaded where the table is shown
    from simfa.kernel_log.format import EVENTS, PRODUCER_EVENTS, WARPS_PER_WARPGROUP, decode

    data = generate.generate(long.launch(*LOGGED, "paper"))
    events = decode(data).entries["event"]
    found = {}
    for name, number in EVENTS.items():
        entries = int((events == number).sum())
        warps = 1 if name in PRODUCER_EVENTS else WARPS_PER_WARPGROUP
        found[name] = entries, entries // warps
    return found, len(data)


def table6(_ink: str) -> Answer:
    """Table 6: the three models, the preset's numbers beside the paper's, and what follows from them."""
    rows: list[Row] = []
    for row in paper_tables.rows("table6"):
        spec = loader.load(LlmSpec, row["llm"])
        ours = {
            "hidden_size": spec.hidden_size,
            "heads_q": spec.heads_q,
            "heads_kv": spec.heads_kv,
            "group": spec.heads_q // spec.heads_kv,
            "head_dim": spec.head_dim,
        }
        kv_bytes = 2 * spec.head_dim * spec.heads_kv * 2
        same = all(int(row[key]) == value for key, value in ours.items())
        rows.append({"model": row["model"], **ours, "kv_bytes_per_token": kv_bytes, "as_the_paper": same})
    titles = {
        "model": "Model",
        "hidden_size": "Hidden size",
        "heads_q": "H_Q",
        "heads_kv": "H_KV",
        "group": "G",
        "head_dim": "D",
        "kv_bytes_per_token": "K and V of one layer, FP16 (B per token)",
    }
    shown = pd.DataFrame(rows)[list(titles)].rename(columns=titles)
    shown["As the paper"] = ["yes" if row["as_the_paper"] else "no" for row in rows]
    agree = sum(row["as_the_paper"] for row in rows)
    return Answer(
        f"{agree} of {len(rows)} models have the paper's shape; {_groups(rows)} query heads share a K/V head",
        shown,
        rows,
        ("Layers are not in Table 6; they are of the Llama 3 paper and scale latencies of all layers only.",),
        f"{paper_tables.SOURCE}, Table 6; presets/llms",
        formats=dict.fromkeys(list(titles.values())[1:], "{:,}"),
        wide=True,
    )


def _groups(rows: list[Row]) -> str:
    *first, last = (f"{row['group']}" for row in rows)
    return f"{', '.join(first)} and {last}"
